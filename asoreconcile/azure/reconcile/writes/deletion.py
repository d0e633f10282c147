"""Deletes the Azure resource, and then releases the Kubernetes object.

The finalizer is removed only once Azure says that the resource is gone, or if the
policy keeps the resource. A failure is always retried, because the spec of a deleted
object cannot be corrected (R4.5). The polls of a deletion are in `operations`.
"""

import re
from http import HTTPStatus

import attrs

from asoreconcile.azure.arm.absence import Absence
from asoreconcile.azure.arm.classification import condition_reason
from asoreconcile.azure.arm.condition_error import ConditionError, RetryClass
from asoreconcile.azure.arm.errors import ArmError, ArmTransportError
from asoreconcile.azure.arm.outcomes import Pending, PollState
from asoreconcile.azure.arm.tokens import Token
from asoreconcile.azure.middleware.context import ReconcileContext
from asoreconcile.azure.middleware.requests import (
    DeleteResult,
    InProgress,
    ResourceDeleted,
)
from asoreconcile.azure.reconcile.model.annotations import (
    DELETE_POLLER,
)
from asoreconcile.azure.reconcile.model.decisions import ReconcileOutcome, Requeue
from asoreconcile.azure.reconcile.model.policy import LET_GO
from asoreconcile.azure.reconcile.model.standing import Standing
from asoreconcile.azure.reconcile.policies import order
from asoreconcile.azure.reconcile.policies.core import never_put
from asoreconcile.azure.reconcile.policies.phase import run
from asoreconcile.azure.reconcile.policies.requests import DeleteIntent, LeftAlone
from asoreconcile.azure.reconcile.scope.reconcile_scope import ReconcileScope
from asoreconcile.azure.reconcile.scope.recorded_operation import (
    clear_token,
    running_operation,
)
from asoreconcile.azure.reconcile.state.memory import ObjectMemory
from asoreconcile.azure.reconcile.writes.endings import NOT_DELETED, release
from asoreconcile.azure.reconcile.writes.sending import send_delete


@attrs.frozen
class PerhapsGone:
    """The part of the memory about answers in doubt. since: time of the first 404 with
    an unknown code to a DELETE, in monotonic seconds; None if the last DELETE was
    answered otherwise. is_after_operation: whether it is the end of a PUT's operation
    in place of such an answer: its resource may not be shown yet.
    """

    since: float | None = None
    is_after_operation: bool = False


def delete(scope: ReconcileScope) -> ReconcileOutcome:
    """Delete the object's own resource, after the phases of `order.BEFORE_DELETE`.

    No DELETE is sent if another object manages the resource, or if Azure has accepted
    no PUT for the id.

    Raises ConditionError for an id of another type, or if Azure refuses the DELETE; as
    `why_handed_over`.
    """
    end = run(order.BEFORE_DELETE, DeleteIntent(scope), _deleted)
    return _leave(scope, end.why) if isinstance(end, LeftAlone) else end


def _deleted(intent: DeleteIntent) -> ReconcileOutcome:
    """Send the DELETE, and continue with Azure's answer."""
    scope, patcher, arm_id = (
        intent.scope,
        intent.scope.patcher,
        intent.scope.patcher.arm_id,
    )
    answer = send_delete(scope)
    if isinstance(answer, ArmError) and _is_id_refused(answer, scope.standing):
        return _leave(
            scope,
            f"{arm_id} is left alone: Azure refuses this id ({answer.code}), so no PUT "
            "can have made the resource",
        )
    now = scope.operator.clock.monotonic()
    if _is_gone(answer):
        accepted = scope.memory.accepted
        running = running_operation(patcher, scope.operations, deleting=False)
        if running is None and accepted is not None and accepted.running is not None:
            running = accepted.running.token
        if running is not None:  # the PUT may still make the resource
            return _repeated_after(scope, running, now=now)
        was_seen = scope.context.read is not None and not scope.context.is_known_absent
        is_lost = scope.standing is Standing.PERHAPS and not was_seen
        # An operation that has ended may not be shown everywhere yet.
        is_lost = is_lost or scope.memory.part(PerhapsGone).is_after_operation
        # Azure may still carry out a PUT whose answer was lost.
        if is_lost and (left := seconds_until_believed(scope.memory, now)) > 0:
            return Requeue(left)
    if isinstance(answer, ArmError) and answer.absence is Absence.PERHAPS:
        return _perhaps_gone(scope, answer, now=now)
    if isinstance(answer, ArmError) and _is_gone_though_refused(scope, answer):
        if (left := seconds_until_believed(scope.memory, now)) <= 0:
            return release(scope)
        refusal = scope.errors.delete_failed(answer)
        refusal.after_seconds = left
        raise refusal
    scope.memory.keep(PerhapsGone())
    match answer:
        case ArmError():
            # A PUT's token may still be stored: it must not be polled as the DELETE's.
            clear_token(patcher, scope.memory)
            raise scope.errors.delete_failed(answer)
        case InProgress():
            return record_delete(scope, answer)
        case ResourceDeleted():
            return release(scope)


