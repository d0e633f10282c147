"""Finds out whether the owner of an object without ARM still exists in Azure, after the
owner's object is gone.

The owner's resource may still exist, because its object was detached. Then the things
that the child has made in it exist, too.
"""

from asoreconcile.azure.arm.absence import Absence
from asoreconcile.azure.arm.condition_error import ConditionError, RetryClass
from asoreconcile.azure.arm.errors import ArmError
from asoreconcile.azure.catalogue.names import azure_name
from asoreconcile.azure.reconcile.model.annotations import OWN_PREFIX, RECONCILE_POLICY
from asoreconcile.azure.reconcile.model.policy import LET_GO
from asoreconcile.azure.reconcile.scope.reconcile_scope import ReconcileScope

OWNER_ID = OWN_PREFIX + "owner-id"


def owner_annotation(scope: ReconcileScope) -> dict[str, str | None]:
    """Return the annotation that records the owner's ARM id, once the object has made
    something in it.
    """
    owner = scope.owner()
    return {OWNER_ID: owner.arm_id} if owner is not None and owner.arm_id else {}


def require_gone(scope: ReconcileScope) -> None:
    """Raise ConditionError `OwnerDetached` if Azure still has the owner's resource.

    Does nothing if the object has made nothing, or no id is recorded. Also raises
    ConditionError if Azure does not answer, or if the credential is of another
    subscription. Sends one GET.
    """
    arm_id = scope.patcher.annotations.get(OWNER_ID)
    kind = scope.patcher.version.owner
    if not arm_id or kind is None:
        return
    of_owner = scope.operator.objects.served(kind)
    if of_owner is None:
        of_owner = scope.operator.catalogue.kind(kind).version()
    # Azure tells a credential of another subscription that the owner does not exist.
    scope.connection.require_subscription_of(arm_id)
    try:
        scope.connection.client.get(arm_id, of_owner.api_version)
    except ArmError as error:
        if error.absence is Absence.CERTAIN:
            return
        scope.patcher.add_remark(LET_GO)
        raise scope.errors.read_failed(error) from error
    obj = scope.patcher.obj
    what = (
        f"{scope.patcher.version.gvk.kind} {azure_name(scope.patcher.version, obj)!r}"
    )
    raise ConditionError(
        f"{what} still exists: the object of its owner is gone, but Azure still has "
        f"{arm_id}. Create the owner's object again to have {what} deleted, or "
        f"annotate this object with {RECONCILE_POLICY}: detach-on-delete to leave "
        f"{what} there",
        reason="OwnerDetached",
        retry=RetryClass.SLOW,
    )
