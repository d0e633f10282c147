"""What can go wrong, and what each failure means for the next try.

    AsoreconcileError
    ├── TerminalError      do not retry: only a change of the object helps
    ├── RetryError         retry after a stated time
    ├── ConditionError     shown in the Ready condition, retried by its class
    └── StoppedError       the process is shutting down; the work is not done

Rooms above add their own leaves (`kube.errors.ApiError`, `arm.errors.ArmError`).
The class decides the retry; nobody matches message texts.
"""

from enum import Enum
from typing import Literal, TypeVar

Severity = Literal["Error", "Warning", "Info", ""]

E = TypeVar("E", bound=BaseException)


class RetryClass(Enum):
    """How fast a failed object is tried again (reconcile-semantics 4d).

    FAST: 1 s doubling to 30 s. SLOW: 1 s doubling to 3 min.
    VERY_SLOW: the sync period (1 h without one), jittered by a quarter.
    """

    FAST = "Fast"
    SLOW = "Slow"
    VERY_SLOW = "VerySlow"


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


class ConditionError(AsoreconcileError):
    """A failure to show the user in the Ready condition.

    severity: `Error` (needs a person), `Warning` (may heal) or `Info`.
    reason: CamelCase, the condition's `reason`.
    retry: how fast to try again; severity `Error` is retried VERY_SLOW (D19).
    after_seconds: a lower bound on the next try, such as an ARM `Retry-After`.
    The exception's text becomes the condition's message: it says what to do next.
    """

    def __init__(
        self,
        message: str,
        *,
        reason: str,
        severity: Severity = "Warning",
        retry: RetryClass = RetryClass.SLOW,
        after_seconds: float = 0.0,
    ) -> None:
        super().__init__(message)
        self.reason = reason
        self.severity = severity
        self.retry = retry
        self.after_seconds = after_seconds


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
