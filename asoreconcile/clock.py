"""Time as a dependency, so that tests replay it (TH-10).

Everything that waits, measures or stamps takes a `Clock`. `SystemClock` is the
real one: `time.monotonic`, and one timer thread for the whole process (TH-2).
`asoreconcile.testing.FakeClock` is the one tests drive by hand.
"""

import heapq
import itertools
import logging
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Protocol

_log = logging.getLogger(__name__)


class Timer(Protocol):
    """A call that has been put off."""

    def cancel(self) -> None:
        """Keep the call from happening, if it has not begun. Idempotent."""


class Clock(Protocol):
    """Reads time, waits, and calls back later."""

    def monotonic(self) -> float:
        """Seconds that only grow; the zero point means nothing."""

    def now(self) -> datetime:
        """The wall clock in UTC, for stamps that people and servers read."""

    def wait(self, event: threading.Event, timeout_seconds: float) -> bool:
        """Block until the event is set (True) or the time is over (False)."""

    def call_at(self, deadline: float, call: Callable[[], None]) -> Timer:
        """Run `call` once `monotonic()` reaches `deadline`.

        Runs on a thread shared by all timers: it must not block. What it raises is
        logged and goes no further.
        """


class SystemClock:
    """Real time. Make one for a process; threads share it."""

    def __init__(self) -> None:
        self._timers = _TimerThread()

    # No method around it: a key on its way through a queue takes the time thrice.
    monotonic = staticmethod(time.monotonic)

    def now(self) -> datetime:
        return datetime.now(UTC)

    def wait(self, event: threading.Event, timeout_seconds: float) -> bool:
        return event.wait(timeout_seconds)

    def call_at(self, deadline: float, call: Callable[[], None]) -> Timer:
        return self._timers.add(deadline, call)


class _Entry:
    __slots__ = ("call",)

    def __init__(self, call: Callable[[], None]) -> None:
        self.call: Callable[[], None] | None = call

    def cancel(self) -> None:
        self.call = None


class _TimerThread:
    """A heap of deadlines and one daemon thread, started by the first timer."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._heap: list[tuple[float, int, _Entry]] = []
        self._order = itertools.count()
        self._started = False

    def add(self, deadline: float, call: Callable[[], None]) -> Timer:
        entry = _Entry(call)
        with self._changed:
            heapq.heappush(self._heap, (deadline, next(self._order), entry))
            if not self._started:
                self._started = True
                threading.Thread(target=self._run, name="timers", daemon=True).start()
            elif self._heap[0][2] is entry:
                self._changed.notify()
        return entry

    def _run(self) -> None:
        while True:
            call = self._next_due()
            try:
                call()
            except Exception:  # noqa: BLE001 - one bad call must not end all timers
                _log.exception("Timer call failed")

    def _next_due(self) -> Callable[[], None]:
        with self._changed:
            while True:
                while self._heap and self._heap[0][2].call is None:
                    heapq.heappop(self._heap)
                if not self._heap:
                    self._changed.wait()
                    continue
                remaining = self._heap[0][0] - time.monotonic()
                if remaining > 0:
                    self._changed.wait(remaining)
                    continue
                call = heapq.heappop(self._heap)[2].call
                if call is not None:
                    return call
