"""The sync of a resource: it is read, and PUT only if it differs from the spec.

Blocking: reads of Azure. The decision is `sync.drift`. Rules: D11, Q7.
"""

import attrs

from asoreconcile.azure.arm.condition_error import ConditionError, RetryClass
from asoreconcile.azure.reconcile.model.annotations import LATEST_RECONCILED_GENERATION
from asoreconcile.azure.reconcile.model.decisions import (
    CountSync,
    Decision,
    ReadAfter,
    SetDrifted,
)
from asoreconcile.azure.reconcile.model.drift_baseline import (
    OBSERVED,
    AcceptedPut,
    DriftBaseline,
    RepairAttempts,
    last_put_of,
)
from asoreconcile.azure.reconcile.policies.bulk_reads import (
    distrust_list,
    listed_resource,
)
from asoreconcile.azure.reconcile.policies.requests import (
    DecidedPut,
    Intent,
    SettleRequest,
)
from asoreconcile.azure.reconcile.scope.patch_helper import PatchHelper
from asoreconcile.azure.reconcile.state.sync_schedule import is_period_over, is_put_due
from asoreconcile.azure.reconcile.sync.drift import SyncFacts, failed_state
from asoreconcile.azure.reconcile.sync.effects import apply
from asoreconcile.azure.reconcile.sync.learned import has_kept_identity, learned
from asoreconcile.azure.reconcile.sync.look import Look, look
from asoreconcile.azure.reconcile.sync.put_record import put_of, seconds_since_put
from asoreconcile.base.objects import uid_of


@attrs.frozen
class Moving:
    """The part of the memory about transitions. since: time since which each sync has
    found the resource in transition, in monotonic seconds; None if the last did not.
    """

    since: float | None = None

    def since_or(self, now: float) -> float:
        """Return the time since which the resource is in transition, else `now`."""
        return now if self.since is None else self.since


def recall_repairs(intent: Intent) -> None:
    """Continue pauses between repairs that another process has recorded, in the first
    reconcile.
    """
    if (record := intent.recalled) is None:
        return
    age = intent.record_age
    if repairs := record.repairs_after(age):
        at = intent.scope.began - age
        intent.scope.memory.keep(RepairAttempts(repairs=repairs, at=at))


def sync(intent: Intent) -> Look | None:
    """Read the resource if this reconcile is a sync, and decide whether to PUT. Raises
    as `look`.
    """
    if not intent.is_sync:
        return None
    scope, last_put, mode = intent.scope, intent.last_put, intent.mode
    memory, operator = scope.memory, scope.operator
    moving = memory.part(Moving)
    shown, today = listed_resource(scope), operator.clock.now()
    age, period = seconds_since_put(last_put, today), scope.sync_period_seconds
    force = operator.force_put_seconds
    facts = SyncFacts(
        mode=mode,
        put=intent.rendered.fingerprint,
        observed=last_put,
        repair_attempts=memory.part(RepairAttempts),
        annotations_hash=intent.rendered.annotations_hash,
        is_forced=is_put_due(uid_of(scope.patcher.obj), age, period_seconds=force),
        undeclared=operator.undeclared,
        now=operator.clock.monotonic(),
        is_period_over=is_period_over(age, period),
        is_ready=intent.is_ready,
        moving_seconds=scope.began - moving.since_or(scope.began),
        is_asked=bool(scope.asked),
        waits_for="" if scope.closed is None else scope.closed.waits_for,
        is_first_read=memory.read_at is None,
    )
    seen = look(intent.rendered, facts, now=today, listed=shown)
    if CountSync("asked", is_put=True) in seen.decided.effects:
        memory.lifted_at = scope.began
    is_moving = CountSync("moving") in seen.decided.effects
    since = moving.since_or(scope.began)
    memory.keep(Moving(since) if is_moving else Moving())
    if seen.is_list_wrong:
        distrust_list(scope)
    return seen


def put_unread(intent: Intent) -> Look | AcceptedPut:
    """Return the decision to PUT without a read. Raises the exceptions of
    extensions.
    """
    made, now = intent.rendered.desired(intent.last_put), intent.scope.operator.clock
    declared = intent.scope.context.declared
    put = put_of(intent.mode, made, intent.last_put, declared=declared, now=now.now())
    return Look(Decision((SetDrifted(),), put), made)


def count_repair(request: DecidedPut) -> DecidedPut:
    """Apply the effects of the sync's decision to PUT: event, metric, and the number of
    repairs, which the record of the PUT keeps.
    """
    scope, memory = request.scope, request.scope.memory
    count = scope.operator.count_sync
    apply(request.effects, scope.patcher, scope.context, memory, count)
    repairs = memory.part(RepairAttempts).repairs
    record = attrs.evolve(request.put.record, repairs=repairs)
    return attrs.evolve(request, put=attrs.evolve(request.put, record=record))


def require_success(request: SettleRequest) -> None:
    """Raise ConditionError if Azure says that the resource's last operation failed or
    was canceled. The reason is Azure's word for the state.
    """
    scope, after = request.scope, request.after
    version = scope.patcher.version
    have = scope.context.raw_get() if "Get" in version.operations else None
    state = failed_state(have or {})
    if not state:
        return
    _learn(request)
    # The next PUT is a sync's, which comes once in a period.
    scope.memory.accepted = None
    again = (
        "" if after is ReadAfter.NOTHING else "; it is put again once in a sync period"
    )
    raise ConditionError(
        f"the provisioningState of the resource in Azure is {state}: see its activity "
        f"log{again}",
        reason=state,
        retry=RetryClass.VERY_SLOW,
    )


def learn(request: SettleRequest) -> SettleRequest | None:
    """Record the differences that remain after a PUT.

    After policy skip the record of the last PUT is dropped: other writers may change
    the resource then, also values that Azure does not show, so the first reconcile
    after it sends the whole spec. Another PUT follows if Azure has kept an identity.
    """
    scope, sent = request.scope, request.sent
    if request.after is ReadAfter.NOTHING:
        _disclaim(scope.patcher)
        return None
    if not request.is_of_put or request.is_outdated:
        return None
    is_repair = bool(scope.memory.part(RepairAttempts).pending)
    is_repair = is_repair or (sent is not None and bool(sent.revoked))
    _learn(request)
    if is_repair or not has_kept_identity(scope.context):
        return None
    # The next PUT takes it by a null.
    scope.memory.accepted = None
    return attrs.evolve(request, is_put_again=True)


def _learn(request: SettleRequest) -> None:
    if request.rendered is None:
        return
    scope, memory = request.scope, request.scope.memory
    effects = learned(
        request.rendered,
        scope.sync_mode,
        sent=request.sent,
        attempts=memory.part(RepairAttempts),
    )
    count = scope.operator.count_sync
    apply(effects, scope.patcher, scope.context, memory, count)


def _disclaim(patcher: PatchHelper) -> None:
    if patcher.annotations.get(LATEST_RECONCILED_GENERATION):
        record = last_put_of(patcher.annotations)
        withdrawn = (record or DriftBaseline("")).withdrawn()
        patcher.annotate({OBSERVED: withdrawn.dumps()})
