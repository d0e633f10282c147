"""Real time in which pauses end at once: for tests that wait for answers, not delays."""

from asoreconcile.clock import SystemClock


class QuickClock:
    """A clock whose `wait` only notes how long somebody meant to wait."""

    def __init__(self):
        real = SystemClock()
        self.pauses = []
        self.monotonic, self.now, self.call_at = real.monotonic, real.now, real.call_at

    def wait(self, event, timeout_seconds):
        self.pauses.append(timeout_seconds)
        return event.is_set()
