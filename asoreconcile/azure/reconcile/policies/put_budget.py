"""The budget of PUTs that follow a success although the object was not edited. The
counting is `model.put_budget`.
"""

import attrs

from asoreconcile.azure.reconcile.model.put_budget import (
    MOST_PUTS,
    PUT_BUDGET_SPENT,
    PutBudget,
    budget_spent,
)
from asoreconcile.azure.reconcile.model.sync_mode import SyncMode
from asoreconcile.azure.reconcile.policies.requests import DecidedPut, Intent


def recall_budget(intent: Intent) -> None:
    """Continue a count that another process has recorded, in the first reconcile."""
    if (record := intent.recalled) is None or not record.followed:
        return
    at = intent.scope.began - intent.record_age
    intent.scope.memory.keep(PutBudget((at,) * min(record.followed, MOST_PUTS)))


def within_budget(request: DecidedPut) -> DecidedPut | None:
    """Count a PUT that follows a success although the object was not edited, in the
    record of the PUT, too. Raises ConditionError `PutBudgetSpent` if there were too
    many in the last hour.

    A failure in between, as of an input that is deleted and made again each time, does
    not hide a success: the inputs differ from those of the last accepted PUT.
    """
    if not _counts(request):
        return None
    scope = request.scope
    memory, operator, now = scope.memory, scope.operator, scope.began
    budget = memory.part(PutBudget)
    if wait := budget.wait(now):
        operator.count_sync("braked", False)
        raise budget_spent(wait, operator.export_loop(scope.patcher.node))
    budget = budget.spent(now)
    memory.keep(budget)
    record = attrs.evolve(request.put.record, followed=len(budget.sent))
    return attrs.evolve(request, put=attrs.evolve(request.put, record=record))


def _counts(request: DecidedPut) -> bool:
    intent = request.intent
    if intent.ready is None:
        return False
    is_same = intent.is_recorded
    if intent.mode is SyncMode.PUT and is_same:
        return False  # a PUT that each sync sends
    is_retry = is_same or intent.last_put is None or not intent.last_put.put
    is_spent = intent.ready.get("reason") == PUT_BUDGET_SPENT
    return not is_retry or intent.is_ready or is_spent
