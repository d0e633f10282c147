"""Ends a reconcile: reads the resource, checks it and exports values, or releases the
object.
"""

from collections.abc import Callable

from asoreconcile.azure.arm.condition_error import ConditionError, RetryClass, unusable
from asoreconcile.azure.arm.credentials import CredentialError
from asoreconcile.azure.arm.errors import ArmError, ArmTransportError
from asoreconcile.azure.middleware.chain import Extensions
from asoreconcile.azure.middleware.context import ReconcileContext, SuboperationPending
from asoreconcile.azure.middleware.extension_points import EVERY_SUCCESS, POST_RECONCILE
from asoreconcile.azure.middleware.requests import (
    NotReady,
    PostReconcile,
    Ready,
    Success,
)
from asoreconcile.azure.reconcile.exports.export import Exporter, FetchFailure
from asoreconcile.azure.reconcile.identity.identity import is_own
from asoreconcile.azure.reconcile.model.annotations import (
    FINALIZER,
    LATEST_RECONCILED_GENERATION,
    RECONCILE_POLICY,
    RESOURCE_ID,
)
from asoreconcile.azure.reconcile.model.birth import is_another
from asoreconcile.azure.reconcile.model.conditions import EXPORT_FAILED
from asoreconcile.azure.reconcile.model.decisions import (
    ReadAfter,
    ReconcileOutcome,
    Requeue,
    Stop,
    Succeeded,
)
from asoreconcile.azure.reconcile.model.drift_baseline import (
    OBSERVED,
    DriftBaseline,
    last_put_of,
)
from asoreconcile.azure.reconcile.model.existence import IF_EXISTS
from asoreconcile.azure.reconcile.model.external_deletion import RECREATED, what_to_do
from asoreconcile.azure.reconcile.model.instructions import ALLOW_OWNER_CHANGE_ROW
from asoreconcile.azure.reconcile.model.owner import Owner
from asoreconcile.azure.reconcile.model.standing import Act, Permit, may
from asoreconcile.azure.reconcile.model.switches import is_on
from asoreconcile.azure.reconcile.model.sync_mode import SyncMode
from asoreconcile.azure.reconcile.scope.next_sync import seconds_until_next_sync
from asoreconcile.azure.reconcile.scope.patch_helper import PatchHelper
from asoreconcile.azure.reconcile.scope.reconcile_scope import ReconcileScope
from asoreconcile.azure.reconcile.sync.desired import Desired, RenderedSpec
from asoreconcile.azure.reconcile.sync.drift import failed_state
from asoreconcile.azure.reconcile.sync.effects import apply
from asoreconcile.azure.reconcile.sync.learned import has_kept_identity, learned
from asoreconcile.azure.reconcile.sync.put_record import has_other_inputs
from asoreconcile.azure.reconcile.sync.rendering import rendered_again
from asoreconcile.azure.reconcile.sync.resource_reads import observed_status
from asoreconcile.azure.reconcile.writes.recorded_operation import (
    clear_token,
    forget_put,
)
from asoreconcile.base.errors import AsoreconcileError
from asoreconcile.base.objects import JsonObject, finalizers, generation, status
from asoreconcile.kube.patch import apply_merge_patch

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
    """Read the resource, have extensions check it, and export its values.

    body: the resource, if it has just been read. Raises ConditionError, ArmError,
    ArmTransportError, SuboperationPending. The token of an operation is cleared once
    the resource was read: until then a failed read must be retried here, and not lead
    to another PUT.
    """
    patcher = scope.patcher
    try:
        _read(scope, after, body, listed_at)
        mode = scope.sync_mode
        is_of_put = scope.memory.accepted is not None or after is ReadAfter.OPERATION
        rendered = None if sent is None else sent.rendered
        if is_of_put and rendered is None:
            rendered = rendered_again(scope)
        _require_success(scope, mode, after, rendered, sent)
        extensions, context = scope.operator.extensions, scope.context
        check_usable(patcher, context, extensions, scope.owner)
        is_outdated = after is ReadAfter.OPERATION and has_other_inputs(
            patcher, rendered
        )
        if after is ReadAfter.NOTHING:
            _disclaim(patcher)
        elif is_of_put and not is_outdated:
            is_repair = bool(scope.memory.repair_attempts.pending)
            is_repair = is_repair or (sent is not None and bool(sent.revoked))
            _learn(scope, mode, rendered, sent)
            if not is_repair and has_kept_identity(scope.context):
                # The next PUT takes it by a null.
                scope.memory.accepted = None
                is_outdated = True
        _export(scope)
    except AsoreconcileError as error:
        if after is ReadAfter.OPERATION and is_about_the_resource(error):
            clear_token(patcher, scope.memory)
        raise
    resync = seconds_until_next_sync(scope, mode, was_synced=True)
    if after is ReadAfter.NOTHING:
        return Succeeded(resync)
    # The generation that was PUT, not the present one: an edit during the operation has
    # not been sent yet (R1.13, D5).
    put = patcher.annotations.get(LATEST_RECONCILED_GENERATION)
    is_latest = put == str(generation(patcher.obj)) and not is_outdated
    if after is ReadAfter.OPERATION:
        clear_token(patcher, scope.memory)
    return Succeeded(resync) if is_latest else Requeue()


