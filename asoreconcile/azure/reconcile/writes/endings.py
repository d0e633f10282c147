"""Ends a reconcile: reads the resource, checks it and exports values, or releases the
object.
"""

from asoreconcile.azure.arm.condition_error import ConditionError
from asoreconcile.azure.arm.credentials import CredentialError
from asoreconcile.azure.arm.errors import ArmError
from asoreconcile.azure.middleware.context import SuboperationPending
from asoreconcile.azure.reconcile.model.annotations import (
    FINALIZER,
    LATEST_RECONCILED_GENERATION,
    RESOURCE_ID,
)
from asoreconcile.azure.reconcile.model.decisions import (
    ReadAfter,
    ReconcileOutcome,
    Requeue,
    Stop,
    Succeeded,
)
from asoreconcile.azure.reconcile.model.standing import Act, Permit, may
from asoreconcile.azure.reconcile.policies import order
from asoreconcile.azure.reconcile.policies.phase import run
from asoreconcile.azure.reconcile.policies.requests import SettleRequest
from asoreconcile.azure.reconcile.scope.next_look import seconds_until_next_sync
from asoreconcile.azure.reconcile.scope.reconcile_scope import ReconcileScope
from asoreconcile.azure.reconcile.scope.recorded_operation import clear_token
from asoreconcile.azure.reconcile.sync.desired import Desired
from asoreconcile.base.errors import AsoreconcileError
from asoreconcile.base.objects import JsonObject, finalizers, generation, status

NOT_DELETED = "NotDeletedInAzure"
_UNAUTHENTICATED = 401


def settle(
    scope: ReconcileScope,
    after: ReadAfter,
    *,
    body: JsonObject | None = None,
    sent: Desired | None = None,
    listed_at: float | None = None,
) -> ReconcileOutcome:
    """Read the resource, have extensions check it, and export its values: the phases of
    `order.SETTLED`.

    body: the resource, if it has just been read. Raises ConditionError, ArmError,
    ArmTransportError, SuboperationPending. The token of an operation is cleared once
    the resource was read: until then a failed read must be retried here, and not lead
    to another PUT.
    """
    try:
        request = SettleRequest(scope, after, body, sent, listed_at)
        return run(order.SETTLED, request, _settled)
    except AsoreconcileError as error:
        if after is ReadAfter.OPERATION and is_about_the_resource(error):
            clear_token(scope.patcher, scope.memory)
        raise


def _settled(request: SettleRequest) -> ReconcileOutcome:
    """End a reconcile whose resource is in order."""
    scope, patcher, after = request.scope, request.scope.patcher, request.after
    resync = seconds_until_next_sync(scope, scope.sync_mode, was_synced=True)
    if after is ReadAfter.NOTHING:
        return Succeeded(resync)
    # The generation that was PUT, not the present one: an edit during the operation has
    # not been sent yet (R1.13, D5).
    put = patcher.annotations.get(LATEST_RECONCILED_GENERATION)
    is_latest = put == str(generation(patcher.obj))
    if after is ReadAfter.OPERATION:
        clear_token(patcher, scope.memory)
    is_over = is_latest and not (request.is_outdated or request.is_put_again)
    return Succeeded(resync) if is_over else Requeue()


def is_about_the_resource(error: AsoreconcileError) -> bool:
    """Return whether an error is about the resource itself, so that its PUT has ended.
    Pure.

    Throttling, failed sign-in, transport errors and the shutdown are not about the
    resource (L15, D3).
    """
    match error:
        case ArmError():
            return not error.is_transient and error.status != _UNAUTHENTICATED
        case CredentialError():
            return False
        case ConditionError() | SuboperationPending():
            return True
        case _:
            return False


def release(scope: ReconcileScope) -> Stop:
    """Forget the object and remove the operator's finalizer, so that Kubernetes can
    delete the object.

    If the annotation with the ARM id is missing, no resource was deleted: an event says
    which one may be left (D10, R5.2).
    """
    patcher = scope.patcher
    scope.operator.forget(scope.kind, patcher.key)
    present = finalizers(patcher.obj)
    # Another client removed it: the object may be gone before a write arrives.
    if FINALIZER not in present:
        return Stop()
    seen = str(status(patcher.obj).get("id") or "")
    if scope.is_undecided and may(scope.standing, Act.DELETE) is Permit.NO:
        what = patcher.arm_id or "what was there before"
        text = f"{what} is left in Azure: this object has not written it"
        scope.event("Warning", NOT_DELETED, text)
    if seen and not patcher.arm_id and patcher.version.is_arm:
        text = f"annotation {RESOURCE_ID} is missing: {seen} is left in Azure"
        scope.event("Warning", NOT_DELETED, text)
    scope.log.info("Removing finalizer")
    # The whole list, on the version that was read: a merge patch replaces lists, and
    # another finalizer added meanwhile must not be lost.
    rest = [name for name in present if name != FINALIZER]
    patcher.write_shared({"finalizers": rest})
    return Stop()
