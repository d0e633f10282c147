"""The public names of the functions that build common extensions.

Nine of ten special cases use one of them with a few constants; the others are functions
of their own.
"""

import re
from collections.abc import Callable

import attrs

from asoreconcile.azure.arm.classification import Classification
from asoreconcile.azure.arm.condition_error import RetryClass, Severity
from asoreconcile.azure.arm.errors import ArmError
from asoreconcile.azure.middleware.children import (
    ChildMerge,
    ChildShape,
    keep_children,
    writable,
)
from asoreconcile.azure.middleware.extension_points import Middleware
from asoreconcile.azure.middleware.preconditions import (
    TERMINAL,
    block_if_state,
    block_unless_owner_state,
    block_unless_state,
    named,
)
from asoreconcile.azure.middleware.requests import (
    ClassifyError,
    Import,
    Imported,
    ImportResult,
    Skipped,
)
from asoreconcile.azure.middleware.secret_exporters import (
    KEY_PAIR,
    KEYS_AND_CONNECTION_STRINGS,
    ValueSource,
    collect,
    export_keys,
    export_status,
    requested,
)
from asoreconcile.base.objects import JsonObject


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


def skip_import_if(
    reason: str,
    when: Callable[[JsonObject, str], bool],
    *,
    before_reading: bool = False,
) -> Middleware[Import, ImportResult]:
    """Return an importer that leaves some resources out.

    reason: a clause, such as "is built in".
    when: called with the object and its owner's ARM id.
    before_reading: if true, the name alone decides, which saves the request.
    """

    def decide(
        req: Import, call_next: Callable[[Import], ImportResult], /
    ) -> ImportResult:
        if before_reading and when(req.obj, req.owner_id):
            return Skipped(reason)
        result = call_next(req)
        if (
            not before_reading
            and isinstance(result, Imported)
            and when(result.obj, req.owner_id)
        ):
            return Skipped(reason)
        return result

    return named(decide, f"skip_import_if({reason!r})")


__all__ = [
    "KEYS_AND_CONNECTION_STRINGS",
    "KEY_PAIR",
    "TERMINAL",
    "ChildMerge",
    "ChildShape",
    "ErrorMatch",
    "ValueSource",
    "block_if_state",
    "block_unless_owner_state",
    "block_unless_state",
    "code",
    "collect",
    "export_keys",
    "export_status",
    "keep_children",
    "message_contains",
    "message_matches",
    "reclassify",
    "requested",
    "skip_import_if",
    "writable",
]
