"""A failure as the Ready condition of an Azure object shows it, and its retry class.

ASO's: severity, reason and class decide what a person reads and when the next try is.
`azure/` writes the condition; everything that talks to Azure raises this.
"""

from enum import Enum
from typing import Literal

from asoreconcile.errors import AsoreconcileError

Severity = Literal["Error", "Warning", "Info", ""]


class RetryClass(Enum):
    """How fast a failed object is tried again (R4.1).

    FAST: 1 s doubling to 30 s. SLOW: 1 s doubling to 3 min.
    VERY_SLOW: the sync period (1 h without one), jittered by a quarter.
    """

    FAST = "Fast"
    SLOW = "Slow"
    VERY_SLOW = "VerySlow"


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
