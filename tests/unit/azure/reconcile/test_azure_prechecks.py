"""What the checks before a PUT mean for it, as a table. Rules: R1.9, R1.10."""

import pytest

from asoreconcile.azure.arm.condition_error import ConditionError, RetryClass
from asoreconcile.azure.middleware.requests import Block, Postpone, Proceed
from asoreconcile.azure.reconcile.model.decisions import Requeue
from asoreconcile.azure.reconcile.policies.checks import after_precheck


@pytest.mark.parametrize(
    ("result", "ending"),
    [(Proceed(), None), (Postpone(after_seconds=7.0), Requeue(7.0))],
)
def test_a_check_lets_the_put_out_or_puts_it_off(result, ending):
    assert after_precheck(result) == ending


def test_r1_10_a_check_that_blocks_fails_the_reconcile():
    with pytest.raises(ConditionError, match="wait for it") as raised:
        after_precheck(Block("wait for it", RetryClass.SLOW))
    assert raised.value.reason == "ReconciliationBlocked"
    assert raised.value.retry is RetryClass.SLOW
