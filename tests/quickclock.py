"""Real time in which pauses end at once, for tests that wait for answers,
not delays.
"""

import threading
from collections.abc import Callable

from asoreconcile.base.clock import SystemClock, Timer


class QuickClock:
    """A clock whose `wait` only records the requested time."""

    def __init__(self) -> None:
        real = SystemClock()
        self.pauses: list[float | None] = []
        self.monotonic, self.now, self.call_at = real.monotonic, real.now, real.call_at

    def wait(self, event: threading.Event, timeout_seconds: float | None) -> bool:
        self.pauses.append(timeout_seconds)
        return event.is_set()


class QuickTimers:
    """A clock whose timers ring at once, and are recorded."""

    def __init__(self, clock: QuickClock) -> None:
        self.monotonic, self.now, self.wait = clock.monotonic, clock.now, clock.wait
        self._clock = clock

    def call_at(self, deadline: float, call: Callable[[], None]) -> Timer:
        now = self._clock.monotonic()
        # A timer that is already due is not a pause: a watch sets one to see whether it
        # can.
        if deadline > now:
            self._clock.pauses.append(round(deadline - now, 1))
        return self._clock.call_at(now, call)
