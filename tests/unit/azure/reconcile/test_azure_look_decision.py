"""The time of the next look at an object: one decision over all reasons."""

import random

import attrs
import pytest

from asoreconcile.azure.reconcile.model.decisions import AT_ONCE_SECONDS
from asoreconcile.azure.reconcile.scope.next_look import LookFacts, next_look


@pytest.mark.parametrize(
    ("facts", "seconds"),
    [
        (LookFacts(), None),
        (LookFacts(sync=900.0), 900.0),
        (LookFacts(opening=60.0), 60.0),
        (LookFacts(sync=900.0, opening=60.0), 60.0),
        (LookFacts(failure=3600.0, opening=60.0), 60.0),
        (LookFacts(failure=3600.0, renewal=60.0), 3600.0),
        (LookFacts(sync=3600.0, renewal=60.0), 60.0),
        (LookFacts(fight=7200.0), 7200.0),
        (LookFacts(sync=3600.0, asked=20.0), 20.0),
        (LookFacts(failure=3600.0, asked=20.0, is_outdated=True), AT_ONCE_SECONDS),
        (LookFacts(sync=-1.0), 0.0),
    ],
)
def test_the_earliest_reason_counts(facts, seconds):
    assert next_look(facts) == seconds


@pytest.mark.parametrize("seed", range(20))
def test_a_further_reason_makes_no_look_later(seed):
    draw = random.Random(seed)
    facts = LookFacts()
    for name in draw.sample(["sync", "opening", "fight", "renewal", "asked"], 5):
        before = next_look(facts)
        facts = attrs.evolve(facts, **{name: draw.uniform(0.0, 9000.0)})
        after = next_look(facts)
        assert after is not None
        assert before is None or after <= before
