"""Time as a dependency, so that tests can control it (TH-10).

All code that waits, measures time or writes timestamps takes a `Clock`. `SystemClock`
is the
real one: `time.monotonic`, and one timer thread for the whole process (TH-2).
`asoreconcile.testing.clock.FakeClock` is the one tests drive by hand.
"""

import heapq
import itertools
import logging
import math
import threading
import time
import weakref
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from typing import Protocol

_log = logging.getLogger(__name__)
# Sweeping visits the whole heap: not worth it for a few cancelled timers.
_SLACK = 64


class Timer(Protocol):
    """A scheduled call."""

    def cancel(self) -> None:
        """Cancel the call if it has not started. Idempotent."""


class Clock(Protocol):
    """Reads time, waits, and calls back later."""

    def monotonic(self) -> float:
        """Return seconds that never decrease; the zero point is arbitrary."""

    def now(self) -> datetime:
        """Return the wall clock in UTC, for timestamps that people and servers read."""

    def wait(self, event: threading.Event, timeout_seconds: float) -> bool:
        """Block until the event is set (True) or the timeout has passed (False)."""

    def call_at(self, deadline: float, call: Callable[[], None]) -> Timer:
        """Schedule a call for the time at which `monotonic()` reaches `deadline`;
        return its timer.

        Runs on a thread shared by all timers: it must not block. An error it raises is
        only logged. Any deadline is allowed, even infinity. Raises ValueError for NaN.
        """


class SystemClock:
    """Real time. Create one per process; threads share it."""

    def __init__(
        self, *, start_thread: Callable[[str, Callable[[], None]], object] | None = None
    ) -> None:
        """start_thread: gets the timer thread's name and function; default a plain
        daemon thread. Pass `threads.Threads.start` to have it restarted if it dies.
        """
        self._timers = _TimerThread(start_thread or _start_daemon)
        # The thread does not refer to the clock: it ends with the last user's part.
        weakref.finalize(self, self._timers.close).atexit = False

    # Without a wrapper method: each key in a queue reads the time three times.
    monotonic = staticmethod(time.monotonic)

    def now(self) -> datetime:
        """Return the wall clock's time in UTC.

        It may jump: measure durations with `monotonic`.
        """
        return datetime.now(UTC)

    def wait(self, event: threading.Event, timeout_seconds: float) -> bool:
        """Block until the event is set or the timeout has passed; True if it was
        set.
        """
        return event.wait(min(timeout_seconds, threading.TIMEOUT_MAX))

    def call_at(self, deadline: float, call: Callable[[], None]) -> Timer:
        """Run `call` on the clock's timer thread at that `monotonic` time.

        `call` must be quick: all timers of the process share that thread. Rule: TH-2.
        """
        return self._timers.add(deadline, call)

    def close(self) -> None:
        """Drop the timers and end their thread; does not wait. A later timer starts it
        again.
        """
        self._timers.close()


def wait_at_most(clock: Clock, event: threading.Event, timeout_seconds: float) -> bool:
    """Block as `clock.wait` does, but no longer than the timeout in real seconds, if
    the clock can be stopped (`testing.clock.FakeClock`). For ends. Rule: TH-10.
    """
    wait = getattr(clock, "wait_at_most", clock.wait)
    is_set: bool = wait(event, timeout_seconds)
    return is_set


class _TimerThread:
    """A heap of deadlines and one daemon thread, started by the first timer.

    Cancelled timers stay in the heap until they are due or outnumber the others: a
    timer of an hour that is replaced every second must not leave 3,600 behind (TH-1).
    """

    def __init__(
        self, start_thread: Callable[[str, Callable[[], None]], object]
    ) -> None:
        self._start_thread = start_thread
        self._changed = threading.Condition()
        self._heap: list[tuple[float, int, _Entry]] = []
        self._cancelled = 0
        self._order = itertools.count()
        # Identifies the current thread; an older thread ends when it sees a new value.
        self._running: object | None = None

    def add(self, deadline: float, call: Callable[[], None]) -> Timer:
        if math.isnan(deadline):
            # NaN does not compare: the heap would lose its order.
            raise ValueError("a timer's deadline is not a number")
        entry = _Entry(self, call)
        with self._changed:
            if self._running is None:
                running = object()
                self._start_thread("timers", partial(self._run, running))
                self._running = running
            heapq.heappush(self._heap, (deadline, next(self._order), entry))
            if self._heap[0][2] is entry:
                self._changed.notify()
        return entry

    def close(self) -> None:
        with self._changed:
            self._running = None
            dropped, self._heap, self._cancelled = self._heap, [], 0
            for _, _, entry in dropped:
                entry.call = None
            self._changed.notify_all()

    def cancel(self, entry: "_Entry") -> None:
        with self._changed:
            if entry.call is None:
                return  # already cancelled or started
            entry.call = None
            self._cancelled += 1
            if 2 * self._cancelled > len(self._heap) + _SLACK:
                self._heap = [slot for slot in self._heap if slot[2].call is not None]
                heapq.heapify(self._heap)
                self._cancelled = 0

    def _run(self, running: object) -> None:
        while (call := self._next_due(running)) is not None:
            try:
                call()
            except BaseException:  # noqa: BLE001 - one bad call must not end all timers
                _log.exception("Timer call failed")
            del call  # a thread that waits must not keep the parts of its last call

    def _next_due(self, running: object) -> Callable[[], None] | None:
        """Block until a timer is due, and return it; None if the thread must end."""
        with self._changed:
            while self._running is running:
                if not self._heap:
                    self._changed.wait()
                    continue
                deadline, _, entry = self._heap[0]
                if entry.call is None:
                    heapq.heappop(self._heap)
                    self._cancelled -= 1
                    continue
                remaining = deadline - time.monotonic()
                if remaining > 0:
                    # Locks refuse timeouts of 292 years and more.
                    self._changed.wait(min(remaining, threading.TIMEOUT_MAX))
                    continue
                heapq.heappop(self._heap)
                call, entry.call = entry.call, None
                return call
            return None


def _start_daemon(name: str, target: Callable[[], None]) -> None:
    threading.Thread(target=target, name=name, daemon=True).start()


class _Entry:
    """A timer; `call` is None once it has started or is cancelled."""

    __slots__ = ("_timers", "call")

    def __init__(self, timers: _TimerThread, call: Callable[[], None]) -> None:
        self._timers = timers
        self.call: Callable[[], None] | None = call

    def cancel(self) -> None:
        self._timers.cancel(self)
