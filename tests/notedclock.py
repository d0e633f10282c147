"""A clock that a test drives, and that shows when its timers are due."""

from collections.abc import Callable

from asoreconcile.base.clock import Timer
from asoreconcile.testing.clock import FakeClock


class NotedClock(FakeClock):
    """A clock that records deadlines.

    due: deadlines of all timers ever set, in order.
    """

    def __init__(self) -> None:
        super().__init__()
        self.due: list[float] = []

    def call_at(self, deadline: float, call: Callable[[], None]) -> Timer:
        self.due.append(deadline)
        return super().call_at(deadline, call)
