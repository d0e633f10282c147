"""Makes the resource match the spec: checks, body, sync decision, PUT."""

from collections.abc import Sequence
from datetime import datetime
from functools import partial

import attrs

from asoreconcile.azure.arm.collection_reads import ListedBody
from asoreconcile.azure.arm.errors import ArmError
from asoreconcile.azure.arm.outcomes import Failed
from asoreconcile.azure.middleware.context import SuboperationPending
from asoreconcile.azure.reconcile.exports.export import checked_expressions
from asoreconcile.azure.reconcile.identity.claim import (
    move_claim,
    require_valid,
    restore_owner,
)
from asoreconcile.azure.reconcile.identity.duplicates import require_sole
from asoreconcile.azure.reconcile.identity.identity import identify
from asoreconcile.azure.reconcile.identity.recorded_claim import accept_claim
from asoreconcile.azure.reconcile.model.annotations import PLACEHOLDERS
from asoreconcile.azure.reconcile.model.conditions import reconciling, recreating
from asoreconcile.azure.reconcile.model.decisions import (
    CountSync,
    Decision,
    Effect,
    Fail,
    Put,
    Read,
    ReadAfter,
    ReconcileOutcome,
    Requeue,
    SetDrifted,
    Succeeded,
)
from asoreconcile.azure.reconcile.model.drift_baseline import DriftBaseline, last_put_of
from asoreconcile.azure.reconcile.model.owner import Owner
from asoreconcile.azure.reconcile.model.placeholders import placeholders_left
from asoreconcile.azure.reconcile.model.put_budget import PUT_BUDGET_SPENT, budget_spent
from asoreconcile.azure.reconcile.model.sync_mode import SyncMode
from asoreconcile.azure.reconcile.scope.next_sync import seconds_after_resumption
from asoreconcile.azure.reconcile.scope.patch_helper import PatchHelper
from asoreconcile.azure.reconcile.scope.reconcile_scope import ReconcileScope
from asoreconcile.azure.reconcile.state.parent_writes import ParentRead
from asoreconcile.azure.reconcile.state.sync_schedule import (
    is_period_over,
    is_put_due,
    may_list,
)
from asoreconcile.azure.reconcile.sync.desired import Desired, RenderedSpec
from asoreconcile.azure.reconcile.sync.drift import SyncFacts
from asoreconcile.azure.reconcile.sync.effects import apply
from asoreconcile.azure.reconcile.sync.look import Look, look
from asoreconcile.azure.reconcile.sync.put_record import (
    is_recorded,
    put_of,
    reads_first,
    ready_of_last_put,
    seconds_since_put,
)
from asoreconcile.azure.reconcile.writes.confirmed_absence import confirm_absence
from asoreconcile.azure.reconcile.writes.endings import settle
from asoreconcile.azure.reconcile.writes.existing_resource import (
    meet_existing,
    merged_put,
)
from asoreconcile.azure.reconcile.writes.operations import poll
from asoreconcile.azure.reconcile.writes.prechecks import run_prechecks
from asoreconcile.azure.reconcile.writes.put_answers import (
    accepted,
    followed,
    record_operation,
    refused,
)
from asoreconcile.azure.reconcile.writes.rendering import bodies_of
from asoreconcile.azure.reconcile.writes.sending import send_put
from asoreconcile.base.errors import RetryError
from asoreconcile.base.objects import JsonObject, metadata, status, uid_of


def put(scope: ReconcileScope) -> ReconcileOutcome:
    """PUT the resource, unless Azure has accepted the same PUT (D15) or has the same
    values (D11). At most one PUT or poll.

    Raises ConditionError if the PUT has to wait, and as `settle`; GoneError,
    StaleError, ConflictError; RetryError if a parent or a child is written meanwhile.
    """
    # Values that are read from here on must still hold when the PUT is sent.
    with scope.operator.parent_writes.reading(scope.patcher.arm_id) as reading:
        try:
            return _put(scope, reading)
        except (SuboperationPending, RetryError):
            # Nothing is wrong, and the spec is not in Azure yet.
            scope.patcher.set_ready(reconciling(scope.patcher.generation))
            raise


