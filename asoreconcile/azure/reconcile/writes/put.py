"""Makes the resource match the spec: phases, decision, PUT.

The rules are phases; their order is `policies.order`.
"""

import attrs

from asoreconcile.azure.arm.errors import ArmError
from asoreconcile.azure.arm.outcomes import Failed
from asoreconcile.azure.middleware.context import SuboperationPending
from asoreconcile.azure.middleware.requests import Block, Postpone
from asoreconcile.azure.reconcile.identity.recorded_claim import accept_claim
from asoreconcile.azure.reconcile.model.annotations import RECREATION_PLAN
from asoreconcile.azure.reconcile.model.conditions import reconciling
from asoreconcile.azure.reconcile.model.decisions import (
    Fail,
    Put,
    Read,
    ReadAfter,
    ReconcileOutcome,
)
from asoreconcile.azure.reconcile.model.drift_baseline import (
    AcceptedPut,
    RepairAttempts,
)
from asoreconcile.azure.reconcile.policies import order
from asoreconcile.azure.reconcile.policies.checks import pause_of, postponed
from asoreconcile.azure.reconcile.policies.core import Next
from asoreconcile.azure.reconcile.policies.drift import put_unread
from asoreconcile.azure.reconcile.policies.phase import run
from asoreconcile.azure.reconcile.policies.recreation import comes_back
from asoreconcile.azure.reconcile.policies.requests import DecidedPut, Intent
from asoreconcile.azure.reconcile.scope.reconcile_scope import ReconcileScope
from asoreconcile.azure.reconcile.sync.effects import apply
from asoreconcile.azure.reconcile.sync.look import Look
from asoreconcile.azure.reconcile.writes.endings import settle
from asoreconcile.azure.reconcile.writes.operations import poll
from asoreconcile.azure.reconcile.writes.put_answers import (
    accepted,
    followed,
    record_operation,
    refused,
)
from asoreconcile.azure.reconcile.writes.sending import send_put
from asoreconcile.base.errors import RetryError


def put(scope: ReconcileScope) -> ReconcileOutcome:
    """PUT the resource, unless Azure has accepted the same PUT (D15) or has the same
    values (D11). At most one PUT or poll.

    Raises ConditionError if the PUT has to wait, and as `settle`; GoneError,
    StaleError, ConflictError; RetryError if a parent or a child is written meanwhile.
    """
    # Values that are read from here on must still hold when the PUT is sent.
    with scope.operator.parent_writes.reading(scope.patcher.arm_id) as reading:
        try:
            end = run(order.BEFORE_BODY, Intent.of(scope, reading), _decided)
            return _polled(scope) if isinstance(end, Next) else end
        except (SuboperationPending, RetryError):
            # Nothing is wrong, and the spec is not in Azure yet.
            scope.patcher.set_ready(reconciling(scope.patcher.generation))
            raise


def _polled(scope: ReconcileScope) -> ReconcileOutcome:
    """Record the running operation of an accepted PUT again, and poll it at once."""
    before = scope.memory.accepted
    if before is not None and before.running is not None:
        running = attrs.evolve(before.running, delay_seconds=0.0)
        record_operation(scope, before, running)
    scope.patcher.set_ready(reconciling(scope.patcher.generation))
    return poll(scope)


def _decided(intent: Intent) -> ReconcileOutcome:
    """Decide whether to PUT, and do what was decided."""
    seen = run(order.DECIDE, intent, put_unread)
    if isinstance(seen, AcceptedPut):
        return followed(intent.scope, seen)
    put = seen.decided.then
    if not isinstance(put, Put):
        return _unsent(intent, seen, put)
    request = DecidedPut(intent, seen.made, put, seen.decided.effects)
    end = run(order.BEFORE_PUT, request, _sent)
    if isinstance(end, Read):
        return settle(intent.scope, ReadAfter.PUT, body=end.body)
    return end


def _unsent(intent: Intent, seen: Look, then: Read | Fail) -> ReconcileOutcome:
    """Continue after a read that made a PUT superfluous. Raises the decision's
    error.
    """
    scope, patcher = intent.scope, intent.scope.patcher
    patcher.set_ready(reconciling(patcher.generation), reason_aware=True)
    if isinstance(then, Read):
        # The resource is in order: it was taken over without a PUT.
        patcher.annotate(accept_claim(scope, intent.identity.arm_id))
    memory, count = scope.memory, scope.operator.count_sync
    apply(seen.decided.effects, patcher, scope.context, memory, count)
    if isinstance(then, Fail):
        raise then.error
    return settle(scope, ReadAfter.PUT, body=then.body, listed_at=then.listed_at)


def _sent(request: DecidedPut) -> ReconcileOutcome:
    """Send a PUT that is permitted, and continue with Azure's answer."""
    scope, patcher, memory = request.scope, request.scope.patcher, request.scope.memory
    attempts = memory.part(RepairAttempts)
    answer = send_put(request)
    if isinstance(answer, Block | Postpone):
        memory.keep(attempts)
        return postponed(patcher, pause_of(answer))
    if not isinstance(answer, ArmError):
        patcher.annotate(accept_claim(scope, request.put.arm_id))
        if RECREATION_PLAN in patcher.annotations:
            patcher.drop_remark(comes_back(scope))
    if isinstance(answer, ArmError | Failed):
        # The PUT has repaired nothing that could be undone.
        memory.keep(attempts)
        return refused(request, answer)
    return accepted(request, answer)
