"""Resumption: an object that the previous process left in order is taken over without a
read. At a start there are thousands.
"""

from asoreconcile.azure.reconcile.exports.export import is_as_left
from asoreconcile.azure.reconcile.model.decisions import Succeeded
from asoreconcile.azure.reconcile.model.sync_mode import SyncMode
from asoreconcile.azure.reconcile.policies.requests import Intent
from asoreconcile.azure.reconcile.scope.next_look import (
    is_repair_awaited,
    seconds_after_resumption,
)


def resume(intent: Intent) -> Succeeded | None:
    """End the first reconcile of an object that another process left Ready, if no input
    of its PUT has changed. Raises as `Intent.rendered`.
    """
    scope, last_put = intent.scope, intent.last_put
    operator = scope.operator
    if not intent.is_first:
        return None
    if not intent.is_ready or intent.mode is SyncMode.PUT or scope.asked:
        return None
    # Without a snapshot the last PUT was not followed to its end.
    if last_put is None or not last_put.rest:
        return None
    if (
        not intent.is_recorded
        or last_put.annotations_hash != intent.rendered.annotations_hash
    ):
        return None
    # A difference may wait for a window that opened meanwhile.
    if is_repair_awaited(scope) and (scope.has_pace or not scope.sync_period_seconds):
        return None
    # Exports may have been changed while no process ran: the look repairs them.
    if not is_as_left(operator, scope.patcher.obj):
        return None
    scope.remember_credential()
    operator.count_sync("resumed", False)
    return Succeeded(seconds_after_resumption(scope, intent.mode))
