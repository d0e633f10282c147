"""Maintenance windows: outside them nothing is changed in Azure, and differences are
only reported. The decision is `model.pace.closed_at`. Rule: OW-7.
"""

import attrs

from asoreconcile.azure.arm.condition_error import ConditionError
from asoreconcile.azure.reconcile.model.conditions import severity_of_wait
from asoreconcile.azure.reconcile.model.pace import OUTSIDE_WINDOW, closed_at
from asoreconcile.azure.reconcile.model.sync_mode import SyncMode
from asoreconcile.azure.reconcile.policies.recreation import comes_back
from asoreconcile.azure.reconcile.policies.requests import Intent, WriteRequest
from asoreconcile.azure.reconcile.sync.put_record import reads_first

# The wall clock may be set meanwhile, and a queue's delays do not follow it.
_LONGEST_WAIT_SECONDS = 6 * 3600.0


def report_while_closed(intent: Intent) -> Intent | None:
    """Let a sync only report; the PUT follows when a window opens."""
    if intent.scope.closed is None or comes_back(intent.scope):
        return None
    report, patcher = SyncMode.REPORT, intent.scope.patcher
    if reads_first(patcher, report, intent.ready, intent.last_put):
        return attrs.evolve(intent, mode=report)
    return None


def window_open(write: WriteRequest) -> None:
    """Make sure that the object may be changed in Azure now. Raises ConditionError
    `OutsideMaintenanceWindow`.
    """
    scope, now = write.scope, write.scope.operator.clock.now()
    patcher = scope.patcher
    closed = closed_at(now, patcher.annotations, write.inherited, is_asked=False)
    if closed is None:
        return
    if not write.is_delete and comes_back(scope):
        return  # a recreation that was begun is one operation
    if scope.asked:
        scope.memory.lifted_at = scope.began
        return
    wait = _LONGEST_WAIT_SECONDS
    if closed.until is not None:
        wait = min(wait, max((closed.until - now).total_seconds(), 1.0))
    raise ConditionError(
        closed.why,
        reason=OUTSIDE_WINDOW,
        severity=severity_of_wait(patcher.obj, patcher.generation),
        after_seconds=wait,
    )
