"""What the checks before a PUT mean for it, as a table. Rules: R1.9, R1.10."""

import pytest

from asoreconcile.azure.arm.condition_error import RetryClass
from asoreconcile.azure.middleware.requests import Block, Postpone, Proceed
from asoreconcile.azure.reconcile.model.decisions import (
    Decision,
    Fail,
    Requeue,
    RestoreReady,
)
from asoreconcile.azure.reconcile.writes.prechecks import after_precheck


@pytest.mark.parametrize(
    ("result", "decision"),
    [
        (Proceed(), None),
        (Postpone(after_seconds=7.0), Decision((RestoreReady(),), Requeue(7.0))),
    ],
)
def test_a_check_lets_the_put_out_or_puts_it_off(result, decision):
    assert after_precheck(result) == decision


def test_r1_10_a_check_that_blocks_fails_the_reconcile():
    blocked = after_precheck(Block("wait for it", RetryClass.SLOW))
    assert blocked.effects == ()
    assert isinstance(blocked.then, Fail)
    error = blocked.then.error
    assert (str(error), error.reason, error.retry) == (
        "wait for it",
        "ReconciliationBlocked",
        RetryClass.SLOW,
    )
