"""I6: a resource that somebody moves in Azure, or takes away, behind our back."""

import attrs
import pytest
from world import World, resource_group, virtual_network

from asoreconcile.azure.reconcile.model.annotations import RECONCILE_POLICY, RESOURCE_ID
from asoreconcile.azure.reconcile.model.external_deletion import RECREATED
from asoreconcile.azure.reconcile.model.sync_mode import SyncMode
from asoreconcile.base.objects import annotations

GROUPS = "resources.azure.com/ResourceGroup"
NETWORKS = "network.azure.com/VirtualNetwork"
TAGS = {"made": "by hand"}


@pytest.fixture(scope="module")
def start(module_path):
    with World(module_path, lro=5.0, retry_after=1) as running:
        running.install(GROUPS, NETWORKS)
        yield running


@pytest.fixture
def network(world):
    """A network that is Ready, with a subnet that somebody made in it."""
    for obj in (resource_group(), resource_group("other"), virtual_network()):
        world.apply(obj)
        world.settle(obj)
    obj = virtual_network()
    body = {"properties": {"addressPrefix": "10.0.1.0/24"}}
    world.azure.seed(f"{arm_id(world, obj)}/subnets/hand", body)
    return obj


def arm_id(world, obj):
    return annotations(world.read(obj))[RESOURCE_ID]


def move(world, obj, target="other"):
    """Move a resource as the portal does; its new id."""
    id_ = arm_id(world, obj)
    source = "/".join(id_.split("/")[:5])
    new = source.rpartition("/")[0] + f"/{target}"
    with world.azure.session() as session:
        wish = {"resources": [id_], "targetResourceGroup": new}
        begun = session.post(f"{source}/moveResources", json=wish)
        assert begun.status_code == 202
        world.clock.advance(5.0)
        assert session.get(begun.headers["Location"]).status_code == 204
        assert session.get(id_).status_code == 404
    return id_.replace(source, new)


def sync(world, obj):
    """A sync, with the passes that an operation takes."""
    world.clock.advance(3600.0)
    world.azure.journal.clear()
    world.events.clear()
    for _ in range(12):
        after = world.run(obj).requeue_after_seconds
        if after > 60.0:
            return
        world.clock.advance(after)


def told(world):
    return [
        (kind, text) for _, kind, reason, text in world.events if reason == RECREATED
    ]


@pytest.mark.parametrize("mode", [SyncMode.PUT, SyncMode.COMPARE])
def test_i6_a_moved_resource_is_left_alone_and_said_to_be_made_again(
    world, network, mode
):
    world.operator = attrs.evolve(world.operator, sync_mode=mode)
    sync(world, network)
    assert told(world) == []
    old = arm_id(world, network)
    new = move(world, network)
    before = world.azure.resources()[new]
    sync(world, network)
    ((kind, text),) = told(world)
    assert kind == "Warning"
    assert old in text
    assert "spec.owner" in text
    assert "reconcile-policy" in text
    assert world.ready(network)["status"] == "True"
    resources = world.azure.resources()
    assert old in resources
    assert resources[new] == before
    assert f"{new}/subnets/hand" in resources
    assert [r for r in world.azure.journal if r.path.startswith(new)] == []
    # Said once: the next sync finds what it made.
    sync(world, network)
    assert told(world) == []
    # What the event advises: delete the object, apply it under the new owner.
    world.delete(network)
    assert world.settle(network) is None
    resources = world.azure.resources()
    assert old not in resources
    assert resources[new] == before
    followed = virtual_network(owner="other", tags=TAGS)
    world.apply(followed)
    world.settle(followed)
    assert arm_id(world, followed) == new
    assert world.azure.resources()[new]["tags"] == TAGS
    guid = before["properties"]["resourceGuid"]
    assert world.azure.resources()[new]["properties"]["resourceGuid"] == guid


def test_i6_policy_skip_keeps_a_moved_resource_from_being_made_again(world, network):
    network["metadata"]["annotations"] = {RECONCILE_POLICY: "skip"}
    world.apply(network)
    move(world, network)
    world.azure.journal.clear()
    world.run(network)
    ready = world.ready(network)
    assert ready["reason"] == "AzureResourceNotFound"
    assert "moved" in ready["message"]
    assert world.requests("PUT") == []


def test_i6_a_move_costs_only_the_reads_that_confirm_it(world, network):
    def asked():
        return [r.method for r in world.azure.journal if r.purpose != "poll"]

    sync(world, network)
    quiet = asked()
    world.azure.remove(arm_id(world, network))
    sync(world, network)
    assert len(told(world)) == 1
    # A network has subnets: it is read again, and looked for in its list.
    assert asked() == ["GET", "GET", *quiet]


def test_i6_a_group_that_is_made_again_is_said_at_the_put(world):
    group = world.settled(resource_group())
    world.azure.remove(arm_id(world, group))
    sync(world, group)
    assert len(told(world)) == 1
    sync(world, group)
    assert told(world) == []


def test_i6_both_groups_take_no_writes_while_resources_move(world, network):
    id_ = arm_id(world, network)
    source = "/".join(id_.split("/")[:5])
    wish = {
        "resources": [id_],
        "targetResourceGroup": source.rpartition("/")[0] + "/other",
    }
    with world.azure.session() as session:
        assert session.post(f"{source}/moveResources", json=wish).status_code == 202
    world.run(network)
    assert world.ready(network)["reason"] == "ScopeLocked"
    world.azure.advance(5.0)
    world.events.clear()
    world.settle(network)
    # Ready was False when it turned out to be gone: it is said all the same.
    assert len(told(world)) == 1
