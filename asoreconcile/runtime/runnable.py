"""Services of a manager: they start in groups and stop within a time limit.

A service that reads caches when it starts waits for cache sync (`CacheSyncGate`).
Controllers wait for their own sources and start at once, so that one kind's failure
does not delay the others. Rules: MG-1 - MG-4.
"""

import threading
from collections.abc import Callable
from enum import IntEnum
from typing import Protocol, runtime_checkable

from asoreconcile.base.clock import Clock, wait_at_most
from asoreconcile.base.errors import is_own_stop
from asoreconcile.base.log import Logger
from asoreconcile.base.signatures import check_takes
from asoreconcile.queue.deadline_timer import DeadlineTimer
from asoreconcile.runtime.worker_pool import start_daemon

_log = Logger(__name__)
# A check reads a few flags, and services wait for it: poll often.
_CHECK_SECONDS = 0.1


class RunnableGroup(IntEnum):
    """The moment at which a service starts; services of one group start together.
    Rules: MG-1, MG-2.

    Recorders of events start first, as any other service may record one, then servers
    so that probes are answered, webhooks before caches because listing may need a
    conversion, and services that write start last, once elected.
    """

    RECORDERS = 0
    SERVERS = 1
    WEBHOOKS = 2
    CACHES = 3
    OTHERS = 4
    LEADER = 5


# Services that write stop first, as their last steps may need caches and webhooks, and
# their last events are written while the lease is held; probes are answered to the end.
STOP_ORDER = (
    RunnableGroup.OTHERS,
    RunnableGroup.LEADER,
    RunnableGroup.RECORDERS,
    RunnableGroup.CACHES,
    RunnableGroup.WEBHOOKS,
    RunnableGroup.SERVERS,
)
"""Rule: MG-4."""


@runtime_checkable
@runtime_checkable
class Runnable(Protocol):
    """A service, which is started once and then stopped once."""

    def start(self) -> None:
        """Start the service, and return soon. An exception stops the manager."""

    def stop(self, timeout_seconds: float) -> list[str]:
        """Stop the service within the time limit; return descriptions of work that
        still runs then.
        """


@runtime_checkable
class WarmUpRunnable(Protocol):
    """A service that does work before this process is elected. Rule: CT-7."""

    def warm_up(self) -> None:
        """Start the work that needs no lease; return soon."""


@runtime_checkable
class DrainRunnable(Protocol):
    """A service that answers requests for a while after a stop was requested."""

    def drain(self) -> None:
        """Ask clients to use another process from now on. Must not block."""


class Elector(Protocol):
    """Decides whether this process may write (leader election)."""

    def start(self, *, elected: Callable[[], None], lost: Callable[[], None]) -> None:
        """Start to acquire the leadership. Call `elected` once on success, and `lost`
        if the leadership ends without `stop`.

        `elected` may block; `lost` returns at once, and may be called from any thread.
        """

    def stop(self, timeout_seconds: float, *, release: bool) -> list[str]:
        """Stop the election. Release the lease only if `release` is true, after
        everything that writes has stopped.

        Returns descriptions of work that still runs then.
        """


class RunnableHooks:
    """A function that runs when its group starts, and ends before the next group.

    An error it raises stops the manager. on_stop: called at a stop, perhaps while the
    function runs; must not block. Return values are ignored. Raises TypeError unless
    both can be called without arguments.
    """

    def __init__(
        self,
        name: str,
        run: Callable[[], object],
        *,
        on_stop: Callable[[], object] = lambda: None,
    ) -> None:
        check_takes(run, what="step")
        check_takes(on_stop, what="step")
        self.name = name
        self._run = run
        self._on_stop = on_stop

    def start(self) -> None:
        """Run the function, and return after it has ended. An exception stops the
        manager.
        """
        self._run()

    def stop(self, timeout_seconds: float) -> list[str]:  # noqa: ARG002 - a service's stop
        """Call `on_stop`. The manager itself waits for a function that has not
        ended.
        """
        self._on_stop()
        return []


