"""Services that wait until the caches have their first state. Rule: MG-1.

What reads a cache as it starts finds it. Controllers wait for their own sources and are
started at once: one kind's trouble stays its own. Waiting costs no thread.
"""

import threading
from collections.abc import Callable

from asoreconcile.clock import Clock
from asoreconcile.log import Logger
from asoreconcile.queue.deadline_timer import DeadlineTimer
from asoreconcile.runtime.runnable import Runnable, RunnableGroup
from asoreconcile.runtime.worker_pool import start_daemon

_log = Logger(__name__)

_CHECK_SECONDS = 0.1


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
        self._alarm = DeadlineTimer(clock, self._check)

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
        self._alarm.set(self._clock.monotonic() + _CHECK_SECONDS)
        return True

    def close(self) -> None:
        """Start nothing more; `settled` says when a start that has begun is over."""
        with self._lock:
            self._closed = True
            self._held.clear()
        self._alarm.cancel()

    def _check(self) -> None:
        if not self._ready():
            self._alarm.set(self._clock.monotonic() + _CHECK_SECONDS)
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
            self._alarm.set(self._clock.monotonic() + _CHECK_SECONDS)

    def _start_all(self) -> None:
        while True:
            with self._lock:
                if not self._held:
                    self.settled.set()
                    return
                self._held.sort(key=lambda held: held[0])
                group, service = self._held.pop(0)
            self._start(group, service)
