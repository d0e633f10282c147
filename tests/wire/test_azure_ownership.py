"""Names and annotations stay inside their kind and owner: what an author writes never
leads to somebody else's resource.
"""

import pytest
from world import World, resource_group, virtual_network

from asoreconcile.azure.reconcile.model.annotations import (
    FINALIZER,
    POLLER_ID,
    POLLER_TOKEN,
    PUT_POLLER,
    RECONCILE_POLICY,
    RESOURCE_ID,
)
from asoreconcile.base.objects import annotations

GROUPS = "resources.azure.com/ResourceGroup"
NETWORKS = "network.azure.com/VirtualNetwork"
SUBNETS = "network.azure.com/VirtualNetworksSubnet"


@pytest.fixture(scope="module")
def start(module_path):
    with World(module_path) as running:
        running.install(GROUPS, NETWORKS, SUBNETS)
        running.settled(resource_group("live"))
        yield running


def live_id(world):
    return f"/subscriptions/{world.azure.subscription_id}/resourceGroups/live"


def planted(world, obj, arm_id, **notes):
    """An object that its author made look claimed, for a resource of others."""
    obj["metadata"]["finalizers"] = [FINALIZER]
    obj["metadata"]["annotations"] = {RESOURCE_ID: arm_id, **notes}
    world.apply(obj)
    return obj


def warnings(world):
    return [
        (reason, text) for _, kind, reason, text in world.events if kind != "Normal"
    ]


@pytest.mark.parametrize(
    "name",
    [
        "rg/providers/Microsoft.Network/virtualNetworks/x",
        "../../x",
        "..",
        "/abs",
        "a\\b",
        "a\r\nb",
    ],
)
def test_a_name_that_is_no_single_segment_is_refused_and_nothing_sent(world, name):
    sent = len(world.azure.journal)
    group = resource_group("odd", azureName=name)
    world.apply(group)
    world.run(group)
    ready = world.ready(group)
    assert (ready["reason"], ready["severity"]) == ("Failed", "Error")
    assert "spec.azureName" in ready["message"]
    assert len(world.azure.journal) == sent
    assert RESOURCE_ID not in annotations(world.read(group))


def test_an_owner_s_id_with_odd_segments_is_refused_and_nothing_sent(world):
    network = virtual_network()
    network["spec"]["owner"] = {"armId": live_id(world).replace("live", "..")}
    sent = len(world.azure.journal)
    world.apply(network)
    world.run(network)
    assert "spec.owner.armId" in world.ready(network)["message"]
    assert len(world.azure.journal) == sent


def test_a_planted_id_deletes_nothing(world):
    """A group of another name, with our finalizer: its deletion is not the live
    one's.
    """
    evil = planted(world, resource_group("evil"), live_id(world))
    world.delete(evil)
    world.run(evil)
    assert world.read(evil) is None
    assert world.requests("DELETE") == []
    ((reason, text),) = warnings(world)
    assert reason == "NotDeletedInAzure"
    assert f"{live_id(world)} is left in Azure" in text


def test_a_planted_id_below_an_owner_that_is_gone_deletes_nothing(world):
    network = virtual_network("net", owner="live")
    world.settled(network)
    (there,) = world.requests("PUT", "virtualNetworks")
    evil = planted(
        world, virtual_network("evil", owner="nowhere"), there.path.partition("?")[0]
    )
    world.delete(evil)
    world.run(evil)
    assert world.read(evil) is None
    assert world.requests("DELETE") == []


@pytest.mark.parametrize("way", ["skip", "poller"])
def test_the_status_never_takes_in_a_planted_id(world, way):
    """It is what is believed once the owner is gone."""
    evil = planted(world, resource_group("evil"), live_id(world))
    if way == "skip":
        world.annotate(evil, **{RECONCILE_POLICY: "skip"})
    else:
        token = (
            '{"type":"GenericResource","token":{"type":"body","pollURL":"'
            f"{world.azure.url}{live_id(world)}?api-version=2020-06-01"
            '","state":"Creating"}}'
        )
        world.annotate(evil, **{POLLER_ID: PUT_POLLER, POLLER_TOKEN: token})
    for _ in range(3):
        world.run(evil)
    assert world.ready(evil)["severity"] == "Error"
    assert "id" not in world.read(evil)["status"]
    world.annotate(evil, **{RECONCILE_POLICY: None})
    world.delete(evil)
    world.run(evil)
    assert world.read(evil) is None
    assert world.requests("DELETE") == []


def test_what_the_operator_made_is_deleted_though_spec_was_edited_since(world):
    """Where no webhook and no rule of the CRD holds it anybody can rename."""
    network = virtual_network("net", owner="live")
    world.settled(network)
    present = world.read(network)
    present["spec"]["azureName"] = "renamed"
    world.delete(network)
    present["metadata"] = world.read(network)["metadata"]
    world.run(network, stale=present)
    assert world.settle(network) is None
    assert len(world.requests("DELETE", "virtualNetworks/net")) == 1
    assert warnings(world) == []
