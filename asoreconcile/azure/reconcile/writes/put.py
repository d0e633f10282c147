"""Brings Azure in line with the spec: checks, body, sync decision, PUT."""

from collections.abc import Mapping, Sequence

import attrs

from asoreconcile.azure.arm.errors import ArmError
from asoreconcile.azure.arm.outcomes import Failed
from asoreconcile.azure.reconcile.exports.export import checked_expressions
from asoreconcile.azure.reconcile.identity.claim import require_valid, restore_owner
from asoreconcile.azure.reconcile.identity.duplicates import require_sole
from asoreconcile.azure.reconcile.identity.identity import identify
from asoreconcile.azure.reconcile.model.conditions import reconciling, recreating
from asoreconcile.azure.reconcile.model.decisions import (
    CountSync,
    Decision,
    Effect,
    Put,
    ReconcileOutcome,
    SetDrifted,
)
from asoreconcile.azure.reconcile.model.drift_baseline import OBSERVED, loads
from asoreconcile.azure.reconcile.model.put_ledger import digest
from asoreconcile.azure.reconcile.model.sync_mode import SyncMode
from asoreconcile.azure.reconcile.scope.effects import apply
from asoreconcile.azure.reconcile.scope.reconcile_scope import ReconcileScope
from asoreconcile.azure.reconcile.state.parent_writes import ParentRead
from asoreconcile.azure.reconcile.sync.bulk_reads import NO_LIST, ListLook, look_at_list
from asoreconcile.azure.reconcile.sync.desired import (
    Desired,
    RenderedSpec,
    desired,
    render,
)
from asoreconcile.azure.reconcile.sync.drift import at_sync
from asoreconcile.azure.reconcile.sync.look import (
    baseline_of_put,
    facts_of_sync,
    reads_first,
    ready_of_last_put,
    resumable,
    resumed_period,
)
from asoreconcile.azure.reconcile.writes.adoption import meet_existing
from asoreconcile.azure.reconcile.writes.confirmed_absence import confirm_absence
from asoreconcile.azure.reconcile.writes.endings import carry_out
from asoreconcile.azure.reconcile.writes.operations import poll
from asoreconcile.azure.reconcile.writes.prechecks import run_prechecks
from asoreconcile.azure.reconcile.writes.put_answers import (
    PutAnswer,
    after_accepted,
    after_put,
    operation_record,
)
from asoreconcile.azure.reconcile.writes.sending import send_put
from asoreconcile.base.objects import status


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
    if (written := restore_owner(scope, owner)) is not None:
        return written
    mode = scope.sync_mode
    ready = ready_of_last_put(patcher)
    last_put = loads(patcher.annotations.get(OBSERVED) or "")
    if scope.closed and reads_first(patcher, SyncMode.REPORT, ready, last_put):
        mode = SyncMode.REPORT  # the PUT follows when a window opens (OW-7)
    # An object that has only observed has sent no PUT, whatever its Ready says.
    is_sync = reads_first(patcher, mode, ready, last_put) and not scope.is_undecided
    inputs: RenderedSpec | None = None
    # Nothing more is read for an object that the previous process left in order: at a
    # start there are thousands.
    if accepted is None and (observed := resumable(scope, mode, ready)) is not None:
        inputs = render(patcher, scope.references, identify(scope, owner))
        if inputs.fingerprint == observed.spec:
            scope.remember_credential()
            return resumed_period(scope, mode)
    # The checks run only before a write: here if a PUT is sent whatever is read, else
    # once a PUT was decided. An extension may make room for the resource in between.
    is_checked = accepted is None and not is_sync
    if is_checked and (postponed := run_prechecks(scope, owner)) is not None:
        patcher.restore_ready()
        return postponed
    identity = inputs.identity if inputs is not None else identify(scope, owner)
    scope.connection.require_subscription_of(identity.arm_id)
    # Before the body is made: the younger of two objects asks Azure nothing for it.
    require_sole(operator, patcher.version, patcher.obj, identity.arm_id)
    look = look_at_list(scope) if is_sync else NO_LIST
    inputs = inputs or render(patcher, scope.references, identity)
    made = _made(scope, inputs)
    request, decided = _decide(scope, mode, look, made, is_sync=is_sync)
    if isinstance(decided.then, Put) and look.is_used:
        # A PUT must not rest on a list: read and decide again.
        scope.context.read_anew()
        look = NO_LIST
        made = _made(scope, render(patcher, scope.references, identity))
        request, decided = _decide(scope, mode, look, made, is_sync=is_sync)
    if isinstance(decided.then, Put):
        if scope.is_undecided and (met := meet_existing(scope, made)) is not None:
            return met
        pause = None if is_checked else run_prechecks(scope, owner)
        pause = pause or confirm_absence(scope)
        if pause is not None:
            patcher.restore_ready()
            return pause
    memory.absent_since = None
    patcher.set_ready(reconciling(patcher.generation), reason_aware=True)
    if not isinstance(decided.then, Put):
        return carry_out(scope, decided, is_listed=look.is_used)
    if is_sync and scope.context.is_known_absent:
        # Otherwise Ready stays True until the resource is back.
        patcher.set_ready(recreating(patcher.generation))
    return _sent(scope, request, decided.effects, made, reading)


def _made(scope: ReconcileScope, rendered: RenderedSpec) -> Desired:
    operator, obj = scope.operator, scope.patcher.obj
    return desired(operator, scope.context, obj, rendered, scope.references)


def _decide(
    scope: ReconcileScope,
    mode: SyncMode,
    look: ListLook,
    made: Desired,
    *,
    is_sync: bool,
) -> tuple[Put, Decision]:
    """Return the PUT that would be sent, and the decision: send it, or do less."""
    patcher, operator = scope.patcher, scope.operator
    accepted, arm_id = scope.memory.accepted, made.identity.arm_id
    notes: Mapping[str, str] = {}
    if mode is not SyncMode.PUT:
        observed = loads(patcher.annotations.get(OBSERVED) or "")
        baseline = baseline_of_put(scope, observed, made)
        notes = {OBSERVED: baseline.dumps()}
    marked = digest(arm_id, patcher.version.api_version, made.body)
    request = Put(arm_id, made.body, marked, notes)
    # A retry after a reconcile that failed after its PUT: continue after the PUT.
    if accepted is not None and accepted.digest == marked:
        accepted = attrs.evolve(accepted, generation=patcher.generation)
        now = operator.clock.monotonic()
        return request, after_accepted((), accepted, now=now, build=operator.build)
    if accepted is not None or not is_sync:
        return request, Decision((SetDrifted(),), request)
    facts = facts_of_sync(scope, mode, look, made, observed=observed)
    decided = at_sync(facts, request)
    # The Drifted condition stays until a sync no longer finds the drift, or sends a
    # PUT. A sync of a moving resource can tell nothing, so it keeps the condition.
    gone = () if CountSync("moving") in decided.effects else (SetDrifted(),)
    return request, attrs.evolve(decided, effects=(*gone, *decided.effects))


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
    decided = after_put(
        PutAnswer(
            put=request,
            answer=answer,
            generation=patcher.generation,
            stored=patcher.annotations,
            before=status(patcher.obj),
            arm_type=patcher.version.arm_type,
            inputs=scope.references.mark(),
            rests_on=scope.context.rests_on,
            was_absent=scope.context.is_known_absent,
            precondition_failures=memory.precondition_failures,
            now=operator.clock.monotonic(),
            build=operator.build,
        )
    )
    return carry_out(scope, decided, sent=made)
