"""What is said of annotations whose value is not known, as a table."""

import pytest

from asoreconcile.azure.reconcile.model.annotation_values import unknown_values
from asoreconcile.azure.reconcile.model.annotations import RECONCILE_POLICY
from asoreconcile.azure.reconcile.model.policy import Policy
from asoreconcile.azure.reconcile.model.sync_mode import SYNC_MODE, SyncMode

DEFAULTS = {RECONCILE_POLICY: Policy.MANAGE, SYNC_MODE: SyncMode.PUT}


def decide(own, inherited=()):
    return unknown_values(own, dict(inherited), DEFAULTS)


@pytest.mark.parametrize(
    "own",
    [{}, {RECONCILE_POLICY: ""}, {RECONCILE_POLICY: "skip", SYNC_MODE: "report"}],
)
def test_what_is_understood_is_not_spoken_of(own):
    assert decide(own) == {}


def test_r1_7_what_is_not_understood_is_named():
    (sentence,) = decide({RECONCILE_POLICY: "Skip"}).values()
    assert "'Skip'" in sentence


def test_the_namespace_s_value_counts_where_there_is_no_own():
    (sentence,) = decide({}, {SYNC_MODE: "look"}).values()
    assert "the Namespace's annotation" in sentence
    assert decide({SYNC_MODE: "put"}, {SYNC_MODE: "look"}) == {}
