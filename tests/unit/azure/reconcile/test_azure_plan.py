"""How a reconcile begins, as a table over metadata."""

import pytest

from asoreconcile.azure.reconcile.engine.plan import Step, plan
from asoreconcile.azure.reconcile.model.annotations import (
    CLAIM,
    DELETE_POLLER,
    FINALIZER,
    OPERATOR_NAMESPACE,
    POLLER_ID,
    POLLER_TOKEN,
    PUT_POLLER,
    RESOURCE_ID,
)
from asoreconcile.azure.reconcile.model.policy import Policy

OURS = {OPERATOR_NAMESPACE: "ops"}
CLAIMED = {**OURS, RESOURCE_ID: "/subscriptions/s/resourceGroups/g"}
PUTTING = {**CLAIMED, POLLER_TOKEN: "{}", POLLER_ID: PUT_POLLER}
DELETING = {**CLAIMED, POLLER_TOKEN: "{}", POLLER_ID: DELETE_POLLER}
SKIP, DETACH, UNREADABLE = Policy.SKIP, Policy.DETACH_ON_DELETE, None
UNCLAIMED, GOING, STUCK = (
    {"finalizer": False},
    {"deleting": True},
    {"deleting": True, "can": False},
)
RECORDED = {**OURS, CLAIM: "open 2026 mark /subscriptions/s"}
HALF = [
    {name: value for name, value in PUTTING.items() if name != missing}
    for missing in (POLLER_ID, POLLER_TOKEN)
]


def decide(
    notes,
    *,
    policy=Policy.MANAGE,
    finalizer=True,
    deleting=False,
    can=True,
    is_arm=True,
    seen="",
):
    meta = {"name": "a", "namespace": "n", "annotations": notes, "generation": 7}
    if finalizer:
        meta["finalizers"] = ["other/finalizer", FINALIZER]
    if deleting:
        meta["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    return plan(
        {"metadata": meta, "status": {"id": seen} if seen else {}},
        may_write=policy is not None and policy.writes,
        may_delete=policy is not None and policy.deletes,
        operator_namespace="ops",
        can_delete=can,
        is_arm=is_arm,
        is_readable=policy is not None,
        is_paused=False,
    )


