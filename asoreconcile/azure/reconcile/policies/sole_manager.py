"""The sole manager of a resource: of several objects that declare an id, one manages
it.

The decision is `identity.duplicates`. Rule: D22.
"""

from functools import partial

from asoreconcile.azure.arm import ids
from asoreconcile.azure.arm.condition_error import ConditionError
from asoreconcile.azure.reconcile.identity.duplicates import (
    Rival,
    look_around,
    require_sole,
)
from asoreconcile.azure.reconcile.identity.identity import is_own
from asoreconcile.azure.reconcile.identity.owner_change import is_kept_by_another
from asoreconcile.azure.reconcile.identity.recorded_claim import let_go, open_claim
from asoreconcile.azure.reconcile.model.annotations import RECONCILE_POLICY, RESOURCE_ID
from asoreconcile.azure.reconcile.model.standing import Standing
from asoreconcile.azure.reconcile.policies.hand_over import why_handed_over
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
    let_go(scope)
    require_sole(scope.operator, patcher.version, patcher.obj, arm_id, scope.claim)
    if scope.standing is Standing.LET_GO:
        open_claim(scope, arm_id)  # it takes over in its turn


def leave_to_others(intent: DeleteIntent) -> LeftAlone | None:
    """Leave a resource that is not the object's own, or that another object manages or
    has taken over. Raises as `why_left`, `why_handed_over` and `rivals_before_delete`.
    """
    scope, patcher = intent.scope, intent.scope.patcher
    version, arm_id, standing = patcher.version, patcher.arm_id, scope.standing
    own = is_of_type(arm_id, version.arm_type) and is_own(scope)
    seen = str(status(patcher.obj).get("id") or "")
    why = why_left(arm_id, version.arm_type, is_own=own, seen=seen)
    if not why and (named := is_kept_by_another(scope)):
        why = _NAMES_ANOTHER.format(arm_id, named)
    if not why:
        manager, rivals = rivals_before_delete(scope, arm_id)
        why = why_handed_over(scope, standing, manager, rivals)
    return LeftAlone(why) if why else None


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
    seen: str = "",
) -> str:
    """Return why the resource is left in Azure, or "" if it is deleted. Pure.

    arm_id: id in the annotation. is_own: whether it is this object's own id. seen: the
    id that the status shows, or "".

    The id comes from an annotation, so it is checked: a wrong id must not delete
    another resource, nor look like a resource that is gone. Raises ConditionError for
    an id of another type, which can be corrected: if the finalizer were removed, the
    resource would stay for ever.
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
    return ""


_NAMES_ANOTHER = (
    "{} is left in Azure: the owner of this object is gone or going, but its spec "
    "names {}, which lives, so it was given to that one"
)


def is_of_type(arm_id: str, arm_type: str) -> bool:
    """Return whether an id from an annotation is of this type. Pure."""
    try:
        found = ids.parse_stated(arm_id).type
    except ids.ArmIdError:
        return False
    return found.lower() == arm_type.lower()
