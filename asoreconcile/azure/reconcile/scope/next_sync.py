"""Computes the time of an object's next sync."""

from math import inf

from asoreconcile.azure.reconcile.model.conditions import DRIFTED
from asoreconcile.azure.reconcile.model.decisions import Keep
from asoreconcile.azure.reconcile.model.sync_mode import SyncMode
from asoreconcile.azure.reconcile.scope.reconcile_scope import ReconcileScope
from asoreconcile.azure.reconcile.state.export_cache import (
    EXPORTED,
    seconds_until_renewal,
)
from asoreconcile.azure.reconcile.state.sync_schedule import (
    seconds_until_missed_sync,
    seconds_until_sync,
)
from asoreconcile.base.objects import uid_of


def seconds_until_next_sync(
    scope: ReconcileScope, mode: SyncMode, *, was_synced: bool
) -> float | Keep | None:
    """Return the seconds until the object's next sync, or until an exported credential
    must be renewed.

    None if neither is due; KEEP if each sync PUTs. was_synced: whether this reconcile
    has synced the object.
    """
    period = scope.sync_period_seconds
    now = scope.operator.clock.now().timestamp()
    exported = scope.patcher.annotations.get(EXPORTED)
    renewal = seconds_until_renewal(exported, now=now) if exported else None
    if mode is SyncMode.PUT:
        is_sooner = renewal is not None and (period is None or renewal < period)
        return renewal if is_sooner else Keep.KEEP
    if period is None:
        return renewal
    uid = uid_of(scope.patcher.obj)
    seconds = seconds_until_sync(
        uid, period_seconds=period, now=now, was_synced=was_synced
    )
    soonest = min(seconds, _seconds_until_repair(scope))
    return soonest if renewal is None else min(soonest, renewal)


def _seconds_until_repair(scope: ReconcileScope) -> float:
    """Return the seconds until the next maintenance window, if a difference waits for
    it (OW-7).
    """
    closed = scope.closed
    if closed is None or closed.until is None:
        return inf
    if not scope.patcher.has_condition(DRIFTED):
        return inf
    return max((closed.until - scope.operator.clock.now()).total_seconds(), 1.0)


def seconds_after_resumption(
    scope: ReconcileScope, mode: SyncMode
) -> float | Keep | None:
    """Return the seconds until the sync of an object that another process left Ready.

    The sync is soon if its time has passed while no process ran.
    """
    period = scope.sync_period_seconds
    before = scope.operator.predecessor_renewed()
    missed = None
    if period is not None and before is not None:
        missed = seconds_until_missed_sync(
            uid_of(scope.patcher.obj),
            period_seconds=period,
            now=scope.operator.clock.now().timestamp(),
            last_alive=before.timestamp(),
        )
    if missed is not None:
        return missed
    return seconds_until_next_sync(scope, mode, was_synced=False)
