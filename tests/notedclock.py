"""A clock that a test drives, and that shows when its timers are due."""

from asoreconcile.testing.clock import FakeClock


class NotedClock(FakeClock):
    """A clock that records deadlines.

    due: deadlines of all timers ever set, in order.
    """

    def __init__(self):
        super().__init__()
        self.due = []

    def call_at(self, deadline, call):
        self.due.append(deadline)
        return super().call_at(deadline, call)
