"""What follows once Azure has what we want: read, check, export (1h)."""

from asoreconcile.arm.condition_error import ConditionError
from asoreconcile.arm.errors import ArmError, is_resource, stated_resource
from asoreconcile.azure.annotations import (
    LATEST_RECONCILED_GENERATION,
    RECONCILE_POLICY,
    RESOURCE_ID,
)
from asoreconcile.azure.drift import learn
from asoreconcile.azure.export import export
from asoreconcile.azure.external_deletion import RECREATED, is_another, what_to_do
from asoreconcile.azure.identity import is_own
from asoreconcile.azure.outcome import Outcome, Requeue, Succeeded
from asoreconcile.azure.scope import ReconcileScope
from asoreconcile.catalogue.status import status_of
from asoreconcile.kube.patch import apply_merge_patch
from asoreconcile.middleware.extension_points import EVERY_SUCCESS, POST_RECONCILE
from asoreconcile.middleware.requests import NotReady, PostReconcile, Ready, Success
from asoreconcile.objects import JsonObject, generation, status


def finish(work: ReconcileScope, body: JsonObject | None = None) -> Outcome:
    """Settle an object whose PUT was accepted and has ended.

    body: the resource, if it has just been read; else it is read here.
    Succeeded, or Requeue at once when the spec was edited since the PUT (R1.13, D5).
    Raises ConditionError, ArmError, ArmTransportError, Pending, GoneError.
    """
    before = status(work.obj)
    _show(work, body)
    _say_if_made_again(work, before)
    _post_check(work)
    learn(work)
    _export(work)
    latest = work.session.annotation(LATEST_RECONCILED_GENERATION)
    if latest != str(generation(work.obj)):
        return Requeue()
    return Succeeded()


def _show(work: ReconcileScope, body: JsonObject | None = None) -> None:
    """Read the resource into the status."""
    work.require_subscription(work.arm_id)
    if not is_own(work):
        # The status is believed when the owner is gone: nothing else may get there.
        raise ConditionError(
            f"annotation {RESOURCE_ID} is {work.arm_id}, which is not what spec.owner "
            "and the Azure name of this object make: remove it, and it is written anew",
            reason="Failed",
            severity="Error",
        )
    work.session.replace_status(_observed(work, body))


def _say_if_made_again(work: ReconcileScope, before: JsonObject) -> None:
    """Record the Warning once where the read shows another resource at this id."""
    accepted = work.memory.accepted
    if accepted is not None and accepted.recreated:
        return
    if is_another(before, work.session.status):
        work.event("Warning", RECREATED, what_to_do(work.arm_id))


def _export(work: ReconcileScope) -> None:
    """Export from the resource. The last that may fail: what was exported is noted
    with the next write, and would be fetched again without that.
    """
    current = {**work.obj, "status": work.session.status}
    export(work, current)
    success = work.operator.extensions.chain(EVERY_SUCCESS, work.kind.group_kind)
    work.session.annotate(success(Success(ctx=work.context, obj=current)))


def observe_skipped(work: ReconcileScope) -> Outcome:
    """The reconcile of an object whose policy is `skip` (1f, R1.8)."""
    try:
        _show(work)
    except _AbsentError as error:
        raise ConditionError(
            f"the resource {work.arm_id} does not exist in Azure, and the policy skip "
            f"keeps it from being created: set {RECONCILE_POLICY} to manage, or delete "
            "this object; if the resource was moved to another resource group, apply "
            "it anew under that owner",
            reason="AzureResourceNotFound",
        ) from error
    _post_check(work)
    _export(work)
    return Succeeded()


class _AbsentError(ConditionError):
    """The resource is not in Azure."""


def _observed(work: ReconcileScope, body: JsonObject | None) -> JsonObject:
    if "Get" not in work.version.operations:
        # Azure offers HEAD alone for the kind: there is no status to show (V4).
        if work.connection.client.head(work.arm_id, work.version.api_version):
            return {}
        raise _absent(work)
    if body is None or not is_resource(body):
        body = _read(work)
    work.context.observed(body)
    return status_of(work.version, body)


def _read(work: ReconcileScope) -> JsonObject:
    try:
        body = work.connection.client.get(work.arm_id, work.version.api_version)
    except ArmError as error:
        if error.is_not_found:
            raise _absent(work) from error
        raise
    return stated_resource(body, url=work.arm_id)


def _absent(work: ReconcileScope) -> _AbsentError:
    # Whatever was accepted is not there: the next reconcile must PUT.
    work.memory.accepted = None
    return _AbsentError(
        f"Azure accepted the resource {work.arm_id} but does not show it; it is put "
        "again",
        reason="Failed",
    )


def _post_check(work: ReconcileScope) -> None:
    extensions, gk = work.operator.extensions, work.kind.group_kind
    if not extensions.has(POST_RECONCILE, gk):
        return
    current = {**work.obj, "status": work.session.status}
    owner = work.owner()
    request = PostReconcile(
        ctx=work.context, obj=current, owner=None if owner is None else owner.obj
    )
    match extensions.chain(POST_RECONCILE, gk)(request):
        case NotReady(message=message):
            raise ConditionError(message, reason="PostReconciliationFailure")
        case Ready(status_patch=status_patch):
            if status_patch:
                work.session.replace_status(
                    apply_merge_patch(work.session.status, status_patch)
                )
