"""How a reconcile begins, as a table over metadata."""

import pytest

from asoreconcile.azure.reconcile.engine.plan import plan
from asoreconcile.azure.reconcile.model.annotations import (
    DELETE_POLLER,
    FINALIZER,
    OPERATOR_NAMESPACE,
    POLLER_ID,
    POLLER_TOKEN,
    PUT_POLLER,
    RESOURCE_ID,
)
from asoreconcile.azure.reconcile.model.conditions import deleting, reconciling
from asoreconcile.azure.reconcile.model.decisions import (
    CheckAbsent,
    Claim,
    Decision,
    Follows,
    Log,
    Poll,
    PrepareDelete,
    PreparePut,
    Read,
    RemoveFinalizer,
    RestoreId,
    SetMetadata,
    SetOperatorNamespace,
    SetReady,
    Stop,
    UpdateMemory,
)
from asoreconcile.azure.reconcile.model.policy import Policy

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
        pytest.param({}, UNCLAIMED, SetOperatorNamespace(claim=True), id="R1.3"),
        pytest.param(
            {OPERATOR_NAMESPACE: ""},
            UNCLAIMED,
            SetOperatorNamespace(claim=True),
            id="R1.3",
        ),
        pytest.param(
            {RESOURCE_ID: "/subscriptions/s"},
            {},
            SetOperatorNamespace(claim=False),
            id="R1.3",
        ),
        # R1.4: the claim comes before anything else, and not again.
        pytest.param(OURS, UNCLAIMED, Claim(), id="R1.4"),
        pytest.param(PUTTING, UNCLAIMED, Claim(), id="R1.4"),
        pytest.param(OURS, {**UNCLAIMED, "policy": SKIP}, Claim(), id="R1.4"),
        pytest.param(CLAIMED, {}, PreparePut(), id="R1.4"),
        # D10: a lost id is written before anything is asked.
        pytest.param(OURS, {}, RestoreId(), id="D10"),
        pytest.param(OURS, {"policy": SKIP}, RestoreId(), id="D10"),
        # R1.8: skip reads.
        pytest.param(CLAIMED, {"policy": SKIP}, Read(Follows.NOTHING), id="R1.8"),
        pytest.param(PUTTING, {"policy": SKIP}, Read(Follows.NOTHING), id="R1.8"),
        # R1.12: a running PUT is polled.
        pytest.param(PUTTING, {}, Poll(), id="R1.12"),
        pytest.param(PUTTING, {"policy": DETACH}, Poll(), id="R1.12"),
        # R2.1, D16: half an operation, or another's, is none.
        pytest.param(HALF[0], {}, PreparePut(), id="R2.1"),
        pytest.param(HALF[1], {}, PreparePut(), id="R2.1"),
        pytest.param(
            {**PUTTING, POLLER_ID: "Somebody.Else"}, {}, PreparePut(), id="R2.1"
        ),
        # R5.1: a detached deletion asks Azure nothing.
        pytest.param(CLAIMED, {**GOING, "policy": SKIP}, RemoveFinalizer(), id="R5.1"),
        pytest.param(
            CLAIMED, {**GOING, "policy": DETACH}, RemoveFinalizer(), id="R5.1"
        ),
        # R5.2, D18: never claimed; and without our finalizer none of ours.
        pytest.param(OURS, GOING, RemoveFinalizer(), id="R5.2"),
        pytest.param(CLAIMED, {**GOING, **UNCLAIMED}, RemoveFinalizer(), id="R5.2"),
        # R5.7: a deletion does not wait for a running create.
        pytest.param(CLAIMED, GOING, PrepareDelete(), id="R5.7"),
        pytest.param(PUTTING, GOING, PrepareDelete(), id="R5.7"),
        pytest.param(DELETING, GOING, Poll(), id="R5.7"),
        # R5.9: a kind without DELETE is held.
        pytest.param(CLAIMED, STUCK, CheckAbsent(), id="R5.9"),
        pytest.param(OURS, STUCK, RemoveFinalizer(), id="R5.9"),
        pytest.param(
            CLAIMED, {**STUCK, "policy": DETACH}, RemoveFinalizer(), id="R5.9"
        ),
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
    assert decide(CLAIMED).effects == (SetReady(reconciling(7)),)
    assert decide(PUTTING).effects == (SetReady(reconciling(7)),)
    assert decide(DELETING, **GOING).effects == (SetReady(deleting(7)),)
    for notes, given in ((OURS, UNCLAIMED), (OURS, {}), ({}, {}), (CLAIMED, STUCK)):
        assert decide(notes, **given).effects == ()


def test_d16_an_operation_that_is_not_ours_is_forgotten():
    notes = {**PUTTING, POLLER_ID: "Somebody.Else"}
    shown, logged, memory, note = decide(notes).effects
    assert isinstance(shown, SetReady)
    assert isinstance(logged, Log)
    assert isinstance(memory, UpdateMemory)
    assert note == SetMetadata({POLLER_TOKEN: None, POLLER_ID: None})


def test_what_is_decided_is_a_value():
    assert decide(PUTTING) == Decision((SetReady(reconciling(7)),), Poll())