def _is_gone_though_refused(scope: ReconcileScope, answer: ArmError) -> bool:
    """Return whether Azure refuses the DELETE of a resource that it does not show, as
    below a lock. One GET after a refusal that repeating does not help.
    """
    is_final = answer.status // 100 == 4 and not answer.is_transient
    return is_final and is_absent(scope.context)


def _is_gone(answer: DeleteResult | ArmError) -> bool:
    if isinstance(answer, ArmError):
        return answer.status in _ABSENT
    return isinstance(answer, ResourceDeleted)


def _repeated_after(scope: ReconcileScope, put: Token, *, now: float) -> Requeue:
    """Return the requeue after which the DELETE is sent again while the PUT's operation
    runs.

    Azure says that the resource is gone, but the operation may still make it. Rule:
    R5.10.
    """
    memory = scope.memory
    outcome = scope.connection.client.poll(put, memory.poll.progress)
    if isinstance(outcome, Pending):
        memory.poll = PollState(outcome.progress, now + outcome.delay_seconds)
        return Requeue(outcome.delay_seconds)
    memory.accepted = None
    # The next answer that nothing is there counts only if it is repeated.
    memory.keep(PerhapsGone(now, is_after_operation=True))
    clear_token(scope.patcher, memory)
    return Requeue()


def _leave(scope: ReconcileScope, why: str) -> ReconcileOutcome:
    """Release the object without a DELETE."""
    scope.log.warning("Nothing deleted in Azure", reason=why)
    scope.event("Warning", NOT_DELETED, why)
    return release(scope)


def _is_id_refused(answer: ArmError, standing: Standing) -> bool:
    """Return whether Azure says that no resource can have this id, and has accepted no
    PUT of the object.
    """
    is_about_it = _ABOUT_THE_ID.search(answer.code) is not None
    return (
        answer.status == HTTPStatus.BAD_REQUEST
        and is_about_it
        and (standing is Standing.PERHAPS)
    )


# Such as `InvalidResourceName`, `AccountNameInvalid` and `InvalidResourceId`.
_ABOUT_THE_ID = re.compile(r"Name|ResourceId|ResourceUri", re.IGNORECASE)


def _perhaps_gone(
    scope: ReconcileScope, answer: ArmError, *, now: float
) -> ReconcileOutcome:
    """Release the object if Azure has answered the DELETE twice, a minute apart, with
    a 404 whose code is not known.

    Raises ConditionError for the first such answer.
    """
    said = f"{answer.status} {answer.code}: {answer.message}"
    quoted = f"Azure answered DELETE with {said}"
    left = seconds_until_believed(scope.memory, now)
    if left <= 0:
        scope.event("Warning", NOT_DELETED, f"{quoted}; twice, so nothing is left")
        return release(scope)
    raise ConditionError(
        f"{quoted}; that does not say for certain that the resource is gone, so DELETE "
        f"is sent again in a minute. {LET_GO}",
        reason=condition_reason(answer.code),
        after_seconds=left,
    )


def seconds_until_believed(memory: ObjectMemory, now: float) -> float:
    """Return the seconds for which Azure must repeat that the resource does not exist,
    before the object is released.
    """
    since = memory.part(PerhapsGone).since
    if since is None:
        since = now
        memory.keep(PerhapsGone(now))
    return since + _ASKED_AGAIN_SECONDS - now


_ASKED_AGAIN_SECONDS = 60.0
_ABSENT = frozenset({HTTPStatus.NOT_FOUND, HTTPStatus.GONE})


def record_delete(scope: ReconcileScope, answer: InProgress) -> Requeue:
    """Record the operation of a DELETE that takes time (R5.5)."""
    if answer.token is not None:
        due = scope.operator.clock.monotonic() + answer.after_seconds
        scope.memory.poll = PollState(answer.progress, due)
        scope.operations.record(answer.token, DELETE_POLLER, {})
    scope.event("Normal", "BeginDelete", "Starting delete of resource")
    return Requeue(answer.after_seconds)


def await_parent(scope: ReconcileScope) -> ReconcileOutcome:
    """Release the object once its resource is gone with its parent, if Azure cannot
    delete it alone (R5.9).

    An object of which Azure has accepted no PUT is released at once. Raises
    ConditionError while the resource exists.
    """
    if (end := never_put(DeleteIntent(scope))) is not None:
        return _leave(scope, end.why)
    if is_absent(scope.context):
        return release(scope)
    message = (
        f"Azure has no way to delete a {scope.patcher.version.gvk.kind} alone: it goes "
        f"with its owner. {LET_GO}"
    )
    scope.event("Normal", "NotPossibleInAzure", message)
    raise ConditionError(
        message, reason="DeletionNotSupportedInAzure", retry=RetryClass.VERY_SLOW
    )


def is_absent(ctx: ReconcileContext) -> bool:
    """Return whether Azure says that the resource does not exist (V3); False if in
    doubt.
    """
    try:
        if "Get" not in ctx.version.operations:
            return not ctx.arm.head(ctx.arm_id, ctx.version.api_version)
        return ctx.raw_get() is None and ctx.absence is Absence.CERTAIN
    # In doubt it is there. Otherwise the resource could be left behind for ever.
    except (ArmError, ArmTransportError) as error:
        ctx.log.info("Cannot tell whether the resource exists", reason=str(error))
        return False
