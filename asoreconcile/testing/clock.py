"""Clocks for tests: one that only a test advances, and one with a shifted wall
clock.
"""

import heapq
import itertools
import math
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from asoreconcile.base.clock import Clock, Timer
from asoreconcile.base.errors import check_number


class FakeClock:
    """A `Clock` driven by `advance`; timers run on the advancing thread, in order."""

    def __init__(self, start: datetime = datetime(2026, 1, 1, tzinfo=UTC)) -> None:
        self._start = start
        self._elapsed = 0.0
        self._changed = threading.Condition()
        self._timers: list[tuple[float, int, _FakeTimer]] = []
        self._order = itertools.count()
        self._waiting = 0

    def monotonic(self) -> float:
        """Return the seconds advanced since the clock was made: from 0.0,
        never less.
        """
        return self._elapsed

    def now(self) -> datetime:
        """Return the given start time plus the advanced seconds, in UTC."""
        return self._start + timedelta(seconds=self._elapsed)

    def wait(self, event: threading.Event, timeout_seconds: float) -> bool:
        """Block until the event is set or `advance` passes the timeout."""
        return self._wait(event, timeout_seconds, real_seconds=math.inf)

    def wait_at_most(self, event: threading.Event, timeout_seconds: float) -> bool:
        """Block as `wait` does, but also end after the timeout in real seconds: for
        ends, at which no test may be left to advance it.
        """
        return self._wait(event, timeout_seconds, real_seconds=timeout_seconds)

    def _wait(
        self, event: threading.Event, timeout_seconds: float, *, real_seconds: float
    ) -> bool:
        deadline = self._elapsed + timeout_seconds
        real_deadline = time.monotonic() + real_seconds
        with self._changed:
            self._waiting += 1
            self._changed.notify_all()
            try:
                while not event.is_set() and self._elapsed < deadline:
                    if time.monotonic() >= real_deadline:
                        break
                    # Other code sets the event: poll it in real time.
                    self._changed.wait(0.002)
            finally:
                self._waiting -= 1
        return event.is_set()

    def call_at(self, deadline: float, call: Callable[[], None]) -> Timer:
        """Run `call` once `monotonic()` reaches `deadline`, on the advancing thread.

        A past deadline also waits for the next `advance`.
        """
        timer = _FakeTimer(call)
        with self._changed:
            # The number makes timers of one moment run in the order in which they were
            # set, and keeps `heapq` from comparing two timers.
            heapq.heappush(self._timers, (deadline, next(self._order), timer))
        return timer

    def advance(self, seconds: float) -> None:
        """Advance the time, and run each due timer at its own time.

        Raises TypeError or ValueError for an invalid or negative time.
        """
        check_number("seconds", seconds, least=0)
        target = self._elapsed + seconds
        while True:
            with self._changed:
                if not self._timers or self._timers[0][0] > target:
                    self._elapsed = target
                    self._changed.notify_all()
                    return
                deadline, _, timer = heapq.heappop(self._timers)
                # At its own time, not at the end: new timers it sets count from there.
                self._elapsed = max(self._elapsed, deadline)
                self._changed.notify_all()
            if not timer.cancelled:
                timer.call()

    def until_waiting(self, threads: int = 1) -> None:
        """Block until that many threads are blocked in `wait`."""
        with self._changed:
            self._changed.wait_for(lambda: self._waiting >= threads, timeout=10)


class _FakeTimer:
    def __init__(self, call: Callable[[], None]) -> None:
        self.call = call
        self.cancelled = False

    def cancel(self) -> None:
        self.cancelled = True


class ShiftedClock:
    """Another clock, whose wall clock a test can shift."""

    def __init__(self, inner: Clock) -> None:
        self._inner = inner
        self.offset_seconds = 0.0

    def monotonic(self) -> float:
        """Return the inner clock's value.

        The offset moves only the wall clock, as a correction of a real clock does.
        """
        return self._inner.monotonic()

    def now(self) -> datetime:
        """Return the inner clock's time plus `offset_seconds`."""
        return self._inner.now() + timedelta(seconds=self.offset_seconds)

    def wait(self, event: threading.Event, timeout_seconds: float) -> bool:
        """Block as the inner clock does; return whether the event was set in time."""
        return self._inner.wait(event, timeout_seconds)

    def call_at(self, deadline: float, call: Callable[[], None]) -> Timer:
        """Schedule the call on the inner clock; `deadline` is in its monotonic
        seconds.
        """
        return self._inner.call_at(deadline, call)
