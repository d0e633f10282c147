"""Brings Azure in line with the spec: checks, body, sync decision, PUT."""

from collections.abc import Sequence

import attrs

from asoreconcile.azure.arm.errors import ArmError
from asoreconcile.azure.arm.outcomes import Failed
from asoreconcile.azure.reconcile.exports.export import checked_expressions
from asoreconcile.azure.reconcile.identity.claim import (
    move_claim,
    require_valid,
    restore_owner,
)
from asoreconcile.azure.reconcile.identity.duplicates import require_sole
from asoreconcile.azure.reconcile.identity.identity import identify
from asoreconcile.azure.reconcile.identity.recorded_claim import accept_claim
from asoreconcile.azure.reconcile.model.conditions import reconciling, recreating
from asoreconcile.azure.reconcile.model.decisions import (
    CountSync,
    Decision,
    Effect,
    Put,
    Read,
    ReconcileOutcome,
    SetDrifted,
    Succeeded,
)
from asoreconcile.azure.reconcile.model.drift_baseline import (
    OBSERVED,
    DriftBaseline,
    loads,
)
from asoreconcile.azure.reconcile.model.object_reference import ObjectReference
from asoreconcile.azure.reconcile.model.put_budget import (
    PUT_BUDGET_SPENT,
    budget_spent,
)
from asoreconcile.azure.reconcile.model.sync_mode import SyncMode
from asoreconcile.azure.reconcile.scope.effects import apply
from asoreconcile.azure.reconcile.scope.reconcile_scope import ReconcileScope
from asoreconcile.azure.reconcile.state.parent_writes import ParentRead
from asoreconcile.azure.reconcile.sync.desired import (
    Desired,
    RenderedSpec,
    desired,
    render,
)
from asoreconcile.azure.reconcile.sync.look import (
    in_order_by_list,
    is_recorded,
    look,
    put_of,
    reads_first,
    ready_of_last_put,
    resumable,
    resumed_period,
)
from asoreconcile.azure.reconcile.writes.adoption import meet_existing
from asoreconcile.azure.reconcile.writes.confirmed_absence import confirm_absence
from asoreconcile.azure.reconcile.writes.endings import carry_out
from asoreconcile.azure.reconcile.writes.merged_put import merged_put
from asoreconcile.azure.reconcile.writes.operations import poll
from asoreconcile.azure.reconcile.writes.prechecks import run_prechecks
from asoreconcile.azure.reconcile.writes.put_answers import (
    PutAnswer,
    after_accepted,
    after_put,
    operation_record,
)
from asoreconcile.azure.reconcile.writes.recreation import begin_recreation
from asoreconcile.azure.reconcile.writes.sending import send_put
from asoreconcile.base.objects import JsonObject, status


def put(scope: ReconcileScope) -> ReconcileOutcome:
    """PUT the resource, unless Azure has accepted the same PUT (D15) or has the same
    values (D11). At most one PUT or poll.

    Raises ConditionError if the PUT has to wait, and as `carry_out`; GoneError,
    StaleError, ConflictError; RetryError when a write of a parent or a child comes in
    between.
    """
    # Values that are read from here on must still hold when the PUT is sent.
    with scope.operator.parent_writes.reading(scope.patcher.arm_id) as reading:
        return _put(scope, reading)


def _put(scope: ReconcileScope, reading: ParentRead) -> ReconcileOutcome:
    patcher, memory, operator = scope.patcher, scope.memory, scope.operator
    accepted, now = memory.accepted, operator.clock.monotonic()
    if accepted is not None and accepted.running is not None:
        # The operation of an accepted PUT that has no record any more. It runs whatever
        # the spec says, so it is ended first (L27), and polled at once: another process
        # may have seen its end and cleared the record.
        running = attrs.evolve(accepted.running, delay_seconds=0.0)
        record = operation_record(accepted, running, now=now, build=operator.build)
        apply(scope, record)
        return poll(scope)
    require_valid(patcher.version, patcher.obj)
    if not status(patcher.obj).get("id"):
        # Nothing is created in Azure that its author still has to mend.
        checked_expressions(operator, patcher.version, patcher.obj)
    owner = scope.owner()
    written = move_claim(scope, owner) or restore_owner(scope, owner)
    if written is not None:
        return written
    closed, mode = scope.closed, scope.sync_mode
    ready = ready_of_last_put(patcher)
    last_put = loads(patcher.annotations.get(OBSERVED) or "")
    if closed and reads_first(patcher, SyncMode.REPORT, ready, last_put):
        mode = SyncMode.REPORT  # the PUT follows when a window opens (OW-7)
    is_sync = accepted is None and reads_first(patcher, mode, ready, last_put)
    # An object that has only observed has sent no PUT, whatever its Ready says.
    is_sync = is_sync and not scope.is_undecided
    rendered: RenderedSpec | None = None
    # Nothing more is read for an object that the previous process left in order: at a
    # start there are thousands.
    if accepted is None and (observed := resumable(scope, mode, ready)) is not None:
        rendered = render(scope, identify(scope, owner))
        is_same = is_recorded(patcher, rendered, observed)
        if is_same and observed.notes == rendered.notes:
            scope.remember_credential()
            return resumed_period(scope, mode)
    # The checks run only before a write: here if a PUT is sent whatever is read, else
    # once a PUT was decided. An extension may make room for the resource in between.
    is_checked = accepted is None and not is_sync
    if is_checked and (postponed := run_prechecks(scope, owner)) is not None:
        patcher.restore_ready()
        return postponed
    identity = identify(scope, owner) if rendered is None else rendered.identity
    scope.connection.require_subscription_of(identity.arm_id)
    # Before the body is made: an object that has to wait asks Azure nothing for it.
    arm_id, claim = identity.arm_id, scope.claim
    require_sole(operator, patcher.version, patcher.obj, arm_id, claim)
    rendered = rendered or render(scope, identity)
    decided, made = _decide(scope, mode, rendered, last_put, is_sync=is_sync)
    if made is not None and isinstance(decided.then, Put):
        if scope.is_undecided and (met := meet_existing(scope, made)) is not None:
            return met
        pause = None if is_checked else run_prechecks(scope, owner)
        pause = pause or confirm_absence(scope, last_put)
        if pause is not None:
            patcher.restore_ready()
            return pause
    memory.absent_since = None
    patcher.set_ready(reconciling(patcher.generation), reason_aware=True)
    if made is None or not isinstance(decided.then, Put):
        if isinstance(decided.then, Read | Succeeded):
            # The resource is in order: it was taken over without a PUT.
            patcher.annotate(accept_claim(scope, identity.arm_id))
        return carry_out(scope, decided)
    if is_sync and scope.context.is_known_absent:
        # Otherwise Ready stays True until the resource is back.
        patcher.set_ready(recreating(patcher.generation))
    if ready is not None:
        _brake(scope, mode, rendered, last_put, ready)
    request = merged_put(scope, decided.then, made, last_put)
    return _sent(scope, request, decided.effects, made, reading)


