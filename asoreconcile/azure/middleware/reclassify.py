"""Error predicates, and the extension that reclassifies the errors that they match."""

import re
from collections.abc import Callable

import attrs

from asoreconcile.azure.arm.classification import Classification
from asoreconcile.azure.arm.condition_error import RetryClass, Severity
from asoreconcile.azure.arm.errors import ArmError
from asoreconcile.azure.middleware.extension_points import Middleware
from asoreconcile.azure.middleware.preconditions import named
from asoreconcile.azure.middleware.requests import ClassifyError


@attrs.frozen
class ErrorMatch:
    """A predicate of an ARM error; combine predicates with `&` and `|`.

    text: short, because it becomes part of the extension's name in lists and metrics.
    """

    text: str
    matches: Callable[[ArmError], bool] = attrs.field(repr=False)

    def __and__(self, other: "ErrorMatch") -> "ErrorMatch":
        return ErrorMatch(
            f"{self.text} and {other.text}",
            lambda error: self.matches(error) and other.matches(error),
        )

    def __or__(self, other: "ErrorMatch") -> "ErrorMatch":
        return ErrorMatch(
            f"({self.text} or {other.text})",
            lambda error: self.matches(error) or other.matches(error),
        )


def code(*codes: str) -> ErrorMatch:
    """Match errors with one of these codes; letter case counts."""
    return ErrorMatch("/".join(codes), lambda error: error.code in codes)


def message_contains(*parts: str) -> ErrorMatch:
    """Match errors whose message contains each of these texts; letter case counts."""
    return ErrorMatch(
        "message",
        lambda error: all(part in error.message for part in parts),
    )


def message_matches(pattern: str) -> ErrorMatch:
    """Match errors whose message contains a match of a regular expression."""
    found = re.compile(pattern).search
    return ErrorMatch("message", lambda error: found(error.message) is not None)


def reclassify(
    match: ErrorMatch,
    *,
    retry: RetryClass = RetryClass.SLOW,
    severity: Severity = "Warning",
) -> Middleware[ClassifyError, Classification]:
    """Return an extension that gives matching errors a severity and a retry class.

    Code, message and any `Retry-After` stay as the next link set them. The defaults
    suit dependencies that become available later: a Warning, retried SLOW.
    """

    def classify(
        req: ClassifyError, call_next: Callable[[ClassifyError], Classification], /
    ) -> Classification:
        judged = call_next(req)
        if not match.matches(req.error):
            return judged
        return attrs.evolve(judged, severity=severity, retry=retry)

    return named(classify, f"reclassify({match.text})")
