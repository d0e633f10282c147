"""The exception for failures that the Ready condition of an Azure object shows.

Severity, reason and retry class are ASO's: they decide what the user reads and when the
next try is made. The reconciler writes the condition; all code that calls Azure raises
this exception.
"""

from enum import Enum
from typing import Literal

from asoreconcile.base.errors import AsoreconcileError

Severity = Literal["Error", "Warning", "Info", ""]


class RetryClass(Enum):
    """The speed at which a failed object is retried (R4.1).

    FAST: 1 s doubling to 30 s.
    SLOW: 1 s doubling to 3 min.
    VERY_SLOW: the sync period (1 h without one), jittered by a quarter.
    """

    FAST = "Fast"
    SLOW = "Slow"
    VERY_SLOW = "VerySlow"


class ConditionError(AsoreconcileError):
    """A failure to show to the user in the Ready condition.

    severity: `Error` (a person must act), `Warning` (may recover) or `Info`.
    reason: CamelCase, the condition's `reason`.
    retry: how fast to retry; severity `Error` is retried VERY_SLOW (D19).
    after_seconds: a lower bound on the time of the next try, such as an ARM
    `Retry-After`.
    cause: the error of Azure, whose ids go into the event.
    is_outdated: whether the failed request was made from inputs that have changed
    since, so that the next try follows at once.
    is_unread: whether only a read failed, so that nothing is known.

    The exception's text becomes the condition's message and says what to do next.
    """

    def __init__(
        self,
        message: str,
        *,
        reason: str,
        severity: Severity = "Warning",
        retry: RetryClass = RetryClass.SLOW,
        after_seconds: float = 0.0,
        cause: BaseException | None = None,
    ) -> None:
        super().__init__(message)
        self.__cause__ = cause
        self.reason = reason
        self.severity = severity
        self.retry = retry
        self.after_seconds = after_seconds
        self.is_outdated = False
        self.is_unread = False

    def reworded(self, message: str) -> "ConditionError":
        """Return an error of the same reason, severity and cause with another text."""
        return ConditionError(
            message,
            reason=self.reason,
            severity=self.severity,
            retry=self.retry,
            after_seconds=self.after_seconds,
            cause=self.__cause__,
        )


def unusable(message: str) -> ConditionError:
    """Return an error that only an edit of the object, or of an input, can fix."""
    return ConditionError(message, reason="Failed", severity="Error")