def _brake(
    scope: ReconcileScope,
    mode: SyncMode,
    rendered: RenderedSpec,
    last_put: DriftBaseline | None,
    ready: JsonObject,
) -> None:
    """Count a PUT that follows a success although nobody edited the object. ready: the
    condition. Raises ConditionError `PutBudgetSpent` if there were too many.
    """
    if mode is SyncMode.PUT and is_recorded(scope.patcher, rendered, last_put):
        return  # a PUT that each sync sends
    if ready.get("status") != "True" and ready.get("reason") != PUT_BUDGET_SPENT:
        return
    memory, operator, now = scope.memory, scope.operator, scope.began
    if wait := memory.put_budget.wait(now):
        operator.count_sync("braked", False)
        node = ObjectReference(scope.kind.group_kind, scope.patcher.key)
        raise budget_spent(wait, operator.export_loop(node))
    memory.put_budget = memory.put_budget.spent(now)


def _decide(
    scope: ReconcileScope,
    mode: SyncMode,
    rendered: RenderedSpec,
    observed: DriftBaseline | None,
    *,
    is_sync: bool,
) -> tuple[Decision, Desired | None]:
    """Return the decision to PUT or do less, and the body of the PUT. observed: the
    record of the last PUT.
    """
    patcher, operator, accepted = scope.patcher, scope.operator, scope.memory.accepted
    # A retry after a reconcile that failed after its PUT: continue after the PUT.
    if accepted is not None and accepted.record.put == rendered.fingerprint:
        accepted = attrs.evolve(accepted, generation=patcher.generation)
        now = operator.clock.monotonic()
        return after_accepted((), accepted, now=now, build=operator.build), None
    if not is_sync:
        made = desired(scope, rendered, observed)
        request = put_of(scope, mode, made, observed)
        return Decision((SetDrifted(),), request), made
    if (listed := in_order_by_list(scope, rendered, observed)) is not None:
        return listed, None
    decided, made = look(scope, mode, rendered, observed)
    # The Drifted condition stays until a sync no longer finds the drift, or sends a
    # PUT. A sync of a moving resource can tell nothing, so it keeps the condition.
    gone = () if CountSync("moving") in decided.effects else (SetDrifted(),)
    return attrs.evolve(decided, effects=(*gone, *decided.effects)), made


def _sent(
    scope: ReconcileScope,
    request: Put,
    effects: Sequence[Effect],
    made: Desired,
    reading: ParentRead,
) -> ReconcileOutcome:
    patcher, memory, operator = scope.patcher, scope.memory, scope.operator
    attempts = memory.repair_attempts
    apply(scope, effects)
    answer = send_put(scope, request, reading)
    if isinstance(answer, ArmError | Failed):
        # The PUT has repaired nothing that could be undone.
        memory.repair_attempts = attempts
    if not isinstance(answer, ArmError):
        patcher.annotate(accept_claim(scope, request.arm_id))
    decided = after_put(
        PutAnswer(
            put=request,
            answer=answer,
            generation=patcher.generation,
            stored=patcher.annotations,
            before=status(patcher.obj),
            arm_type=patcher.version.arm_type,
            rests_on=scope.context.rests_on,
            was_absent=scope.context.is_known_absent,
            precondition_failures=memory.precondition_failures,
            now=operator.clock.monotonic(),
            build=operator.build,
        )
    )
    refusal = answer.error if isinstance(answer, Failed) else answer
    if isinstance(refusal, ArmError):
        outcome = begin_recreation(scope, refusal, made)
        if outcome is not None:
            apply(scope, decided.effects)
            return outcome
    return carry_out(scope, decided, sent=made)