def _put(scope: ReconcileScope, reading: ParentRead) -> ReconcileOutcome:
    patcher, memory, operator = scope.patcher, scope.memory, scope.operator
    before = memory.accepted
    if before is not None and before.running is not None:
        # The operation of an accepted PUT that has no record any more. It runs whatever
        # the spec says, so it is ended first (L27), and polled at once: another process
        # may have seen its end and cleared the record.
        running = attrs.evolve(before.running, delay_seconds=0.0)
        record_operation(scope, before, running)
        patcher.set_ready(reconciling(patcher.generation))
        return poll(scope)
    require_valid(patcher.version, patcher.obj)
    notes = patcher.annotations
    if PLACEHOLDERS in notes:
        raise placeholders_left(notes[PLACEHOLDERS])
    if not status(patcher.obj).get("id"):
        # Nothing is created in Azure that its author still has to mend.
        checked_expressions(operator, patcher.version, patcher.obj)
    owner = scope.owner()
    written = move_claim(scope, owner) or restore_owner(scope, owner)
    if written is not None:
        return written
    closed, mode = scope.closed, scope.sync_mode
    last_put = last_put_of(patcher.annotations)
    ready = ready_of_last_put(patcher)
    if closed and reads_first(patcher, SyncMode.REPORT, ready, last_put):
        mode = SyncMode.REPORT  # the PUT follows when a window opens (OW-7)
    # An object that has only observed has sent no PUT, whatever its Ready says.
    is_sync = before is None and not (scope.must_ask or scope.is_undecided)
    is_sync = is_sync and reads_first(patcher, mode, ready, last_put)
    rendered: RenderedSpec | None = None
    # Nothing more is read for an object that the previous process left in order: at a
    # start there are thousands.
    is_first, memory.was_looked_at = not memory.was_looked_at, True
    if is_first and last_put is not None:
        # Another process may have begun pauses between PUTs.
        age = seconds_since_put(last_put, scope.operator.clock.now()) or 0.0
        memory.recall(last_put, age=age, now=scope.began)
    is_ready = (ready or {}).get("status") == "True"
    is_resumable = is_first and is_ready and mode is not SyncMode.PUT
    # Without a snapshot the last PUT was not followed to its end.
    if is_resumable and not scope.asked and last_put and last_put.rest:
        rendered = bodies_of(scope).render(identify(scope, owner), last_put)
        is_same = is_recorded(patcher, rendered, last_put)
        if is_same and last_put.notes == rendered.notes:
            return _resumed(scope, mode)
    # The checks run only before a write: here if a PUT is sent whatever is read, else
    # once a PUT was decided. An extension may make room for the resource in between.
    is_checked = before is None and not is_sync
    if is_checked and (postponed := run_prechecks(scope, owner)) is not None:
        return _postponed(patcher, postponed)
    identity = identify(scope, owner) if rendered is None else rendered.identity
    scope.connection.require_subscription_of(identity.arm_id)
    # Before the body is made: an object that has to wait asks Azure nothing for it.
    arm_id, claim = identity.arm_id, scope.claim
    require_sole(operator, patcher.version, patcher.obj, arm_id, claim)
    rendered = rendered or bodies_of(scope).render(identity, last_put)
    intent = _Intent(owner, mode, rendered, last_put, ready, is_sync, is_checked)
    return _reach(scope, intent, reading)


@attrs.frozen
class _Intent:
    """The facts of a reconcile after its body was made.

    mode: sync mode in force. last_put: the record of the last PUT. ready: the result of
    `ready_of_last_put`. is_sync: whether the resource is read before a PUT. is_checked:
    whether the checks have run.
    """

    owner: Owner | None
    mode: SyncMode
    rendered: RenderedSpec
    last_put: DriftBaseline | None
    ready: JsonObject | None
    is_sync: bool
    is_checked: bool


