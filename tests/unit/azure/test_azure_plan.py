"""What a pass does, as a table over metadata."""

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
from asoreconcile.azure.plan import Plan, Step, plan
from asoreconcile.azure.policy import Policy

OURS = {OPERATOR_NAMESPACE: "ops"}
CLAIMED = {**OURS, RESOURCE_ID: "/subscriptions/s/resourceGroups/g"}
PUTTING = {**CLAIMED, POLLER_TOKEN: "{}", POLLER_ID: PUT_POLLER}
DELETING = {**CLAIMED, POLLER_TOKEN: "{}", POLLER_ID: DELETE_POLLER}


def decide(notes, *, policy=Policy.MANAGE, finalizer=True, deleting=False, can=True):
    meta = {"name": "a", "namespace": "n", "annotations": notes}
    if finalizer:
        meta["finalizers"] = ["other/finalizer", FINALIZER]
    if deleting:
        meta["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    return plan(
        {"metadata": meta}, policy=policy, operator_namespace="ops", can_delete=can
    )


def test_r1_2_foreign_object_is_left_alone():
    notes = {OPERATOR_NAMESPACE: "elsewhere"}
    assert decide(notes) == Plan(Step.IGNORE_FOREIGN)
    assert decide(notes, deleting=True) == Plan(Step.IGNORE_FOREIGN)


def test_r1_3_unmarked_object_is_marked_first():
    marked_and_claimed = Plan(Step.MARK, claim=True)
    assert decide({}, finalizer=False) == marked_and_claimed
    assert decide({OPERATOR_NAMESPACE: ""}, finalizer=False) == marked_and_claimed


def test_r1_4_what_lost_its_mark_alone_is_not_claimed_again():
    assert decide({RESOURCE_ID: "/subscriptions/s"}) == Plan(Step.MARK)


def test_r1_4_claim_comes_before_the_first_put_and_not_again():
    assert decide(OURS, finalizer=False) == Plan(Step.CLAIM)
    assert decide(CLAIMED) == Plan(Step.BEGIN)
    assert decide(PUTTING, finalizer=False) == Plan(Step.CLAIM)


def test_d10_a_lost_id_is_written_before_anything_is_asked():
    assert decide(OURS) == Plan(Step.RESTORE_ID)
    assert decide(OURS, policy=Policy.SKIP) == Plan(Step.RESTORE_ID)


def test_r1_8_skip_claims_and_observes():
    assert decide(OURS, policy=Policy.SKIP, finalizer=False) == Plan(Step.CLAIM)
    assert decide(CLAIMED, policy=Policy.SKIP) == Plan(Step.OBSERVE)
    assert decide(PUTTING, policy=Policy.SKIP) == Plan(Step.OBSERVE)


def test_r1_12_running_put_is_polled():
    assert decide(PUTTING) == Plan(Step.MONITOR)
    assert decide(PUTTING, policy=Policy.DETACH_ON_DELETE) == Plan(Step.MONITOR)


@pytest.mark.parametrize("missing", [POLLER_ID, POLLER_TOKEN])
def test_r2_1_one_poller_key_alone_counts_as_none(missing):
    half = {name: value for name, value in PUTTING.items() if name != missing}
    assert decide(half) == Plan(Step.BEGIN, drop_poller=True)


def test_d16_poller_of_another_kind_is_dropped():
    wrong = {**PUTTING, POLLER_ID: "Somebody.Else"}
    assert decide(wrong) == Plan(Step.BEGIN, drop_poller=True)


@pytest.mark.parametrize("policy", [Policy.SKIP, Policy.DETACH_ON_DELETE])
def test_r5_1_detached_deletion_asks_azure_nothing(policy):
    assert decide(CLAIMED, policy=policy, deleting=True) == Plan(Step.REMOVE_FINALIZER)


def test_r5_2_d18_never_claimed_is_let_go():
    assert decide(OURS, deleting=True) == Plan(Step.REMOVE_FINALIZER)


def test_deletion_without_our_finalizer_is_none_of_ours():
    assert decide(CLAIMED, finalizer=False, deleting=True) == Plan(
        Step.REMOVE_FINALIZER
    )


def test_r5_7_delete_does_not_wait_for_a_running_create():
    assert decide(PUTTING, deleting=True) == Plan(Step.BEGIN_DELETE)


def test_running_delete_is_polled():
    assert decide(DELETING, deleting=True) == Plan(Step.MONITOR_DELETE)


def test_r5_9_kind_without_delete_is_held():
    assert decide(CLAIMED, deleting=True, can=False) == Plan(Step.AWAIT_PARENT_DELETION)
    assert decide(OURS, deleting=True, can=False) == Plan(Step.REMOVE_FINALIZER)
    assert decide(
        CLAIMED, policy=Policy.DETACH_ON_DELETE, deleting=True, can=False
    ) == Plan(Step.REMOVE_FINALIZER)
