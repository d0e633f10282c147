"""The rules of kinds, held by the reconciler where nobody else holds them."""

import pytest
from world import World, resource_group, role_assignment, virtual_network

from asoreconcile.azure.reconcile.model.annotations import FINALIZER, RESOURCE_ID
from asoreconcile.base.objects import annotations, finalizers

NETWORKS = "network.azure.com/VirtualNetwork"
ASSIGNMENTS = "authorization.azure.com/RoleAssignment"
HALF = [{"reference": {"name": "x"}}]


@pytest.fixture(scope="module")
def start(module_path):
    with World(module_path, lro=5.0, retry_after=1) as running:
        running.install("resources.azure.com/ResourceGroup", NETWORKS, ASSIGNMENTS)
        running.settled(resource_group())
        yield running


def test_an_object_that_breaks_a_rule_is_not_claimed(world):
    """All that is wrong is said at once, and the object can go as it came."""
    obj = virtual_network(
        ipAllocations=HALF,
        addressSpace={"addressPrefixes": [], "ipamPoolPrefixAllocations": HALF},
    )
    world.apply(obj)
    world.run(obj)

    ready = world.ready(obj)
    assert (ready["reason"], ready["severity"]) == ("Failed", "Error")
    assert "spec.ipAllocations[0].reference: set group and kind too" in ready["message"]
    assert "spec.addressSpace.ipamPoolPrefixAllocations[0]" in ready["message"]
    assert finalizers(world.read(obj)) == []
    assert world.requests("PUT", "virtualNetworks") == []

    mended = virtual_network()
    world.apply(mended)
    world.settle(mended)
    assert len(world.requests("PUT", "virtualNetworks")) == 1


def test_an_edit_that_breaks_a_rule_is_not_sent_and_keeps_nobody(world):
    obj = virtual_network()
    world.apply(obj)
    world.settle(obj)
    world.apply(virtual_network(ipAllocations=HALF))

    world.run(obj)

    ready = world.ready(obj)
    assert ready["reason"] == "Failed"
    assert ready["message"].startswith("spec.ipAllocations[0].reference: set group")
    assert len(world.requests("PUT", "virtualNetworks")) == 1
    assert FINALIZER in finalizers(world.read(obj))
    world.delete(obj)
    assert world.settle(obj) is None
    assert len(world.requests("DELETE", "virtualNetworks")) == 1


@pytest.mark.parametrize("convention", ["stable", "random"])
def test_r10_1_a_made_up_name_stays_whatever_would_be_made_up_now(world, convention):
    """Versions make up different ones, and a random one is new each time."""
    obj = role_assignment(
        "Reader",
        principalId="11111111-1111-1111-1111-111111111111",
        operatorSpec={"namingConvention": convention},
    )
    if convention == "random":
        obj["spec"]["azureName"] = "6f0e1b9c-aaaa-11f0-9d5c-0242ac120002"
    world.apply(obj)
    claimed = annotations(world.settle(obj))[RESOURCE_ID]
    other = role_assignment(
        "Reader",
        principalId="11111111-1111-1111-1111-111111111111",
        description="reads",
        operatorSpec={"namingConvention": "random"},
    )

    world.apply(other)
    world.settle(other)

    puts = world.requests("PUT", "roleAssignments")
    assert {put.path for put in puts} == {claimed}
    assert len(puts) == 2
