"""What can go wrong, and what each failure means for the next try.

    AsoreconcileError
    ├── TerminalError      do not retry: only a change of the object helps
    ├── RetryError         retry after a stated time
    └── StoppedError       the process is shutting down; the work is not done

Rooms above add their own leaves (`kube.errors.ApiError` and others). The class decides
the retry; nobody matches message texts.
"""

import math
from typing import TypeVar

E = TypeVar("E", bound=BaseException)


class AsoreconcileError(Exception):
    """Root of every failure this project raises on purpose."""


class TerminalError(AsoreconcileError):
    """A failure that only a change of the object can mend; back-off is cleared."""


class RetryError(AsoreconcileError):
    """Try again, not before `after_seconds` have passed."""

    def __init__(self, message: str, *, after_seconds: float) -> None:
        """Raises TypeError or ValueError for what is no number of seconds."""
        super().__init__(message)
        check_seconds("after_seconds", after_seconds)
        self.after_seconds = after_seconds


class StoppedError(AsoreconcileError):
    """The process is stopping; whoever called must unwind without recording."""


def check_seconds(name: str, value: object) -> None:
    """Where a developer's code says a time: later nobody knows whose it was.

    Raises TypeError for what is no number, such as a timedelta, and ValueError for NaN,
    which is neither before nor after any other time. Pure.
    """
    if not isinstance(value, int | float):
        raise TypeError(f"{name} is {value!r:.80}: give a number of seconds")
    if math.isnan(value):
        raise ValueError(f"{name} is not a number: give a number of seconds")


def in_chain(error: BaseException, wanted: type[E] | tuple[type[E], ...]) -> E | None:
    """The first of some class among an error and its causes (`raise ... from`)."""
    link: BaseException | None = error
    seen = set()  # `raise error from error` makes a ring
    while link is not None and id(link) not in seen:
        if isinstance(link, wanted):
            return link
        seen.add(id(link))
        link = link.__cause__
    return None
