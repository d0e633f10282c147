"""Runs the long-lived threads of a process, and restarts one that dies.

    target returns, or raises StoppedError once told to stop  ->  it has ended
    target raises anything else             ->  logged and counted; called again after a
                                                pause, on the same thread

Watches, the event writer, timers, listeners, the elector and all other long-lived
threads are started here. `runtime.health.ThreadsAlive` shows which are down,
`RuntimeMetrics.threads` counts deaths. Rules: TH-9, TH-10.
"""

import itertools
import threading
import time
from collections.abc import Callable, Mapping
from functools import partial

import attrs

from asoreconcile.base.backoff import Pauses
from asoreconcile.base.clock import Clock
from asoreconcile.base.errors import AsoreconcileError, is_own_stop
from asoreconcile.base.log import Logger

_log = Logger(__name__)

_FIRST_PAUSE_SECONDS = 1.0
_LAST_PAUSE_SECONDS = 30.0
# A thread that ran for this long fails for a new reason: its back-off restarts.
_SOUND_AFTER_SECONDS = 60.0


class NoThreadError(AsoreconcileError, RuntimeError):
    """The machine cannot start another thread for this process."""


def start_thread(thread: threading.Thread) -> None:
    """Start a thread. Raises NoThreadError, which names the thread and says what to
    do.
    """
    try:
        thread.start()
    except RuntimeError as error:
        raise NoThreadError(
            f"no thread {thread.name!r}: {error} (ulimit -u, or the pod's pids limit)"
        ) from error


@attrs.frozen
class ThreadCrash:
    """The crashes of all threads with one name.

    count: since the start of the process. error: the type of the last exception; its
    text is only in the log, as unauthenticated readers must not see it.
    """

    count: int
    error: str


class Threads:
    """Starts daemon threads and restarts those that die. Safe from any thread."""

    def __init__(self, clock: Clock | None = None) -> None:
        """clock: times the pauses; if it is None, they last in real time, which the
        timer thread of a clock needs.
        """
        self._wait = clock.wait if clock else threading.Event.wait
        self._monotonic = clock.monotonic if clock else time.monotonic
        self._lock = threading.Lock()
        self._crashes: dict[str, ThreadCrash] = {}
        self._down: dict[int, str] = {}
        self._tickets = itertools.count()

    def start(
        self,
        name: str,
        target: Callable[[], None],
        *,
        stopping: threading.Event | None = None,
    ) -> threading.Thread:
        """Call `target` on a new thread, and again whenever it raises.

        The first pause is 1 s, doubled up to 30 s while calls fail within a minute.
        stopping: once set, the target is not called again, and a pause ends.
        Raises NoThreadError if no thread can be started.
        """
        stopping = stopping or threading.Event()
        thread = threading.Thread(
            target=partial(self._keep, name, target, stopping), name=name, daemon=True
        )
        start_thread(thread)
        return thread

    def record_crash(self, name: str, error: BaseException) -> None:
        """Log and count a crash that the owner recovers from itself. Call it while
        handling the exception.
        """
        self._record(name, error)
        _log.exception("Thread died", thread=name)

    def fell(
        self, name: str, error: BaseException, *, starts_again_in: float
    ) -> Callable[[], None]:
        """Log and count a crash, and show the thread as down until the returned
        function is called. For threads that their owner restarts after a pause, in
        seconds. Call it while handling the exception.
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
        """Return the crashes so far, by thread name."""
        with self._lock:
            return dict(self._crashes)

    def down(self) -> list[str]:
        """Return the names of threads that are dead now and will be restarted."""
        with self._lock:
            return sorted(self._down.values())

    def _keep(
        self, name: str, target: Callable[[], None], stopping: threading.Event
    ) -> None:
        pauses = Pauses(_FIRST_PAUSE_SECONDS, _LAST_PAUSE_SECONDS)
        while True:
            began = self._monotonic()
            try:
                target()
            except BaseException as error:  # noqa: BLE001 - also what ends programs: on a thread it would end just that
                if is_own_stop(error, stopping):
                    return
                if self._monotonic() - began >= _SOUND_AFTER_SECONDS:
                    pauses.reset()
                pause = pauses.next()
                revived = self.fell(name, error, starts_again_in=pause)
            else:
                return
            try:
                if self._wait(stopping, pause):
                    return
            finally:
                revived()

    def _record(self, name: str, error: BaseException) -> None:
        with self._lock:
            known = self._crashes.get(name)
            count = 1 + (known.count if known else 0)
            self._crashes[name] = ThreadCrash(count, type(error).__name__)