def _reach(
    scope: ReconcileScope, intent: _Intent, reading: ParentRead
) -> ReconcileOutcome:
    """Decide whether to PUT, and do what was decided."""
    patcher, memory, operator = scope.patcher, scope.memory, scope.operator
    rendered, last_put = intent.rendered, intent.last_put
    before, arm_id = memory.accepted, rendered.identity.arm_id
    if before is not None and before.record.put == rendered.fingerprint:
        # A retry after a reconcile that failed after its PUT: continue after the PUT.
        patcher.set_ready(reconciling(patcher.generation), reason_aware=True)
        patcher.annotate(accept_claim(scope, arm_id))
        return followed(scope, attrs.evolve(before, generation=patcher.generation))
    if intent.is_sync:
        seen = _look(scope, intent)
        decided, made = seen.decided, seen.made
    else:
        made = rendered.desired(last_put)
        declared, today = scope.context.declared, operator.clock.now()
        request = put_of(intent.mode, made, last_put, declared=declared, now=today)
        decided = Decision((SetDrifted(),), request)
    if isinstance(decided.then, Put):
        if scope.must_ask or scope.is_undecided:
            scope.context.raw_get()
        pause = None if intent.is_checked else run_prechecks(scope, intent.owner)
        if pause is None:
            pause = confirm_absence(scope, made, last_put)
        if pause is not None:
            return _postponed(patcher, pause)
        if scope.must_ask or scope.is_undecided:
            adopted = meet_existing(scope, made, decided.then)
            if adopted is not None:
                patcher.record(accept_claim(scope, arm_id) | adopted.notes)
                return settle(scope, ReadAfter.PUT, body=adopted.body)
    memory.absent_since = None
    patcher.set_ready(reconciling(patcher.generation), reason_aware=True)
    if not isinstance(decided.then, Put):
        if isinstance(decided.then, Read):
            # The resource is in order: it was taken over without a PUT.
            patcher.annotate(accept_claim(scope, arm_id))
        context = scope.context
        apply(decided.effects, patcher, context, memory, operator.count_sync)
        if isinstance(decided.then, Fail):
            raise decided.then.error
        read = decided.then
        return settle(scope, ReadAfter.PUT, body=read.body, listed_at=read.listed_at)
    if intent.is_sync and scope.context.is_known_absent:
        # Otherwise Ready stays True until the resource is back.
        patcher.set_ready(recreating(patcher.generation))
    count = 0 if intent.ready is None else _brake(scope, intent, intent.ready)
    record = attrs.evolve(decided.then.record, followed=count)
    request = merged_put(
        attrs.evolve(decided.then, record=record),
        made,
        last_put,
        memory,
        claim=scope.claim,
        is_said_absent=partial(_is_said_absent, scope),
        count_replaced=operator.count_replaced,
    )
    return _sent(scope, request, decided.effects, made, reading)


def _postponed(patcher: PatchHelper, pause: Requeue) -> Requeue:
    """End a postponed reconcile: Ready stays as it is; a new object shows that it is
    being reconciled.
    """
    if not patcher.status.get("conditions"):
        patcher.set_ready(reconciling(patcher.generation))
    return pause


def _resumed(scope: ReconcileScope, mode: SyncMode) -> Succeeded:
    """Return the requeue of an object that another process left Ready, if no input of
    its PUT has changed.
    """
    scope.remember_credential()
    scope.operator.count_sync("resumed", False)
    return Succeeded(seconds_after_resumption(scope, mode))


def _brake(scope: ReconcileScope, intent: _Intent, ready: JsonObject) -> int:
    """Count a PUT that follows a success although the object was not edited. Return the
    number of such PUTs in the last hour; 0 if the PUT does not count. ready: the
    condition. Raises ConditionError `PutBudgetSpent` if there were too many.

    A failure in between, as of an input that is deleted and made again each time, does
    not hide a success: the inputs differ from those of the last accepted PUT.
    """
    last_put = intent.last_put
    is_same = is_recorded(scope.patcher, intent.rendered, last_put)
    if intent.mode is SyncMode.PUT and is_same:
        return 0  # a PUT that each sync sends
    is_retry = is_same or last_put is None or not last_put.put
    is_ready = ready.get("status") == "True" or ready.get("reason") == PUT_BUDGET_SPENT
    if is_retry and not is_ready:
        return 0
    memory, operator, now = scope.memory, scope.operator, scope.began
    if wait := memory.put_budget.wait(now):
        operator.count_sync("braked", False)
        raise budget_spent(wait, operator.export_loop(scope.patcher.node))
    memory.put_budget = memory.put_budget.spent(now)
    return len(memory.put_budget.sent)


