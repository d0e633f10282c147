"""State gates: what blocks, what passes, what the message says."""

import pytest

from asoreconcile.azure.arm.condition_error import RetryClass
from asoreconcile.azure.middleware.factories import (
    block_if_state,
    block_unless_owner_state,
    block_unless_state,
)
from asoreconcile.azure.middleware.requests import (
    Block,
    Postpone,
    PreReconcile,
    PreReconcileOwner,
    Proceed,
)
from asoreconcile.azure.testing.extensions import fails_if_called, fake_ctx, returns
from asoreconcile.base.objects import GroupKind

PROCEED = Proceed()
OWNER = GroupKind("sample.azure.com", "Owner")


def thing(state):
    return {
        "apiVersion": "sample.azure.com/v1",
        "kind": "Owner",
        "metadata": {"name": "it"},
        "status": {"state": state},
    }


def checked(gate, obj, *, next_=PROCEED):
    return gate(PreReconcile(fake_ctx(), obj), returns(next_))


@pytest.mark.parametrize("state", ["Succeeded", "FAILED", "canceled"])
def test_unless_passes_in_the_states_named_whatever_their_case(state):
    assert checked(block_unless_state("status.state"), thing(state)) == Proceed()


@pytest.mark.parametrize("state", ["Updating", "upgrading", "Succeededish"])
def test_unless_blocks_in_any_other_state(state):
    gate = block_unless_state("status.state", message="{name} is {state}")
    answer = gate(PreReconcile(fake_ctx(), thing(state)), fails_if_called)
    assert answer == Block(f"it is {state}", RetryClass.SLOW)


@pytest.mark.parametrize(
    "obj",
    [{}, {"status": {}}, thing(None), thing(""), {"status": {"state": {"odd": 1}}}],
    ids=["no status", "no state", "null", "empty", "no text"],
)
@pytest.mark.parametrize(
    "gate",
    [block_unless_state("status.state"), block_if_state("status.state", {"deleting"})],
    ids=["unless", "if"],
)
def test_an_absent_state_goes_on(gate, obj):
    assert checked(gate, obj) == Proceed()


def test_going_on_asks_the_next_link():
    answer = checked(
        block_unless_state("status.state"), thing("Succeeded"), next_=Postpone(5)
    )
    assert answer == Postpone(5)


@pytest.mark.parametrize(
    ("state", "blocks"),
    [("Deleting", True), ("deleting", True), ("Succeeded", False), ("Failed", False)],
)
def test_if_blocks_in_the_states_named_only(state, blocks):
    answer = checked(block_if_state("status.state", {"deleting"}), thing(state))
    assert isinstance(answer, Block) is blocks


def test_owner_gate_blocks_and_names_the_owner():
    gate = block_unless_owner_state(OWNER, "status.state", message="{name}: {state}")
    answer = gate(PreReconcileOwner(fake_ctx(), thing("Updating")), fails_if_called)
    assert answer == Block("it: Updating")


def test_owner_gate_does_not_look_at_owners_of_another_kind():
    gate = block_unless_owner_state(GroupKind("sample.azure.com", "X"), "status.state")
    answer = gate(
        PreReconcileOwner(fake_ctx(), thing("Updating")), returns(Postpone(1))
    )
    assert answer == Postpone(1)


@pytest.mark.parametrize(
    ("state", "blocks"), [("Succeeded", False), ("succeeded", True), ("Failed", True)]
)
def test_owner_gate_can_compare_to_the_letter(state, blocks):
    gate = block_unless_owner_state(
        OWNER, "status.state", {"Succeeded"}, exact_case=True
    )
    answer = gate(PreReconcileOwner(fake_ctx(), thing(state)), returns(Proceed()))
    assert isinstance(answer, Block) is blocks
