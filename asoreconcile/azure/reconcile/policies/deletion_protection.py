"""Deletion protection: keeps the resources of annotated objects, and resources that
contain them. The decision is `model.protection`. Rule: OW-4.
"""

from asoreconcile.azure.arm.condition_error import ConditionError, RetryClass
from asoreconcile.azure.reconcile.model.protection import (
    PROTECTED,
    names_of,
    why_held,
    why_held_by,
)
from asoreconcile.azure.reconcile.policies.requests import WriteRequest
from asoreconcile.base.objects import uid_of


def unprotected(write: WriteRequest) -> None:
    """Make sure that no annotation forbids the DELETE of the object's resource.

    A protected object also protects the resource that contains its own, if both are in
    the same namespace. A protected object of another namespace is only named in an
    event, because a tenant must not hold back the deletion of another tenant's
    resource. Raises ConditionError `DeletionProtected`; RetryError while objects that
    may be protected are not listed yet.
    """
    if not write.is_delete:
        return
    scope, patcher = write.scope, write.scope.patcher
    if why := why_held(patcher.annotations, write.inherited):
        # Removing the annotation queues the object at once.
        raise ConditionError(why, reason=PROTECTED, retry=RetryClass.VERY_SLOW)
    below = scope.operator.protected_below(patcher.arm_id, uid_of(patcher.obj))
    elsewhere = [one for one in below if one.key.namespace != patcher.key.namespace]
    here = [one for one in below if one not in elsewhere]
    if here:
        raise ConditionError(why_held_by(here), reason=PROTECTED)
    if elsewhere:
        text = (
            f"the deletion of {patcher.arm_id} also deletes the resources of "
            f"{names_of(elsewhere)}, which are protected in another namespace"
        )
        scope.event("Warning", "ProtectedElsewhere", text)
