"""Finds the objects that `duplicates` decides between, and records which one waits."""

from asoreconcile.azure.reconcile.identity.duplicates import (
    Rival,
    age_of,
    already_managed,
    id_outside_arm,
    oldest_of,
)
from asoreconcile.azure.reconcile.identity.identity_reads import id_of
from asoreconcile.azure.reconcile.model.object_reference import ObjectReference
from asoreconcile.azure.reconcile.model.policy import policy_of
from asoreconcile.azure.reconcile.scope.reconcile_scope import ReconcileScope
from asoreconcile.base.objects import JsonObject, annotations, key_of


def require_sole(scope: ReconcileScope, arm_id: str) -> None:
    """Raises ConditionError `AlreadyManaged` while an older object manages the id.

    Raises RetryError while objects that could be it are not listed yet.
    """
    older = holder(scope, arm_id)
    if older is not None:
        raise already_managed(arm_id, older)


def holder(scope: ReconcileScope, arm_id: str) -> ObjectReference | None:
    """The oldest object that manages an id and is older than this one, if any.

    A change of it wakes this object. Raises RetryError as `require_sole`.
    """
    me = ObjectReference(scope.kind.group_kind, scope.key)
    found = _oldest(scope, arm_id)
    if found is not None:
        # It may have been deleted before the wait was recorded: look once more.
        scope.operator.waiting.note(me, found)
        found = _oldest(scope, arm_id)
    # Also if none was found now: an earlier reconcile may have recorded a wait.
    if found is None:
        scope.operator.waiting.forget(me)
    return found


def _oldest(scope: ReconcileScope, arm_id: str) -> ObjectReference | None:
    mine = age_of(scope.obj)
    rivals = [
        Rival(
            ObjectReference(version.group_kind, key_of(obj)),
            age_of(obj),
            id_of(scope.operator, version, obj)
            if version.is_arm
            else id_outside_arm(obj),
        )
        for version, obj in scope.operator.objects_with_arm_id(arm_id)
        # Finding an id needs the owner and the credential, and raises while they are
        # not listed: so only for objects that could win.
        if age_of(obj) < mine and _writes(scope, obj)
    ]
    return oldest_of(arm_id, mine, rivals)


def _writes(scope: ReconcileScope, obj: JsonObject) -> bool:
    policy, _ = policy_of(
        annotations(obj),
        scope.operator.namespace_annotations(key_of(obj).namespace),
        scope.operator.default_policy,
    )
    return policy.writes
