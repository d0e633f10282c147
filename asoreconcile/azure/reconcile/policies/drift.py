"""The sync of a resource: it is read, and PUT only if it differs from the spec.

Blocking: reads of Azure. The decision is `sync.drift`. Rules: D11, Q7.
"""

import attrs

from asoreconcile.azure.reconcile.model.decisions import CountSync, Decision, SetDrifted
from asoreconcile.azure.reconcile.model.drift_baseline import AcceptedPut
from asoreconcile.azure.reconcile.policies.bulk_reads import (
    distrust_list,
    listed_resource,
)
from asoreconcile.azure.reconcile.policies.requests import DecidedPut, Intent
from asoreconcile.azure.reconcile.state.sync_schedule import is_period_over, is_put_due
from asoreconcile.azure.reconcile.sync.drift import SyncFacts
from asoreconcile.azure.reconcile.sync.effects import apply
from asoreconcile.azure.reconcile.sync.look import Look, look
from asoreconcile.azure.reconcile.sync.put_record import put_of, seconds_since_put
from asoreconcile.base.objects import uid_of


def sync(intent: Intent) -> Look | None:
    """Read the resource if this reconcile is a sync, and decide whether to PUT. Raises
    as `look`.
    """
    if not intent.is_sync:
        return None
    scope, last_put, mode = intent.scope, intent.last_put, intent.mode
    memory, operator = scope.memory, scope.operator
    shown, today = listed_resource(scope), operator.clock.now()
    age, period = seconds_since_put(last_put, today), scope.sync_period_seconds
    force = operator.force_put_seconds
    facts = SyncFacts(
        mode=mode,
        put=intent.rendered.fingerprint,
        observed=last_put,
        repair_attempts=memory.repair_attempts,
        notes=intent.rendered.notes,
        is_forced=is_put_due(uid_of(scope.patcher.obj), age, period_seconds=force),
        undeclared=operator.undeclared,
        now=operator.clock.monotonic(),
        is_period_over=is_period_over(age, period),
        is_ready=intent.is_ready,
        moving_seconds=scope.began - (memory.moving_since or scope.began),
        is_first_read=memory.read_at is None,
    )
    seen = look(intent.rendered, facts, now=today, listed=shown)
    is_moving = CountSync("moving") in seen.decided.effects
    memory.moving_since = (memory.moving_since or scope.began) if is_moving else None
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
    repairs = memory.repair_attempts.repairs
    record = attrs.evolve(request.put.record, repairs=repairs)
    return attrs.evolve(request, put=attrs.evolve(request.put, record=record))