def _look(scope: ReconcileScope, intent: _Intent) -> Look:
    patcher, operator, last_put = scope.patcher, scope.operator, intent.last_put
    memory = scope.memory
    shown, today = _listed(scope), operator.clock.now()
    age = seconds_since_put(last_put, today)
    uid, period = uid_of(patcher.obj), scope.sync_period_seconds
    known = SyncFacts(
        mode=intent.mode,
        put=intent.rendered.fingerprint,
        observed=last_put,
        repair_attempts=memory.repair_attempts,
        notes=intent.rendered.notes,
        is_forced=is_put_due(uid, age, period_seconds=operator.force_put_seconds),
        undeclared=operator.undeclared,
        now=operator.clock.monotonic(),
        is_period_over=is_period_over(age, period),
        is_ready=(intent.ready or {}).get("status") == "True",
        moving_seconds=scope.began - (memory.moving_since or scope.began),
    )
    seen = look(intent.rendered, known, now=today, listed=shown)
    is_moving = CountSync("moving") in seen.decided.effects
    memory.moving_since = (memory.moving_since or scope.began) if is_moving else None
    if seen.is_list_wrong and operator.collection_reads is not None:
        api_version = patcher.version.api_version
        operator.collection_reads.distrust(patcher.arm_id, api_version)
    return seen


def _listed(scope: ReconcileScope) -> ListedBody | None:
    """Return the resource as a list shows it; None if the sync needs a GET.

    A list can only confirm that a resource is in order (`sync.look`). Raises as
    `CollectionReads.entry`.
    """
    operator, read_at = scope.operator, scope.memory.read_at
    reads, period = operator.collection_reads, scope.sync_period_seconds
    if reads is None or read_at is None or period is None or scope.asked:
        return None
    arm_id, connection, clock = scope.patcher.arm_id, scope.connection, operator.clock
    age, now = clock.monotonic() - read_at, clock.now().timestamp()
    if not may_list(arm_id, age, period_seconds=period, now=now):
        return None
    return reads.entry(
        connection.client,
        arm_id,
        scope.patcher.version.api_version,
        credential=connection.source,
        seen_at=read_at,
    )


def _is_said_absent(scope: ReconcileScope) -> bool:
    """Return whether a list from after the object's creation does not contain its
    resource; False if a GET is needed. Raises as `CollectionReads.says_absent`.
    """
    patcher, reads = scope.patcher, scope.operator.collection_reads
    made = str(metadata(patcher.obj).get("creationTimestamp") or "")
    if reads is None or scope.context.read is not None or not made:
        return False
    age = scope.operator.clock.now() - datetime.fromisoformat(made)
    return reads.says_absent(
        scope.connection.client,
        patcher.arm_id,
        patcher.version.api_version,
        credential=scope.connection.source,
        # The time stamp has whole seconds.
        since=scope.operator.clock.monotonic() - age.total_seconds() + 1.0,
    )


def _sent(
    scope: ReconcileScope,
    request: Put,
    effects: Sequence[Effect],
    made: Desired,
    reading: ParentRead,
) -> ReconcileOutcome:
    patcher, memory = scope.patcher, scope.memory
    attempts = memory.repair_attempts
    apply(effects, patcher, scope.context, memory, scope.operator.count_sync)
    repairs = memory.repair_attempts.repairs
    record = attrs.evolve(request.record, repairs=repairs)
    request = attrs.evolve(request, record=record)
    answer = send_put(scope, request, reading)
    if not isinstance(answer, ArmError):
        patcher.annotate(accept_claim(scope, request.arm_id))
    if isinstance(answer, ArmError | Failed):
        # The PUT has repaired nothing that could be undone.
        memory.repair_attempts = attempts
        return refused(scope, answer, made)
    return accepted(scope, request, answer, made)
