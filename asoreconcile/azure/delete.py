"""Deleting the Azure resource, and letting the Kubernetes object go after it.

The finalizer goes only once Azure says that the resource is gone, or the policy says
that it is none of our business. A failure is never final: nobody can edit a deleted
object back into order (reconcile-semantics section 5).
"""

from asoreconcile.arm import ids
from asoreconcile.arm.condition_error import ConditionError, RetryClass
from asoreconcile.arm.errors import ArmError, ArmTransportError
from asoreconcile.arm.outcomes import Done, Failed, Pending, ReadResource, Restart
from asoreconcile.arm.tokens import TokenError
from asoreconcile.azure.annotations import (
    DELETE_POLLER,
    FINALIZER,
    RECONCILE_POLICY,
    RESOURCE_ID,
)
from asoreconcile.azure.arm_errors import delete_failed, operation_lost
from asoreconcile.azure.conditions import deleting
from asoreconcile.azure.duplicates import holder
from asoreconcile.azure.identity import is_own
from asoreconcile.azure.object_reference import ObjectReference
from asoreconcile.azure.outcome import Outcome, Requeue, Stop
from asoreconcile.azure.poller import clear_poller, load_poller, poll, store_poller
from asoreconcile.azure.scope import ReconcileScope
from asoreconcile.catalogue.kinds import KindVersion
from asoreconcile.middleware import default_handlers
from asoreconcile.middleware.context import ReconcileContext
from asoreconcile.middleware.extension_points import DELETE
from asoreconcile.middleware.requests import Delete, Deleted, DeleteResult
from asoreconcile.objects import finalizers, status


def begin_delete(work: ReconcileScope) -> Outcome:
    """Ask Azure to delete; recorded at once if it takes time (R5.5)."""
    work.session.set_ready(deleting(work.session.generation))
    work.require_subscription(work.arm_id)
    _require_of_kind(work)
    if not is_own(work):
        return _leave(work)
    older = holder(work, work.arm_id)
    if older is not None:
        return _leave_to(work, older)
    chain = work.operator.extensions.chain(DELETE, work.kind.group_kind)
    work.log.info("Deleting resource", armId=work.arm_id)
    try:
        with work.operator.turns.writing(work.arm_id):
            result = chain(Delete(ctx=work.context, obj=work.obj))
    except ArmError as error:
        clear_poller(work)
        raise delete_failed(work, error) from error
    if isinstance(result, Deleted):
        return remove_finalizer(work)
    if result.token is not None:
        running = Pending(result.token, result.after_seconds, result.progress)
        store_poller(work, DELETE_POLLER, running)
    work.event("Normal", "BeginDelete", f'Azure is deleting "{work.arm_id}"')
    return Requeue(result.after_seconds)


def delete_resource(request: Delete) -> DeleteResult:
    """The end of the DELETE chain: one GET, one DELETE (R5.3, R5.4).

    Raises ArmError, ArmTransportError.
    """
    if _is_absent(request.ctx):
        return Deleted()
    return default_handlers.delete_resource(request)


def monitor_delete(work: ReconcileScope) -> Outcome:
    """One poll of a running DELETE."""
    work.session.set_ready(deleting(work.session.generation))
    try:
        token = load_poller(work)
    except TokenError as error:
        work.log.warning("Dropping unreadable operation token", reason=str(error))
        clear_poller(work)
        return Requeue()
    polls_before = work.memory.poll.progress.polls
    outcome = poll(work, token)
    is_early = isinstance(outcome, Pending) and outcome.progress.polls == polls_before
    if not polls_before and not is_early:
        # Once a deletion: its polls are no news.
        text = f'Asking Azure whether "{work.arm_id}" went'
        work.event("Normal", "MonitorDelete", text)
    match outcome:
        case Done():
            return remove_finalizer(work)
        case Pending():
            store_poller(work, DELETE_POLLER, outcome)
            return Requeue(outcome.delay_seconds)
        case Failed(error=fault):
            clear_poller(work)
            work.memory.ended_badly(work.session.generation)
            raise delete_failed(work, fault)
        case ReadResource():
            clear_poller(work)
            return Requeue(outcome.delay_seconds)
        case Restart():
            # No monitor, and the resource is still there: delete it again (L16, R5.6).
            clear_poller(work)
            work.memory.ended_badly(work.session.generation)
            raise operation_lost(work, outcome)


