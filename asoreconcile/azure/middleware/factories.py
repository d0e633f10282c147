"""The public names of the functions that build common extensions.

Nine of ten special cases use one of them with a few constants; the others are functions
of their own.
"""

import re
from collections.abc import Callable, Collection

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
from asoreconcile.azure.middleware.extension_points import Middleware, named
from asoreconcile.azure.middleware.extension_set import ExtensionError
from asoreconcile.azure.middleware.requests import (
    Block,
    ClassifyError,
    Import,
    Imported,
    ImportResult,
    PreReconcile,
    PreReconcileOwner,
    PreResult,
    Skipped,
)
from asoreconcile.azure.middleware.secret_exporters import (
    ValueSource,
    collect,
    export_keys,
    export_status,
    requested,
)
from asoreconcile.azure.middleware.stated_names import (
    StatedPath,
    checked_message,
    reading,
)
from asoreconcile.base.objects import GroupKind, JsonObject, dig, gvk_of, metadata


@attrs.frozen
class ErrorMatch:
    """A predicate of an ARM error; combine predicates with `&`. To match errors of
    different sorts, register an extension for each.

    text: short, because it becomes part of the extension's name in lists and metrics.
    """

    text: str
    matches: Callable[[ArmError], bool] = attrs.field(repr=False)

    def __and__(self, other: "ErrorMatch") -> "ErrorMatch":
        return ErrorMatch(
            f"{self.text} and {other.text}",
            lambda error: self.matches(error) and other.matches(error),
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
    """Match errors whose message contains a match of a regular expression.

    A message has at most 16 KiB, of which authors may have written a part. For several
    texts in a message use `message_contains`: `A.*B` takes the square of the length.
    """
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


# The final states of a provisioning operation, in lower case. An unknown state never
# blocks a
# write: before the first create there is no state.
TERMINAL = frozenset({"succeeded", "failed", "canceled"})

_BUSY = 'Azure is busy with the resource: its state is "{state}"'
_OWNER_BUSY = 'Azure is busy with the owner "{name}": its state is "{state}"'


def block_unless_state(
    path: str, states: Collection[str] = TERMINAL, *, message: str = _BUSY
) -> Middleware[PreReconcile, PreResult]:
    """Return a check that blocks while the state is not one of those that allow writes.

    path: dotted, from the object's root (`status.provisioningState`).
    states: in lower case; Azure's letter case is ignored.
    message: may contain `{state}` and `{name}`.

    Raises ExtensionError for a state that is not in lower case, and for a message with
    another field.
    """
    _require_lower(states)
    check = _gate(path, lambda state: state.lower() not in states, message)
    return named(check, f"block_unless_state({path})")


def block_if_state(
    path: str, states: Collection[str], *, message: str = _BUSY
) -> Middleware[PreReconcile, PreResult]:
    """Return a check that blocks in the given states; parameters and errors as
    `block_unless_state`.
    """
    _require_lower(states)
    check = _gate(path, lambda state: state.lower() in states, message)
    return named(check, f"block_if_state({path})")


def block_unless_owner_state(
    owner: GroupKind,
    path: str,
    states: Collection[str] = TERMINAL,
    *,
    message: str = _OWNER_BUSY,
    exact_case: bool = False,
) -> Middleware[PreReconcileOwner, PreResult]:
    """Return a check that blocks a child while its owner accepts no writes.

    owner: the kind of owner that is checked; other owners are ignored.
    path: path of the state from the owner's root.
    exact_case: if true, `states` are compared with letter case.

    Raises ExtensionError as `block_unless_state`. A start with an owner that is not one
    of the child's, or with a path that the owner lacks, is refused.
    """
    if not exact_case:
        _require_lower(states)
    checked_message(message, "state", "name")

    def check(
        req: PreReconcileOwner, call_next: Callable[[PreReconcileOwner], PreResult], /
    ) -> PreResult:
        state = _state(req.owner, path)
        # Extension resources hang on owners of many kinds, and the state of another one
        # says nothing here.
        if gvk_of(req.owner).group_kind != owner or not state:
            return call_next(req)
        if (state if exact_case else state.lower()) in states:
            return call_next(req)
        return Block(_with_state(message, req.owner, state))

    found = reading(check, StatedPath(path, owner))
    return named(found, f"block_unless_owner_state({owner.kind}, {path})")


def _require_lower(states: Collection[str]) -> None:
    if isinstance(states, str):
        raise ExtensionError(f"states is the text {states!r}, and must be a list")
    for state in states:
        if state != state.lower():
            raise ExtensionError(
                f"state {state!r} is never met, as states are compared in lower case: "
                f"write {state.lower()!r}"
            )


def _gate(
    path: str, blocks: Callable[[str], bool], message: str
) -> Middleware[PreReconcile, PreResult]:
    checked_message(message, "state", "name")

    def check(
        req: PreReconcile, call_next: Callable[[PreReconcile], PreResult], /
    ) -> PreResult:
        state = _state(req.obj, path)
        if state and blocks(state):
            return Block(_with_state(message, req.obj, state))
        return call_next(req)

    return reading(check, StatedPath(path))


def _state(obj: JsonObject, path: str) -> str:
    value = dig(obj, path)
    return value if isinstance(value, str) else ""


def _with_state(message: str, obj: JsonObject, state: str) -> str:
    return message.format(state=state, name=metadata(obj).get("name") or "")


__all__ = [
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
