"""The long-lived threads of a process: one that dies is started again.

    target returns, or raises StoppedError  ->  it has ended
    target raises anything else             ->  logged and counted; called again after a
                                                pause, on the same thread

Watches, the event writer, timers, listeners, the elector and whatever else runs for as
long as the process does are started here. `runtime.health.ThreadsAlive` shows what is
down, `RuntimeMetrics.threads` counts deaths. Rules: TH-9, TH-10.
"""

import itertools
import threading
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Self

import attrs

from asoreconcile.clock import Clock
from asoreconcile.errors import AsoreconcileError, StoppedError
from asoreconcile.log import Logger

_log = Logger(__name__)

_FIRST_PAUSE_SECONDS = 1.0
_LAST_PAUSE_SECONDS = 30.0
# A thread that lived for so long fails for a new reason: its pauses begin anew.
_SOUND_AFTER_SECONDS = 60.0


class NoThreadError(AsoreconcileError, RuntimeError):
    """The machine gives this process no further thread."""


def begin(thread: threading.Thread) -> None:
    """Start a thread. Raises NoThreadError, which says which one, and what to do."""
    try:
        thread.start()
    except RuntimeError as error:
        raise NoThreadError(
            f"no thread {thread.name!r}: {error} (ulimit -u, or the pod's pids limit)"
        ) from error


@attrs.frozen
class ThreadCrash:
    """What is known of the threads of a name that died.

    count: since the start of the process. error: the type of the last exception; its
    text is in the log only, as it may hold what nobody without a login may read.
    """

    count: int
    error: str


def _wait(event: threading.Event, seconds: float) -> bool:
    # By its own method: there are events of other making.
    return event.wait(seconds)


class Threads:
    """Starts daemon threads and keeps them going. Safe from any thread."""

    def __init__(
        self,
        *,
        wait: Callable[[threading.Event, float], bool] = _wait,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """wait, monotonic: of a `Clock`; by default real time, as a clock's own thread
        needs it.
        """
        self._wait = wait
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._crashes: dict[str, ThreadCrash] = {}
        self._down: dict[int, str] = {}
        self._tickets = itertools.count()

    @classmethod
    def timed_by(cls, clock: Clock) -> Self:
        """Pauses as long as a clock says."""
        return cls(wait=clock.wait, monotonic=clock.monotonic)

    def start(
        self,
        name: str,
        target: Callable[[], None],
        *,
        stopping: threading.Event | None = None,
    ) -> threading.Thread:
        """Call `target` on a thread of its own, and again whenever it raises.

        The first pause is 1 s, doubled to 30 s while calls fail within a minute.
        stopping: once it is set, nothing is called again, and a pause ends.
        Raises NoThreadError if the machine gives none.
        """
        stopping = stopping or threading.Event()
        thread = threading.Thread(
            target=partial(self._keep, name, target, stopping), name=name, daemon=True
        )
        begin(thread)
        return thread

    def record_crash(self, name: str, error: BaseException) -> None:
        """Log and count a death that its owner makes good itself. Call it while the
        exception is being handled.
        """
        self._record(name, error)
        _log.exception("Thread died", thread=name)

    def fell(
        self, name: str, error: BaseException, *, starts_again_in: float
    ) -> Callable[[], None]:
        """Log and count a death, and show it as down until the answer is called. For
        what its owner starts again after a pause, of seconds. Call it while the
        exception is being handled.
        """
        self._record(name, error)
        _log.exception("Thread died", thread=name, startsAgainIn=starts_again_in)
        ticket = next(self._tickets)
        with self._lock:
            self._down[ticket] = name

        def revived() -> None:
            with self._lock:
                self._down.pop(ticket, None)

        return revived

    def crashes(self) -> Mapping[str, ThreadCrash]:
        """What died so far, by thread name."""
        with self._lock:
            return dict(self._crashes)

    def down(self) -> list[str]:
        """The names of threads that are dead now, and will be started again."""
        with self._lock:
            return sorted(self._down.values())

    def _keep(
        self, name: str, target: Callable[[], None], stopping: threading.Event
    ) -> None:
        pause = _FIRST_PAUSE_SECONDS
        while True:
            began = self._monotonic()
            try:
                target()
            except StoppedError:
                return
            except BaseException as error:  # noqa: BLE001 - also what ends programs: on a thread it would end just that
                if self._monotonic() - began >= _SOUND_AFTER_SECONDS:
                    pause = _FIRST_PAUSE_SECONDS
                revived = self.fell(name, error, starts_again_in=pause)
            else:
                return
            try:
                if self._wait(stopping, pause):
                    return
            finally:
                revived()
            pause = min(2 * pause, _LAST_PAUSE_SECONDS)

    def _record(self, name: str, error: BaseException) -> None:
        with self._lock:
            known = self._crashes.get(name)
            count = 1 + (known.count if known else 0)
            self._crashes[name] = ThreadCrash(count, type(error).__name__)
