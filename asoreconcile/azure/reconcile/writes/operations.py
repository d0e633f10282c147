"""Polls the recorded operation of an object; `operation_polls` decides."""

from asoreconcile.azure.arm.errors import ArmError, ArmTransportError
from asoreconcile.azure.arm.outcomes import (
    ArmOutcome,
    Failed,
    Pending,
    ReadResource,
    Restart,
)
from asoreconcile.azure.reconcile.model.annotations import POLLER_TOKEN
from asoreconcile.azure.reconcile.model.decisions import Decision, ReconcileOutcome
from asoreconcile.azure.reconcile.scope.arm_errors import monitor_refused
from asoreconcile.azure.reconcile.scope.effects import apply
from asoreconcile.azure.reconcile.scope.reconcile_scope import ReconcileScope
from asoreconcile.azure.reconcile.sync.put_record import has_other_inputs
from asoreconcile.azure.reconcile.writes.endings import carry_out
from asoreconcile.azure.reconcile.writes.operation_polls import (
    PolledOperation,
    after_judging,
    after_poll,
    before_poll,
)
from asoreconcile.azure.reconcile.writes.recreation import after_refusal
from asoreconcile.azure.reconcile.writes.rendering import rendered_again
from asoreconcile.base.errors import RetryError
from asoreconcile.base.objects import is_deleting


def poll(scope: ReconcileScope) -> ReconcileOutcome:
    """Poll once, unless it is too early, and act on the answer.

    Raises as `carry_out`.
    """
    patcher, memory = scope.patcher, scope.memory
    facts = PolledOperation(
        arm_id=patcher.arm_id,
        api_version=patcher.version.api_version,
        stored=patcher.annotations,
        is_marked=scope.operations.has_mark(POLLER_TOKEN),
        deleting=is_deleting(patcher.obj),
        generation=patcher.generation,
        poll=memory.poll,
        accepted=memory.accepted,
        now=scope.operator.clock.monotonic(),
    )
    operation = before_poll(facts)
    if isinstance(operation, Decision):
        return carry_out(scope, operation)
    outcome = scope.connection.client.poll(operation, facts.poll.progress)
    # The end of an operation is a write by Azure: a list that was started before may
    # not show it (Q8).
    if not isinstance(outcome, Pending):
        scope.operator.note_write(patcher.arm_id)
    decided = after_poll(facts, outcome)
    if isinstance(decided.then, ReadResource):
        apply(scope, decided.effects)
        undecided = decided.then
        outcome = _inferred(scope, facts, undecided)
        if undecided.error is not None and not isinstance(outcome, Restart):
            text = str(monitor_refused(scope, undecided.error))
            scope.event("Warning", "OperationUnreadable", text)
        decided = after_judging(facts, undecided, outcome)
    is_outdated = False
    if isinstance(outcome, Failed | Restart) and not facts.deleting:
        # A failed PUT may have been made of inputs that have changed since.
        rendered = rendered_again(scope)
        is_outdated = has_other_inputs(patcher, rendered)
        if isinstance(outcome, Failed) and rendered is not None and not is_outdated:
            followed = after_refusal(scope, outcome.error, rendered)
            if followed is not None:
                apply(scope, decided.effects)
                return followed
    return carry_out(scope, decided, is_outdated=is_outdated)


def _inferred(
    scope: ReconcileScope, facts: PolledOperation, undecided: ReadResource
) -> ArmOutcome:
    """Infer the state of an operation from its resource, without its monitor (L16)."""
    refusal = undecided.error
    refused = {"error": str(refusal)} if refusal else {}
    scope.log.info(
        "Reading the resource instead of its monitor",
        why=undecided.reason,
        **refused,
    )
    try:
        return scope.connection.client.judge(
            facts.arm_id,
            facts.api_version,
            deleting=undecided.deleting,
            progress=facts.poll.progress,
        )
    except (ArmError, ArmTransportError, RetryError) as unread:
        if refusal is None:
            raise
        # The monitor's message is more useful.
        raise monitor_refused(scope, refusal, unread) from refusal
