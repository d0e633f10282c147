"""Reacts to the answer to a PUT: records its operation, reads the resource, or fails.

`sending` has remembered the accepted PUT (`AcceptedPut`); here it is recorded.
"""

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
from asoreconcile.azure.reconcile.policies import order
from asoreconcile.azure.reconcile.policies.core import ChangedMeanwhile
from asoreconcile.azure.reconcile.policies.phase import run
from asoreconcile.azure.reconcile.policies.requests import DecidedPut, RefusedRequest
from asoreconcile.azure.reconcile.scope.reconcile_scope import ReconcileScope
from asoreconcile.azure.reconcile.scope.recorded_operation import note_refusal
from asoreconcile.azure.reconcile.sync.desired import Desired
from asoreconcile.azure.reconcile.writes.endings import settle
from asoreconcile.base.objects import status


def refused(request: DecidedPut, answer: ArmError | Failed) -> ReconcileOutcome:
    """React to the refusal of a PUT: the phases of `order.REFUSED`, or a condition.
    Raises ConditionError, and as `recreate_if_asked`.
    """
    is_immediate = isinstance(answer, ArmError)
    error = answer if isinstance(answer, ArmError) else answer.error
    scope, desired = request.scope, request.desired
    refusal = RefusedRequest(
        scope, error, desired.rendered, desired, is_immediate=is_immediate
    )
    return run(order.REFUSED, refusal, _shown)


def _shown(refusal: RefusedRequest) -> ReconcileOutcome:
    note_refusal(refusal.scope.patcher, refusal.scope.memory)
    raise refusal.scope.errors.put_failed(refusal.error)


def accepted(request: DecidedPut, answer: ArmOutcome) -> ReconcileOutcome:
    """Record an accepted PUT, and continue after it."""
    scope, put = request.scope, request.put
    patcher, memory, context = scope.patcher, scope.memory, scope.context
    memory.keep(ChangedMeanwhile())
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
