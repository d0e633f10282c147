"""Reacts to the answer to a PUT: records its operation, reads the resource, or fails.

`sending` has remembered the accepted PUT (`AcceptedPut`); here it is recorded.
"""

from http import HTTPStatus

import attrs

from asoreconcile.azure.arm.errors import ArmError
from asoreconcile.azure.arm.outcomes import (
    ArmOutcome,
    Failed,
    OperationDone,
    Pending,
    PollState,
)
from asoreconcile.azure.reconcile.exports.export import forget_exports
from asoreconcile.azure.reconcile.model.annotations import (
    LATEST_RECONCILED_GENERATION,
    PUT_POLLER,
    build_label,
)
from asoreconcile.azure.reconcile.model.decisions import (
    ReadAfter,
    ReconcileOutcome,
    Requeue,
)
from asoreconcile.azure.reconcile.model.drift_baseline import OBSERVED, AcceptedPut
from asoreconcile.azure.reconcile.model.external_deletion import (
    RECREATED,
    is_recreated,
    what_to_do,
)
from asoreconcile.azure.reconcile.policies.requests import DecidedPut
from asoreconcile.azure.reconcile.scope.reconcile_scope import ReconcileScope
from asoreconcile.azure.reconcile.sync.desired import Desired
from asoreconcile.azure.reconcile.writes.endings import settle
from asoreconcile.azure.reconcile.writes.recorded_operation import clear_token
from asoreconcile.azure.reconcile.writes.recreation import after_refusal
from asoreconcile.base.objects import status

# In a row: only a busy neighbour can be the reason for so many.
_MAX_PRECONDITION_FAILURES = 5


def refused(
    scope: ReconcileScope, answer: ArmError | Failed, made: Desired
) -> ReconcileOutcome:
    """React to the refusal of a PUT, at once or at the end of its operation.

    made: the body of the PUT. Raises ConditionError, and as `after_refusal`.
    """
    patcher, memory = scope.patcher, scope.memory
    error = answer.error if isinstance(answer, Failed) else answer
    if answer is error and is_changed_meanwhile(error, scope.context.required_etag):
        memory.precondition_failures += 1
        times = memory.precondition_failures
        # Another client wrote in between: read and PUT again at once. After too many
        # such failures in a row: show a condition and back off.
        if times <= _MAX_PRECONDITION_FAILURES:
            text = "Resource changed since it was read; starting again"
            scope.log.info(text, reason=f"{times} in a row")
            return Requeue()
    outcome = after_refusal(scope, error, made.rendered, made)
    clear_token(patcher, memory)
    patcher.annotate({LATEST_RECONCILED_GENERATION: str(patcher.generation)})
    if outcome is None:
        raise scope.errors.put_failed(error)
    return outcome


def is_changed_meanwhile(error: ArmError, required_etag: str | None) -> bool:
    """Return whether a PUT was refused because the resource has another ETag than at
    the read before. Pure.

    required_etag: ETag of that read, or None.
    """
    return error.status == HTTPStatus.PRECONDITION_FAILED and bool(required_etag)


def accepted(request: DecidedPut, answer: ArmOutcome) -> ReconcileOutcome:
    """Record an accepted PUT, and continue after it."""
    scope, put = request.scope, request.put
    patcher, memory, context = scope.patcher, scope.memory, scope.context
    memory.precondition_failures = 0
    sent = memory.accepted or AcceptedPut(put.record, patcher.generation)
    memory.accepted = found = attrs.evolve(
        sent,
        running=answer if isinstance(answer, Pending) else None,
        recreated=is_recreated(
            status(patcher.obj),
            arm_type=patcher.version.arm_type,
            is_absent=context.is_known_absent,
            created=isinstance(answer, OperationDone | Pending) and answer.created,
        ),
    )
    text = f'Successfully sent resource to Azure with ID "{put.arm_id}"'
    scope.event("Normal", "BeginCreateOrUpdate", text)
    if found.recreated or context.is_known_absent:
        forget_exports(patcher, memory)
    if found.recreated:
        # The resources below are gone, too: their objects must find out now.
        scope.event("Warning", RECREATED, what_to_do(put.arm_id))
        scope.wake_children()
    return followed(scope, found, request.desired)


def followed(
    scope: ReconcileScope, put: AcceptedPut, sent: Desired | None = None
) -> ReconcileOutcome:
    """Continue after an accepted PUT: record its operation, or read the resource.

    sent: the PUT, if this reconcile sent it. Raises as `settle`.
    """
    if put.running is not None:
        record_operation(scope, put, put.running)
        return Requeue(put.running.delay_seconds)
    patcher, label = scope.patcher, build_label(scope.operator.build)
    patcher.annotate(_notes(put), labelled=label)
    return settle(scope, ReadAfter.PUT, sent=sent)


def record_operation(scope: ReconcileScope, put: AcceptedPut, running: Pending) -> None:
    """Record the operation of an accepted PUT, for the next process too.

    A crash between Azure's answer and this write costs one identical PUT, no more.
    """
    operator = scope.operator
    due = operator.clock.monotonic() + running.delay_seconds
    scope.memory.poll = PollState(running.progress, due)
    label = build_label(operator.build)
    scope.operations.record(running.token, PUT_POLLER, _notes(put), labelled=label)


def _notes(put: AcceptedPut) -> dict[str, str | None]:
    return {
        LATEST_RECONCILED_GENERATION: str(put.generation),
        OBSERVED: put.record.dumps(),
    }
