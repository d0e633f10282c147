"""What is said of annotations whose value is not known, as a table."""

import pytest

from asoreconcile.azure.reconcile.model.annotation_values import unknown_values
from asoreconcile.azure.reconcile.model.annotations import RECONCILE_POLICY
from asoreconcile.azure.reconcile.model.decisions import (
    AppendToMessages,
    EmitEvent,
    Log,
    UpdateMemory,
)
from asoreconcile.azure.reconcile.model.policy import Policy
from asoreconcile.azure.reconcile.model.sync_mode import SYNC_MODE, SyncMode

DEFAULTS = {RECONCILE_POLICY: Policy.MANAGE, SYNC_MODE: SyncMode.PUT}


def decide(own, inherited=(), known=frozenset()):
    return unknown_values(
        own, dict(inherited), defaults=DEFAULTS, wrong={}, known=known
    )


@pytest.mark.parametrize(
    "own",
    [{}, {RECONCILE_POLICY: ""}, {RECONCILE_POLICY: "skip", SYNC_MODE: "report"}],
)
def test_what_is_understood_is_not_spoken_of(own):
    assert decide(own) == (
        UpdateMemory(unknown_values=frozenset()),
        AppendToMessages(""),
    )


def test_r1_7_what_is_not_is_told_once_and_stays_in_the_condition():
    own = {RECONCILE_POLICY: "Skip"}
    told, log, remember, remark = decide(own)
    assert isinstance(told, EmitEvent)
    assert isinstance(log, Log)
    assert (told.type, told.reason) == ("Warning", "UnknownAnnotationValue")
    assert "'Skip'" in remark.text
    assert remember == UpdateMemory(unknown_values=frozenset({remark.text}))
    again = decide(own, known=remember.unknown_values)
    assert again == (remember, remark)


def test_the_namespace_s_value_counts_where_there_is_no_own():
    *_, remark = decide({}, {SYNC_MODE: "look"})
    assert "the Namespace's annotation" in remark.text
    *_, remark = decide({SYNC_MODE: "put"}, {SYNC_MODE: "look"})
    assert remark == AppendToMessages("")