def await_parent_deletion(work: ReconcileScope) -> Outcome:
    """A kind that Azure cannot delete alone: wait for its parent to go (R5.9)."""
    if _is_absent(work.context):
        return remove_finalizer(work)
    message = (
        f"Azure has no way to delete a {work.version.gvk.kind} alone: it goes with its "
        f"owner. To remove only this object, annotate it with {RECONCILE_POLICY}: "
        "detach-on-delete"
    )
    work.event("Normal", "NotPossibleInAzure", message)
    raise ConditionError(
        message, reason="DeletionNotSupportedInAzure", retry=RetryClass.VERY_SLOW
    )


def remove_finalizer(work: ReconcileScope) -> Outcome:
    """Remove our finalizer, if it is there: Kubernetes may end the object.

    Raises ConflictError when the object changed meanwhile; the reconcile starts again.
    """
    work.operator.forget(work.kind, work.key)
    present = finalizers(work.obj)
    if FINALIZER in present:
        _name_what_stays(work)
        work.log.info("Removing finalizer")
        work.session.write_shared(
            {"finalizers": [f for f in present if f != FINALIZER]}
        )
    return Stop()


def _require_of_kind(work: ReconcileScope) -> None:
    """The id comes from an annotation: a slip in it must not delete something else, nor
    pass for a resource that is gone.
    """
    try:
        found = ids.parse_stated(work.arm_id).type
    except ids.ArmIdError:
        found = ""
    if found.lower() == work.version.arm_type.lower():
        return
    raise ConditionError(
        f"nothing is deleted: annotation {RESOURCE_ID} is {work.arm_id!r}, which is no "
        f"{work.version.arm_type}: correct it, or set {RECONCILE_POLICY} to "
        "detach-on-delete to let only this object go",
        reason="Failed",
    )


def _leave(work: ReconcileScope) -> Outcome:
    """Let go of an object whose annotation names a resource that is not its own.

    Azure is asked nothing: that resource is somebody else's.
    """
    seen = status(work.obj).get("id")
    other = f"; {seen}, which its status names, is left too" if seen else ""
    message = (
        f"{work.arm_id} is left in Azure{other}: annotation {RESOURCE_ID} names it, "
        "but this object's owner and Azure name do not make that id, and no status of "
        "the operator's says it. If it was this object's, delete it by hand"
    )
    work.log.warning("Nothing deleted in Azure", armId=work.arm_id, seen=seen)
    work.event("Warning", "NotDeletedInAzure", message)
    return remove_finalizer(work)


def _leave_to(work: ReconcileScope, older: ObjectReference) -> Outcome:
    """Let go of an object whose resource an older one manages: it stays."""
    message = (
        f"{work.arm_id} is left in Azure: {older.group_kind.kind} {older.key}, which "
        "is older, manages it"
    )
    work.log.warning("Nothing deleted in Azure", armId=work.arm_id)
    work.event("Warning", "NotDeletedInAzure", message)
    return remove_finalizer(work)


def _name_what_stays(work: ReconcileScope) -> None:
    """Without the annotation nothing may be deleted: say what is left (D10, R5.2)."""
    seen = status(work.obj).get("id")
    if not work.arm_id and seen:
        work.event(
            "Warning",
            "NotDeletedInAzure",
            f"annotation {RESOURCE_ID} is missing: {seen} is left in Azure",
        )


def _is_absent(ctx: ReconcileContext) -> bool:
    """Whether Azure says the resource is not there; doubt is no."""
    try:
        if _head_only(ctx.version):
            return not ctx.arm.head(ctx.arm_id, ctx.version.api_version)
        return ctx.raw_get() is None
    except (ArmError, ArmTransportError) as error:
        ctx.log.info("Cannot tell whether the resource exists", reason=str(error))
        return False


def _head_only(version: KindVersion) -> bool:
    return "Get" not in version.operations
