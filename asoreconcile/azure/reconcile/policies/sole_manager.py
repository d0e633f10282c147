"""The sole manager of a resource: of several objects that declare an id, one manages
it.

The decision is `identity.duplicates`. Rule: D22.
"""

from functools import partial

from asoreconcile.azure.arm import ids
from asoreconcile.azure.arm.condition_error import ConditionError
from asoreconcile.azure.reconcile.identity.duplicates import (
    Rival,
    heir_among,
    look_around,
    require_sole,
)
from asoreconcile.azure.reconcile.identity.identity import is_own
from asoreconcile.azure.reconcile.model.annotations import RECONCILE_POLICY, RESOURCE_ID
from asoreconcile.azure.reconcile.model.object_reference import ObjectReference
from asoreconcile.azure.reconcile.policies.permission import confirm_object
from asoreconcile.azure.reconcile.policies.requests import (
    DeleteIntent,
    Intent,
    LeftAlone,
)
from asoreconcile.azure.reconcile.scope.reconcile_scope import ReconcileScope
from asoreconcile.base.objects import status


def sole(intent: Intent) -> None:
    """Make sure that no other object manages the resource, before the body is made: an
    object that has to wait asks Azure nothing. Raises as `require_sole`.
    """
    scope, patcher = intent.scope, intent.scope.patcher
    arm_id = intent.identity.arm_id
    require_sole(scope.operator, patcher.version, patcher.obj, arm_id, scope.claim)


def leave_to_others(intent: DeleteIntent) -> LeftAlone | None:
    """Leave a resource that is not the object's own, or that another object manages or
    takes over. Raises ConditionError as `why_left`, and as `rivals_before_delete`.
    """
    scope, patcher = intent.scope, intent.scope.patcher
    version, arm_id, waiting = patcher.version, patcher.arm_id, scope.operator.waiting
    own = is_of_type(arm_id, version.arm_type) and is_own(scope)
    manager: Rival | None = None
    heir: Rival | None = None
    if own:
        manager, rivals = rivals_before_delete(scope, arm_id)
        heir = heir_among(patcher.key.namespace, rivals)
    if heir is not None:
        # Its events wake this object, and this object's end wakes it.
        waiting.note(patcher.node, heir.node)
        if manager is None:
            waiting.note(heir.node, patcher.node)
    why = why_left(
        arm_id,
        version.arm_type,
        is_own=own,
        namespace=patcher.key.namespace,
        manager=None if manager is None else manager.node,
        heir=None if heir is None else heir.node,
        seen=str(status(patcher.obj).get("id") or ""),
    )
    if not why:
        return None
    if manager is None and heir is not None:
        text = f"{version.gvk.kind} {patcher.key} is deleted: this object takes over "
        scope.kind.recorder.event(heir.obj, "Normal", "TakesOver", text + arm_id)
    return LeftAlone(why)


def rivals_before_delete(
    scope: ReconcileScope, arm_id: str
) -> tuple[Rival | None, list[Rival]]:
    """Return the object that manages the id, and all others that declare it.

    They are read from the API server if the cache has one or may be behind, because a
    DELETE cannot be undone.

    Raises as `look_around`; GoneError, StaleError.
    """
    operator, patcher, claim = scope.operator, scope.patcher, scope.claim
    version = patcher.version
    confirm_object(operator, patcher)
    look = partial(look_around, operator, version, patcher.obj, arm_id, claim)
    found, rivals = look(is_delete=True)
    if not rivals and not patcher.is_cache_behind:
        return found, rivals
    return look(kind=scope.kind, is_delete=True)


def why_left(
    arm_id: str,
    arm_type: str,
    *,
    is_own: bool,
    namespace: str,
    manager: ObjectReference | None = None,
    heir: ObjectReference | None = None,
    seen: str = "",
) -> str:
    """Return why the resource is left in Azure, or "" if it is deleted. Pure.

    arm_id: id in the annotation. is_own: whether it is this object's own id. namespace:
    the object's namespace. manager: another object that manages the id. heir: another
    live object that declares the id. seen: the id that the status shows, or "".

    The id comes from an annotation, so it is checked: a wrong id must not delete
    another resource, nor look like a resource that is gone. Raises ConditionError for
    an id of another type, which can be corrected: if the finalizer were removed, the
    resource would stay for ever. Also raises it if an object of another namespace
    declares the id, because neither namespace may decide for the other.
    """
    if not is_of_type(arm_id, arm_type):
        raise ConditionError(
            f"nothing is deleted: annotation {RESOURCE_ID} is {arm_id!r}, which is "
            f"no {arm_type}: correct it, or set {RECONCILE_POLICY} to "
            "detach-on-delete to let only this object go",
            reason="Failed",
        )
    if not is_own:
        other = f"; {seen}, which its status names, is left too" if seen else ""
        return (
            f"{arm_id} is left in Azure{other}: annotation {RESOURCE_ID} names "
            "it, but this object's owner and Azure name do not make that id, and no "
            "record of the operator's says it. If it was this object's, delete it by "
            "hand"
        )
    if manager is not None:
        return f"{arm_id} is left in Azure: {manager} manages it"
    if heir is None:
        return ""
    if heir.key.namespace == namespace:
        return f"{arm_id} is left in Azure: {heir} declares it too, and takes it over"
    raise ConditionError(
        f"nothing is deleted: {heir}, of another namespace, declares {arm_id} as its "
        f"own. Delete that object, or set {RECONCILE_POLICY} to skip on it; or set "
        f"{RECONCILE_POLICY} to detach-on-delete on this object, which leaves the "
        "resource in Azure",
        reason="DeclaredByAnother",
    )


def is_of_type(arm_id: str, arm_type: str) -> bool:
    """Return whether an id from an annotation is of this type. Pure."""
    try:
        found = ids.parse_stated(arm_id).type
    except ids.ArmIdError:
        return False
    return found.lower() == arm_type.lower()
