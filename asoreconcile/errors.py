"""What can go wrong, and what each failure means for the next try.

    AsoreconcileError
    ├── TerminalError      do not retry: only a change of the object helps
    ├── RetryError         retry after a stated time
    └── StoppedError       the process is shutting down; the work is not done

Rooms above add their own leaves (`kube.errors.ApiError` and others). The class decides
the retry; nobody matches message texts.
"""

from typing import TypeVar

E = TypeVar("E", bound=BaseException)


class AsoreconcileError(Exception):
    """Root of every failure this project raises on purpose."""


class TerminalError(AsoreconcileError):
    """A failure that only a change of the object can mend; back-off is cleared."""


class RetryError(AsoreconcileError):
    """Try again, not before `after_seconds` have passed."""

    def __init__(self, message: str, *, after_seconds: float) -> None:
        super().__init__(message)
        self.after_seconds = after_seconds


class StoppedError(AsoreconcileError):
    """The process is stopping; whoever called must unwind without recording."""


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
