"""The budget of PUTs that follow a success."""

import pytest

from asoreconcile.azure.arm.condition_error import ConditionError
from asoreconcile.azure.reconcile.model.put_budget import (
    MOST_PUTS,
    PUT_BUDGET_SPENT,
)
from asoreconcile.azure.reconcile.policies import order
from asoreconcile.azure.reconcile.policies.phase import run


def test_puts_that_follow_a_success_are_limited(reconcile):
    for number in range(MOST_PUTS):
        sent = run(order.AT_PUT, reconcile().put(), lambda request: request)
        assert sent.put.record.followed == number + 1
    with pytest.raises(ConditionError) as held:
        run(order.AT_PUT, reconcile().put(), lambda request: request)
    assert held.value.reason == PUT_BUDGET_SPENT