class RunnableFunc:
    """A service that runs a function on its own thread.

    run: function that gets the event which asks it to stop. An exception stops the
    manager, an early return does not (MG-3); the return value is ignored. Raises
    TypeError if run cannot be called with the event.
    """

    def __init__(
        self,
        name: str,
        run: Callable[[threading.Event], object],
        *,
        clock: Clock,
    ) -> None:
        check_takes(run, "stop", what="task")
        self.name = name
        self._run = run
        self._clock = clock
        self._stop = threading.Event()
        self._ended = threading.Event()
        self.on_failure: Callable[[BaseException], None] | None = None

    def start(self) -> None:
        """Start the thread; returns at once."""
        start_daemon(self.name, self._guarded)

    def stop(self, timeout_seconds: float) -> list[str]:
        """Ask the function to end and wait; returns its name if it still runs."""
        self._stop.set()
        ended = wait_at_most(self._clock, self._ended, timeout_seconds)
        return [] if ended else [self.name]

    def _guarded(self) -> None:
        try:
            self._run(self._stop)
        except BaseException as error:  # noqa: BLE001 - becomes the manager's failure
            if is_own_stop(error, self._stop):
                return
            # Also `sys.exit`, which on a thread ends only the thread, silently.
            _log.exception("Task failed", task=self.name)
            if self.on_failure is not None:
                self.on_failure(error)
        finally:
            self._ended.set()


class CacheSyncGate:
    """Holds services until cache sync, then starts them in order. Safe from any
    thread.
    """

    def __init__(
        self,
        clock: Clock,
        ready: Callable[[], bool],
        start: Callable[[RunnableGroup, Runnable], object],
    ) -> None:
        """ready: returns whether the caches have synced; polled while a service waits.
        start: function called on a separate thread to start a service; it must handle
        its own errors.
        """
        self._clock = clock
        self._ready = ready
        self._start = start
        self._lock = threading.Lock()
        self._held: list[tuple[RunnableGroup, Runnable]] = []
        self._closed = False
        self.settled = threading.Event()
        """Set while no service is being started."""
        self.settled.set()
        self._timer = DeadlineTimer(clock, self.check)

    def hold(
        self, group: RunnableGroup, service: Runnable, *, always: bool = False
    ) -> bool:
        """Hold a service if it has to wait; returns whether it has to.

        always: True for a service that follows a held one.
        """
        ready = self._ready()
        with self._lock:
            idle = not self._held and self.settled.is_set()
            if self._closed or (ready and idle and not always):
                return False
            self._held.append((group, service))
        self._timer.set(self._clock.monotonic() + _CHECK_SECONDS)
        return True

    def release(self, service: Runnable) -> None:
        """Do not start a held service. Does nothing if it is not held."""
        with self._lock:
            self._held = [held for held in self._held if held[1] is not service]

    def close(self) -> None:
        """Start no further services. `settled` is set when a running start has
        ended.
        """
        with self._lock:
            self._closed = True
            self._held.clear()
        self._timer.cancel()

    def check(self) -> None:
        """If the caches are ready, start the held services on a separate thread; else
        check again later. Does nothing once closed.
        """
        if self._closed:
            return
        if not self._ready():
            self._timer.set(self._clock.monotonic() + _CHECK_SECONDS)
            return
        with self._lock:
            if not self._held or not self.settled.is_set():
                return
            self.settled.clear()
        try:
            # A start may be slow: it must not block the timer thread.
            start_daemon("services", self._start_all)
        except RuntimeError as error:  # no thread is available
            _log.warning("Services wait for a thread", error=str(error))
            self.settled.set()
            self._timer.set(self._clock.monotonic() + _CHECK_SECONDS)

    def _start_all(self) -> None:
        while True:
            with self._lock:
                if not self._held:
                    self.settled.set()
                    return
                # A stable sort: within a group, services start in the order they were
                # added.
                self._held.sort(key=lambda held: held[0])
                group, service = self._held.pop(0)
            self._start(group, service)
