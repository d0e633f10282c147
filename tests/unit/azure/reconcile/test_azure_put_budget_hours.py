"""How many PUTs may follow a success within an hour, as properties over times."""

import random

import pytest

from asoreconcile.azure.reconcile.model.object_reference import ObjectReference
from asoreconcile.azure.reconcile.model.put_budget import (
    MOST_PUTS,
    PERIOD_SECONDS,
    PutBudget,
    budget_spent,
)
from asoreconcile.base.objects import GroupKind, ObjectKey


@pytest.mark.parametrize("seed", range(20))
def test_no_hour_has_more_puts_than_the_budget(seed):
    rng, now, budget, sent = random.Random(seed), 0.0, PutBudget(), []
    for _ in range(400):
        now += rng.choice([0.0, 0.1, rng.uniform(0, 60), rng.uniform(0, 2000)])
        wait = budget.wait(now)
        assert 0.0 <= wait <= PERIOD_SECONDS
        if wait:
            # Not a second earlier, and then at once.
            assert budget.wait(now + wait - 0.01) > 0
            assert budget.wait(now + wait + 0.01) == 0
            continue
        budget = budget.spent(now)
        sent.append(now)
        assert len(budget.sent) <= MOST_PUTS
    for first in sent:
        within = [at for at in sent if first <= at < first + PERIOD_SECONDS]
        assert len(within) <= MOST_PUTS


def node(kind, name):
    return ObjectReference(GroupKind("g", kind), ObjectKey("ns", name))


def test_the_condition_names_the_loop_and_waits_for_the_budget():
    server = node("FlexibleServer", "a")
    loop = [
        server,
        node("Secret", "x"),
        node("Vault", "b"),
        node("Secret", "y"),
        server,
    ]
    error = budget_spent(42.0, loop)
    assert (error.reason, error.after_seconds) == ("PutBudgetSpent", 42.0)
    assert (
        "FlexibleServer 'a' -> Secret 'x' -> Vault 'b' -> Secret 'y' -> "
        "FlexibleServer 'a'"
    ) in str(error)
    assert "change each time" in str(budget_spent(42.0, []))