def _disclaim(patcher: PatchHelper) -> None:
    """Drop the record of the last PUT while the policy is skip.

    Other writers may change the resource then, also values that Azure does not show, so
    the first reconcile after it sends the whole spec.
    """
    if patcher.annotations.get(LATEST_RECONCILED_GENERATION):
        record = last_put_of(patcher.annotations)
        withdrawn = (record or DriftBaseline("")).withdrawn()
        patcher.annotate({OBSERVED: withdrawn.dumps()})


def _read(
    scope: ReconcileScope,
    after: ReadAfter,
    body: JsonObject | None,
    listed_at: float | None,
) -> None:
    """Copy the resource to the status; record an event if it is another resource with
    the same id.

    Raises ConditionError if the id is not the object's own; RetryError while the
    owner's kind is not listed yet; as `observed_status`.
    """
    patcher, memory, accepted = scope.patcher, scope.memory, scope.memory.accepted
    scope.connection.require_subscription_of(patcher.arm_id)
    # Before the read: the id is in an annotation, which people can edit, and the status
    # is believed when the owner is gone.
    if not is_own(scope):
        raise unusable(
            f"annotation {RESOURCE_ID} is {patcher.arm_id}, which is not what "
            "spec.owner and the Azure name of this object make: remove it, and it is "
            "written anew"
        )
    before = status(patcher.obj)
    observed = observed_status(scope.context, body)
    memory.read_at = (
        scope.operator.clock.monotonic() if listed_at is None else listed_at
    )
    if observed is None:
        # The accepted PUT has left no resource: the next reconcile must PUT.
        if after is not ReadAfter.NOTHING:
            forget_put(patcher, memory)
        raise absent(patcher.arm_id, after)
    if listed_at is None:
        patcher.replace_status(observed)
    if is_on(patcher.annotations, ALLOW_OWNER_CHANGE_ROW):
        # The schema's rule about the owner holds only while the status shows an id.
        patcher.status.pop("id", None)
    # If nothing was sent (policy skip), another resource at this id is not ours to
    # report.
    if after is ReadAfter.NOTHING or (accepted is not None and accepted.recreated):
        return
    if is_another(before, patcher.status):
        scope.event("Warning", RECREATED, what_to_do(patcher.arm_id))
        scope.wake_children()


def _learn(
    scope: ReconcileScope,
    mode: SyncMode,
    rendered: RenderedSpec | None,
    sent: Desired | None,
) -> None:
    """Record the differences that remain after a PUT. rendered: the body of the PUT
    before extensions; None if it is not known. sent: the PUT, if this reconcile sent
    it.
    """
    if rendered is None:
        return
    patcher, memory, operator = scope.patcher, scope.memory, scope.operator
    effects = learned(rendered, mode, sent=sent, attempts=memory.repair_attempts)
    apply(effects, patcher, scope.context, memory, operator.count_sync)


