"""Decides when an object is looked at again, after a success and after a failure.

`next_look` is the one decision; the other functions collect its facts. Rules: OW-7,
R4.1, D11.
"""

from datetime import datetime

import attrs

from asoreconcile.azure.arm.condition_error import ConditionError
from asoreconcile.azure.reconcile.model.conditions import DRIFTED, GONE
from asoreconcile.azure.reconcile.model.decisions import AT_ONCE_SECONDS
from asoreconcile.azure.reconcile.model.drift_baseline import RepairAttempts
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
from asoreconcile.base.errors import RetryError
from asoreconcile.base.objects import generation, uid_of


@attrs.frozen
class LookFacts:
    """The reasons to look at an object again, each in seconds from now; None if there
    is no such reason.

    sync: the next sync by the period. failure: the retry of a failure, by its class; it
    replaces the sync. is_outdated: whether the failure is of an older spec. opening:
    the next maintenance window, if a difference, an edit or an absence waits for it.
    fight: the end of the pause between PUTs that another writer undoes. renewal: the
    renewal of an exported credential. asked: the time at which a value of
    `reconcile-at` may be attempted.
    """

    sync: float | None = None
    failure: float | None = None
    is_outdated: bool = False
    opening: float | None = None
    fight: float | None = None
    renewal: float | None = None
    asked: float | None = None


def next_look(facts: LookFacts) -> float | None:
    """Return the seconds until the next look; None if nothing but a change needs one.
    Pure.
    """
    if facts.is_outdated:
        return AT_ONCE_SECONDS
    is_failing = facts.failure is not None
    reasons = [
        facts.failure if is_failing else facts.sync,
        facts.opening,
        facts.fight,
        # A failed reconcile exports nothing, so that a renewal would fail with it.
        None if is_failing else facts.renewal,
        facts.asked,
    ]
    return min((max(one, 0.0) for one in reasons if one is not None), default=None)


def seconds_until_next_sync(
    scope: ReconcileScope, mode: SyncMode, *, was_synced: bool
) -> float | None:
    """Return the seconds until the next look at a Ready object, or None.

    was_synced: whether this reconcile has synced the object.
    """
    period = scope.sync_period_seconds
    if mode is SyncMode.PUT or period is None:
        sync = scope.kind.requeue_backoff.resync(period)
    else:
        now = scope.operator.clock.now().timestamp()
        uid = uid_of(scope.patcher.obj)
        sync = seconds_until_sync(
            uid, period_seconds=period, now=now, was_synced=was_synced
        )
    return next_look(_facts(scope, sync=sync))


def seconds_after_resumption(scope: ReconcileScope, mode: SyncMode) -> float | None:
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
        return next_look(_facts(scope, sync=missed))
    return seconds_until_next_sync(scope, mode, was_synced=False)


def seconds_after_failure(scope: ReconcileScope, error: ConditionError) -> float:
    """Return the seconds until the next look after a failure, which is counted."""
    patcher = scope.patcher
    facts = _facts(
        scope,
        failure=scope.kind.requeue_backoff.failed(scope.memory, error),
        # A failure of an older spec, or of older values in it, is retried at once (D5).
        is_outdated=error.is_outdated or patcher.generation != generation(patcher.obj),
        waits=error.reason == GONE,
    )
    seconds = next_look(facts)
    return AT_ONCE_SECONDS if seconds is None else seconds


def is_repair_awaited(scope: ReconcileScope) -> bool:
    """Return whether a difference was found that a sync is to repair, by the stored
    status.
    """
    return scope.sync_mode is not SyncMode.REPORT and scope.patcher.has_condition(
        DRIFTED
    )


def _facts(
    scope: ReconcileScope,
    *,
    sync: float | None = None,
    failure: float | None = None,
    is_outdated: bool = False,
    waits: bool = False,
) -> LookFacts:
    now, opening = scope.operator.clock.now(), None
    if waits or scope.patcher.has_condition(DRIFTED):
        opening = _opening(scope, now)
    return LookFacts(
        sync=sync,
        failure=failure,
        is_outdated=is_outdated,
        opening=opening,
        fight=_seconds_of_fight(scope),
        renewal=_renewal(scope, now),
        asked=scope.asked_wait_seconds or None,
    )


def _opening(scope: ReconcileScope, now: datetime) -> float | None:
    try:
        # Only few objects have windows; the others need no Namespace here.
        if scope.opens is None or scope.sync_mode is SyncMode.REPORT:
            return None
        return max((scope.opens - now).total_seconds(), 1.0)
    # The Namespace cannot be read, which is the failure that is shown.
    except (ConditionError, RetryError):
        return None


def _seconds_of_fight(scope: ReconcileScope) -> float | None:
    until = scope.memory.part(RepairAttempts).paused_until
    if until is None or not scope.patcher.has_condition(DRIFTED):
        return None
    return max(until - scope.operator.clock.monotonic(), 1.0)


def _renewal(scope: ReconcileScope, now: datetime) -> float | None:
    exported = scope.patcher.annotations.get(EXPORTED)
    return seconds_until_renewal(exported, now=now.timestamp()) if exported else None
