"""Real time in which pauses end at once: for tests that wait for answers, not delays."""

from asoreconcile.base.clock import SystemClock


class QuickClock:
    """A clock whose `wait` only notes how long somebody meant to wait."""

    def __init__(self):
        real = SystemClock()
        self.pauses = []
        self.monotonic, self.now, self.call_at = real.monotonic, real.now, real.call_at

    def wait(self, event, timeout_seconds):
        self.pauses.append(timeout_seconds)
        return event.is_set()


class QuickTimers:
    """A quick clock for who pauses by timers: they ring at once, and are noted."""

    def __init__(self, clock):
        self.monotonic, self.now, self.wait = clock.monotonic, clock.now, clock.wait
        self._clock = clock

    def call_at(self, deadline, call):
        now = self._clock.monotonic()
        # What is due already is no pause: a watch asks for a timer, to see that it can.
        if deadline > now:
            self._clock.pauses.append(round(deadline - now, 1))
        return self._clock.call_at(now, call)
