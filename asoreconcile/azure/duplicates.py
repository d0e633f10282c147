"""Two objects with one Azure id: the older one manages it, the younger one waits.

Both would write it by turns, and the end of one would delete the other's resource. The
younger one sends nothing while the older one is there; when that goes or lets go, it
takes over. An object that only reads (policy `skip`) may share an id. Ids are made from
what the objects state, so those count that are not claimed yet.
"""

from asoreconcile.arm import ids
from asoreconcile.arm.condition_error import ConditionError
from asoreconcile.azure.annotations import RECONCILE_POLICY, RESOURCE_ID
from asoreconcile.azure.identity import id_of
from asoreconcile.azure.object_reference import ObjectReference
from asoreconcile.azure.policy import policy_of
from asoreconcile.azure.reconcile_scope import ReconcileScope
from asoreconcile.objects import (
    JsonObject,
    annotations,
    key_of,
    metadata,
    status,
    uid_of,
)

REASON = "AlreadyManaged"


def require_sole(scope: ReconcileScope, arm_id: str) -> None:
    """Raises ConditionError `AlreadyManaged` while an older object manages the id.

    Raises RetryError while objects are not listed yet that may be it.
    """
    older = holder(scope, arm_id)
    if older is None:
        return
    raise ConditionError(
        f"{arm_id} is managed by {older.group_kind.kind} {older.key}, which is older: "
        "nothing is sent to Azure for this object. Delete one of the two, or set "
        f"{RECONCILE_POLICY} to skip on the one that is only to read it",
        reason=REASON,
    )


def holder(scope: ReconcileScope, arm_id: str) -> ObjectReference | None:
    """The oldest object that manages an id and is older than this one, if any.

    This one is woken when that changes. Raises RetryError as `require_sole`.
    """
    me = ObjectReference(scope.kind.group_kind, scope.key)
    found = _oldest(scope, arm_id)
    if found is not None:
        # It may have gone before the waiting object was recorded: look once more.
        scope.operator.waiting.note(me, found)
        found = _oldest(scope, arm_id)
    if found is None:
        scope.operator.waiting.forget(me)
    return found


def _oldest(scope: ReconcileScope, arm_id: str) -> ObjectReference | None:
    mine = _age(scope.obj)
    older: list[tuple[tuple[str, str], ObjectReference]] = []
    for version, obj in scope.operator.objects_with_arm_id(arm_id):
        age = _age(obj)
        if age >= mine or not _writes(scope, obj):
            continue
        stated = (
            id_of(scope.operator, version, obj) if version.is_arm else _id_outside(obj)
        )
        if stated and ids.same(stated, arm_id):
            older.append((age, ObjectReference(version.group_kind, key_of(obj))))
    return min(older, key=lambda one: one[0])[1] if older else None


def _id_outside(obj: JsonObject) -> str:
    """The id of an object without ARM that is claimed for one: what the annotation and
    the status say alike, as anybody may write the annotation.
    """
    claimed = annotations(obj).get(RESOURCE_ID, "")
    return claimed if claimed == status(obj).get("entraID") else ""


def _age(obj: JsonObject) -> tuple[str, str]:
    """Smaller is older."""
    # The server states whole seconds: of two that were applied together the uid
    # decides, for both of them alike.
    return str(metadata(obj).get("creationTimestamp") or ""), uid_of(obj)


def _writes(scope: ReconcileScope, obj: JsonObject) -> bool:
    policy, _ = policy_of(
        annotations(obj),
        scope.operator.namespace_annotations(key_of(obj).namespace),
        scope.operator.default_policy,
    )
    return policy.writes