def _require_success(
    scope: ReconcileScope,
    mode: SyncMode,
    after: ReadAfter,
    rendered: RenderedSpec | None,
    sent: Desired | None,
) -> None:
    """Raise ConditionError if Azure says that the resource's last operation failed or
    was canceled.

    The reason is Azure's word for the state.
    """
    version = scope.patcher.version
    have = scope.context.raw_get() if "Get" in version.operations else None
    state = failed_state(have or {})
    if not state:
        return
    _learn(scope, mode, rendered, sent)
    # The next PUT is a sync's, which comes once in a period.
    scope.memory.accepted = None
    again = (
        "" if after is ReadAfter.NOTHING else "; it is put again once in a sync period"
    )
    raise ConditionError(
        f"the provisioningState of the resource in Azure is {state}: see its activity "
        f"log{again}",
        reason=state,
        retry=RetryClass.VERY_SLOW,
    )


def check_usable(
    patcher: PatchHelper,
    context: ReconcileContext,
    extensions: Extensions,
    owner_of: Callable[[], Owner | None],
) -> None:
    """Raise ConditionError if an extension says that the resource is not usable.

    owner_of: returns the object's owner.
    """
    group_kind = patcher.version.group_kind
    if not extensions.has(POST_RECONCILE, group_kind):
        return
    owner = owner_of()
    result = extensions.chain(POST_RECONCILE, group_kind)(
        PostReconcile(
            ctx=context,
            obj={**patcher.obj, "status": patcher.status},
            owner=None if owner is None else owner.obj,
        )
    )
    match result:
        case NotReady() as failed:
            raise ConditionError(
                failed.message,
                reason=failed.reason,
                severity=failed.severity,
                retry=failed.retry,
            )
        case Ready(status_patch=patch) if patch:
            patcher.replace_status(apply_merge_patch(patcher.status, patch))


def _export(scope: ReconcileScope) -> None:
    """Export values of the resource.

    This is the last step that may fail, because the export record is written with the
    next write of metadata; without the record the secrets would be fetched again.
    """
    patcher, operator = scope.patcher, scope.operator
    current = {**patcher.obj, "status": patcher.status}
    period = scope.sync_period_seconds
    exporter = Exporter(operator, patcher, scope.context, scope.memory, period)
    exported = exporter.export(current)
    if exported.failure is not None:
        _show_failed_export(scope, exported.failure)
    elif exported.is_fetched:
        patcher.set_problem(EXPORT_FAILED)
    annotate_success(patcher, scope.context, operator.extensions)


def annotate_success(
    patcher: PatchHelper, context: ReconcileContext, extensions: Extensions
) -> None:
    """Set the annotations that extensions give the object at each success."""
    group_kind = patcher.version.group_kind
    if not extensions.has(EVERY_SUCCESS, group_kind):
        return
    current = {**patcher.obj, "status": patcher.status}
    chain = extensions.chain(EVERY_SUCCESS, group_kind)
    patcher.annotate(chain(Success(ctx=context, obj=current)))


def _show_failed_export(scope: ReconcileScope, failure: FetchFailure) -> None:
    """Show in a condition that the targets keep the values of the last export; Ready is
    unchanged.
    """
    match failure:
        case ArmError():
            why = str(scope.errors.read_failed(failure))
        case ArmTransportError():
            why = str(scope.errors.unreachable(failure))
        case _:
            why = str(failure)
    text = (
        "The exported Secrets and ConfigMaps keep the values of the last export, as "
        f"those of Azure could not be fetched: {why}"
    )
    scope.log.warning("Export failed", reason=why)
    scope.event("Warning", EXPORT_FAILED, text)
    scope.patcher.set_problem(EXPORT_FAILED, text)


def absent(arm_id: str, after: ReadAfter) -> ConditionError:
    """Return the condition of a resource that Azure does not show. Pure."""
    if after is ReadAfter.NOTHING:
        return ConditionError(
            f"the resource {arm_id} does not exist in Azure, and the policy skip "
            f"keeps it from being created (or {IF_EXISTS}: observe): set "
            f"{RECONCILE_POLICY} to manage (or {IF_EXISTS} to adopt), or delete "
            "this object; if the resource was moved to another resource group, apply "
            "it anew under that owner",
            reason="AzureResourceNotFound",
        )
    return ConditionError(
        f"Azure accepted the resource {arm_id} but does not show it; it is put again",
        reason="Failed",
    )


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
