"""How a reconcile begins, as a table over metadata."""

import pytest

from asoreconcile.azure.annotations import (
    DELETE_POLLER,
    FINALIZER,
    OPERATOR_NAMESPACE,
    POLLER_ID,
    POLLER_TOKEN,
    PUT_POLLER,
    RESOURCE_ID,
)
from asoreconcile.azure.conditions import deleting, reconciling
from asoreconcile.azure.decisions import (
    Claim,
    Decision,
    Follows,
    Log,
    Look,
    Mark,
    Note,
    Poll,
    Prepare,
    PrepareDelete,
    Read,
    Release,
    Remember,
    RestoreId,
    Show,
    Stop,
)
from asoreconcile.azure.plan import plan
from asoreconcile.azure.policy import Policy

OURS = {OPERATOR_NAMESPACE: "ops"}
CLAIMED = {**OURS, RESOURCE_ID: "/subscriptions/s/resourceGroups/g"}
PUTTING = {**CLAIMED, POLLER_TOKEN: "{}", POLLER_ID: PUT_POLLER}
DELETING = {**CLAIMED, POLLER_TOKEN: "{}", POLLER_ID: DELETE_POLLER}
SKIP, DETACH = Policy.SKIP, Policy.DETACH_ON_DELETE
UNCLAIMED, GOING, STUCK = (
    {"finalizer": False},
    {"deleting": True},
    {"deleting": True, "can": False},
)
HALF = [
    {name: value for name, value in PUTTING.items() if name != missing}
    for missing in (POLLER_ID, POLLER_TOKEN)
]


def decide(notes, *, policy=Policy.MANAGE, finalizer=True, deleting=False, can=True):
    meta = {"name": "a", "namespace": "n", "annotations": notes, "generation": 7}
    if finalizer:
        meta["finalizers"] = ["other/finalizer", FINALIZER]
    if deleting:
        meta["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    return plan(
        {"metadata": meta}, policy=policy, operator_namespace="ops", can_delete=can
    )


@pytest.mark.parametrize(
    ("notes", "given", "action"),
    [
        # R1.3: an unmarked object is marked first, and claimed with it.
        ({}, UNCLAIMED, Mark(claim=True)),
        ({OPERATOR_NAMESPACE: ""}, UNCLAIMED, Mark(claim=True)),
        ({RESOURCE_ID: "/subscriptions/s"}, {}, Mark(claim=False)),
        # R1.4: the claim comes before anything else, and not again.
        (OURS, UNCLAIMED, Claim()),
        (PUTTING, UNCLAIMED, Claim()),
        (OURS, {**UNCLAIMED, "policy": SKIP}, Claim()),
        (CLAIMED, {}, Prepare()),
        # D10: a lost id is written before anything is asked.
        (OURS, {}, RestoreId()),
        (OURS, {"policy": SKIP}, RestoreId()),
        # R1.8: skip reads.
        (CLAIMED, {"policy": SKIP}, Read(Follows.NOTHING)),
        (PUTTING, {"policy": SKIP}, Read(Follows.NOTHING)),
        # R1.12: a running PUT is polled.
        (PUTTING, {}, Poll()),
        (PUTTING, {"policy": DETACH}, Poll()),
        # R2.1, D16: half an operation, or another's, is none.
        (HALF[0], {}, Prepare()),
        (HALF[1], {}, Prepare()),
        ({**PUTTING, POLLER_ID: "Somebody.Else"}, {}, Prepare()),
        # R5.1: a detached deletion asks Azure nothing.
        (CLAIMED, {**GOING, "policy": SKIP}, Release()),
        (CLAIMED, {**GOING, "policy": DETACH}, Release()),
        # R5.2, D18: never claimed; and without our finalizer none of ours.
        (OURS, GOING, Release()),
        (CLAIMED, {**GOING, **UNCLAIMED}, Release()),
        # R5.7: a deletion does not wait for a running create.
        (CLAIMED, GOING, PrepareDelete()),
        (PUTTING, GOING, PrepareDelete()),
        (DELETING, GOING, Poll()),
        # R5.9: a kind without DELETE is held.
        (CLAIMED, STUCK, Look()),
        (OURS, STUCK, Release()),
        (CLAIMED, {**STUCK, "policy": DETACH}, Release()),
    ],
)
def test_what_a_reconcile_begins_with(notes, given, action):
    assert decide(notes, **given).then == action


def test_r1_2_a_foreign_object_gets_an_event_and_nothing_else():
    notes = {OPERATOR_NAMESPACE: "elsewhere"}
    for given in ({}, GOING):
        decided = decide(notes, **given)
        assert [(told.type, told.reason) for told in decided.effects] == [
            ("Warning", "Overlap")
        ]
        assert decided.then == Stop()


def test_what_is_under_way_is_shown_with_its_generation():
    assert decide(CLAIMED).effects == (Show(reconciling(7)),)
    assert decide(PUTTING).effects == (Show(reconciling(7)),)
    assert decide(DELETING, **GOING).effects == (Show(deleting(7)),)
    for notes, given in ((OURS, UNCLAIMED), (OURS, {}), ({}, {}), (CLAIMED, STUCK)):
        assert decide(notes, **given).effects == ()


def test_d16_an_operation_that_is_not_ours_is_forgotten():
    notes = {**PUTTING, POLLER_ID: "Somebody.Else"}
    shown, logged, memory, note = decide(notes).effects
    assert isinstance(shown, Show)
    assert isinstance(logged, Log)
    assert isinstance(memory, Remember)
    assert note == Note({POLLER_TOKEN: None, POLLER_ID: None})


def test_what_is_decided_is_a_value():
    assert decide(PUTTING) == Decision((Show(reconciling(7)),), Poll())