@pytest.mark.parametrize(
    ("notes", "given", "step"),
    [
        # R1.7: an unreadable policy keeps the resource as it is.
        pytest.param(
            CLAIMED, {"policy": UNREADABLE}, Step.AWAIT_POLICY, id="R1.7-neither-put"
        ),
        pytest.param(
            PUTTING, {"policy": UNREADABLE}, Step.AWAIT_POLICY, id="R1.7-nor-poll"
        ),
        pytest.param(
            CLAIMED,
            {"policy": UNREADABLE, **GOING},
            Step.AWAIT_POLICY,
            id="R1.7-nor-delete",
        ),
        pytest.param(
            DELETING, {"policy": UNREADABLE, **GOING}, Step.POLL, id="R1.7-sent-already"
        ),
        pytest.param(
            OURS, {"policy": UNREADABLE, **GOING}, Step.RELEASE, id="R1.7-never-made"
        ),
        pytest.param(
            {}, {"policy": UNREADABLE, **UNCLAIMED}, Step.CLAIM, id="R1.7-claimed"
        ),
        # R1.3: an unmarked object is marked first, and claimed with it.
        pytest.param({}, UNCLAIMED, Step.CLAIM, id="R1.3"),
        pytest.param(
            {OPERATOR_NAMESPACE: ""},
            UNCLAIMED,
            Step.CLAIM,
            id="R1.3",
        ),
        pytest.param(
            {RESOURCE_ID: "/subscriptions/s"},
            {},
            Step.CLAIM,
            id="R1.3",
        ),
        # R1.4: the claim comes before anything else, and not again.
        pytest.param(OURS, UNCLAIMED, Step.CLAIM, id="R1.4"),
        pytest.param(PUTTING, UNCLAIMED, Step.CLAIM, id="R1.4"),
        pytest.param(OURS, {**UNCLAIMED, "policy": SKIP}, Step.CLAIM, id="R1.4"),
        pytest.param(CLAIMED, {}, Step.PUT, id="R1.4"),
        # D10: a lost id is written before anything is asked.
        pytest.param(OURS, {}, Step.RESTORE_ID, id="D10"),
        pytest.param(OURS, {"policy": SKIP}, Step.RESTORE_ID, id="D10"),
        # R1.8: skip reads.
        pytest.param(CLAIMED, {"policy": SKIP}, Step.OBSERVE, id="R1.8"),
        pytest.param(PUTTING, {"policy": SKIP}, Step.OBSERVE, id="R1.8"),
        # R1.12: a running PUT is polled.
        pytest.param(PUTTING, {}, Step.POLL, id="R1.12"),
        pytest.param(PUTTING, {"policy": DETACH}, Step.POLL, id="R1.12"),
        # R2.1, D16: half an operation, or another's, is none.
        pytest.param(HALF[0], {}, Step.PUT, id="R2.1"),
        pytest.param(HALF[1], {}, Step.PUT, id="R2.1"),
        pytest.param({**PUTTING, POLLER_ID: "Somebody.Else"}, {}, Step.PUT, id="R2.1"),
        # R5.1: a detached deletion asks Azure nothing.
        pytest.param(CLAIMED, {**GOING, "policy": SKIP}, Step.RELEASE, id="R5.1"),
        pytest.param(CLAIMED, {**GOING, "policy": DETACH}, Step.RELEASE, id="R5.1"),
        # R5.2, D18: never claimed; and without our finalizer none of ours.
        pytest.param(OURS, GOING, Step.RELEASE, id="R5.2"),
        pytest.param(CLAIMED, {**GOING, **UNCLAIMED}, Step.RELEASE, id="R5.2"),
        # R5.2: whatever names the id is reason enough to look whose it is.
        pytest.param(OURS, {**GOING, "seen": "/id"}, Step.RESTORE_ID, id="R5.2"),
        pytest.param(RECORDED, GOING, Step.RESTORE_ID, id="R5.2"),
        pytest.param(
            {**OURS, POLLER_TOKEN: "token"}, GOING, Step.RESTORE_ID, id="R5.2"
        ),
        # R5.7: a deletion does not wait for a running create.
        pytest.param(CLAIMED, GOING, Step.DELETE, id="R5.7"),
        pytest.param(PUTTING, GOING, Step.DELETE, id="R5.7"),
        pytest.param(DELETING, GOING, Step.POLL, id="R5.7"),
        # R5.9: a kind without DELETE is held.
        pytest.param(CLAIMED, STUCK, Step.AWAIT_PARENT, id="R5.9"),
        pytest.param(OURS, STUCK, Step.RELEASE, id="R5.9"),
        pytest.param(CLAIMED, {**STUCK, "policy": DETACH}, Step.RELEASE, id="R5.9"),
    ],
)
def test_what_a_reconcile_begins_with(notes, given, step):
    assert decide(notes, **given) == step


def test_r1_2_a_foreign_object_is_left():
    notes = {OPERATOR_NAMESPACE: "elsewhere"}
    for given in ({}, GOING):
        assert decide(notes, **given) is Step.LEAVE


@pytest.mark.parametrize(
    ("notes", "given", "step"),
    [
        (OURS, UNCLAIMED, Step.CLAIM),
        ({}, {}, Step.CLAIM),
        # No ARM id is missed, and no operation is polled.
        (OURS, {}, Step.PUT),
        (PUTTING, {}, Step.PUT),
        (OURS, {"policy": SKIP}, Step.OBSERVE),
        (OURS, GOING, Step.DELETE),
        (DELETING, GOING, Step.DELETE),
        (OURS, {**GOING, "policy": DETACH}, Step.RELEASE),
        (OURS, {**GOING, **UNCLAIMED}, Step.RELEASE),
    ],
)
def test_a_kind_without_arm_has_neither_an_id_nor_operations(notes, given, step):
    assert decide(notes, **given, is_arm=False) == step
