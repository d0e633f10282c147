"""What a manager runs: things that start, in groups, and stop within a time.

What reads a cache as it starts is held back until the caches have their first state
(`AfterCaches`). Controllers wait for their own sources and are started at once: one
kind's trouble stays its own. Rules: MG-1 - MG-4.
"""

import threading
from collections.abc import Callable
from enum import IntEnum
from typing import Protocol, runtime_checkable

from asoreconcile.clock import Clock
from asoreconcile.errors import StoppedError
from asoreconcile.log import Logger
from asoreconcile.queue.deadline_timer import DeadlineTimer
from asoreconcile.runtime.worker_pool import StartThread, start_daemon

_log = Logger(__name__)
# A check looks at a few flags; people wait for what it lets start.
_CHECK_SECONDS = 0.1


class RunnableGroup(IntEnum):
    """When a service starts; within a group all at once. Rules: MG-1, MG-2.

    Servers come first so that probes are answered, webhooks before caches because
    listing may need a conversion, and what writes comes last, once elected.
    """

    SERVERS = 1
    WEBHOOKS = 2
    CACHES = 3
    OTHERS = 4
    LEADER = 5


# What writes ends while caches and webhooks, which its last steps may need, are there;
# probes are answered to the end.
STOP_ORDER = (
    RunnableGroup.OTHERS,
    RunnableGroup.LEADER,
    RunnableGroup.CACHES,
    RunnableGroup.WEBHOOKS,
    RunnableGroup.SERVERS,
)
"""Rule: MG-4."""


@runtime_checkable
class Runnable(Protocol):
    """Started once, then stopped once."""

    def start(self) -> None:
        """Begin; return soon. What it raises stops the manager."""

    def stop(self, timeout_seconds: float) -> list[str]:
        """End within the time; returns what still runs then, in words."""


@runtime_checkable
class WarmUpRunnable(Protocol):
    """A service with work to do before this process is elected. Rule: CT-7."""

    def warm_up(self) -> None:
        """Begin what needs no lease; return soon."""


class Elector(Protocol):
    """Decides whether this process may write (leader election)."""

    def start(self, *, elected: Callable[[], None], lost: Callable[[], None]) -> None:
        """Begin to try; call `elected` once on success, `lost` if it ends unasked.

        `elected` may take its time; `lost` returns at once, and may be called from any
        thread.
        """

    def stop(self, timeout_seconds: float, *, release: bool) -> list[str]:
        """End; release the lease only if asked to: all that wrote has stopped.

        Returns what still runs then, in words.
        """


class RunnableHooks:
    """A function that is called when its group starts, and done before the next.

    What it raises stops the manager. on_stop: called when it is to stop, perhaps while
    the function runs; must not block.
    """

    def __init__(
        self,
        name: str,
        run: Callable[[], None],
        *,
        on_stop: Callable[[], None] = lambda: None,
    ) -> None:
        self.name = name
        self._run = run
        self._on_stop = on_stop

    def start(self) -> None:
        """Run the function, and return when it has ended; what it raises stops the
        manager.
        """
        self._run()

    def stop(self, timeout_seconds: float) -> list[str]:  # noqa: ARG002 - a service's stop
        """The manager waits for starts that have not ended."""
        self._on_stop()
        return []


class RunnableFunc:
    """A function with a thread of its own, as a service.

    run: gets the event that asks it to end; what it raises stops the manager, an early
    return is fine (MG-3).
    """

    def __init__(
        self,
        name: str,
        run: Callable[[threading.Event], None],
        *,
        clock: Clock,
        start_thread: StartThread = start_daemon,
    ) -> None:
        self.name = name
        self._run = run
        self._clock = clock
        self._start_thread = start_thread
        self._stop = threading.Event()
        self._ended = threading.Event()
        self.on_failure: Callable[[BaseException], None] | None = None

    def start(self) -> None:
        """Start the thread; returns at once."""
        self._start_thread(self.name, self._guarded)

    def stop(self, timeout_seconds: float) -> list[str]:
        """Ask the function to end and wait; its name is returned if it runs on."""
        self._stop.set()
        return [] if self._clock.wait(self._ended, timeout_seconds) else [self.name]

    def _guarded(self) -> None:
        try:
            self._run(self._stop)
        except StoppedError:
            return
        except BaseException as error:  # noqa: BLE001 - becomes the manager's failure
            # `sys.exit` too, which on a thread ends just that, and says nothing.
            _log.exception("Task failed", task=self.name)
            if self.on_failure is not None:
                self.on_failure(error)
        finally:
            self._ended.set()


class AfterCaches:
    """Holds services back, and starts them in order. Safe from any thread."""

    def __init__(
        self,
        clock: Clock,
        ready: Callable[[], bool],
        start: Callable[[RunnableGroup, Runnable], object],
    ) -> None:
        """ready: whether the caches can be read; asked now and then while anybody
        waits. start: called on a thread of its own; what it raises is its business.
        """
        self._clock = clock
        self._ready = ready
        self._start = start
        self._lock = threading.Lock()
        self._held: list[tuple[RunnableGroup, Runnable]] = []
        self._closed = False
        self.settled = threading.Event()
        """Set while nothing is being started."""
        self.settled.set()
        self._timer = DeadlineTimer(clock, self._check)

    def hold(
        self, group: RunnableGroup, service: Runnable, *, always: bool = False
    ) -> bool:
        """Hold a service back if it has to wait; whether it has to.

        always: because it comes after one that is held.
        """
        ready = self._ready()
        with self._lock:
            idle = not self._held and self.settled.is_set()
            if self._closed or (ready and idle and not always):
                return False
            self._held.append((group, service))
        self._timer.set(self._clock.monotonic() + _CHECK_SECONDS)
        return True

    def close(self) -> None:
        """Start nothing more; `settled` says when a start that has begun is over."""
        with self._lock:
            self._closed = True
            self._held.clear()
        self._timer.cancel()

    def _check(self) -> None:
        if not self._ready():
            self._timer.set(self._clock.monotonic() + _CHECK_SECONDS)
            return
        with self._lock:
            if not self._held or not self.settled.is_set():
                return
            self.settled.clear()
        try:
            # A start may take its time: not on the thread of all timers.
            start_daemon("services", self._start_all)
        except RuntimeError as error:  # no thread to be had
            _log.warning("Services wait for a thread", error=str(error))
            self.settled.set()
            self._timer.set(self._clock.monotonic() + _CHECK_SECONDS)

    def _start_all(self) -> None:
        while True:
            with self._lock:
                if not self._held:
                    self.settled.set()
                    return
                # A stable sort: in a group they start as they were added.
                self._held.sort(key=lambda held: held[0])
                group, service = self._held.pop(0)
            self._start(group, service)
