"""Two objects with one Azure id: the older one manages it, the younger one waits."""

import attrs
import pytest
from operation import Operation
from world import World, resource_group, virtual_network

from asoreconcile.azure.reconcile.model.annotations import (
    FINALIZER,
    RECONCILE_POLICY,
    RESOURCE_ID,
)
from asoreconcile.azure.reconcile.model.object_reference import ObjectReference
from asoreconcile.base.errors import RetryError
from asoreconcile.base.objects import (
    annotations,
    finalizers,
    gvk_of,
    key_of,
    metadata,
    uid_of,
)

GROUPS = "resources.azure.com/ResourceGroup"
NETWORKS = "network.azure.com/VirtualNetwork"
REASON = "AlreadyManaged"


@pytest.fixture
def world(tmp_path):
    with World(tmp_path) as running:
        running.install(GROUPS, NETWORKS)
        running.settled(resource_group())
        yield running


def by_age(world, *objects):
    """Objects, the oldest first: made within a second the uid decides."""

    def age(obj):
        present = world.read(obj)
        return metadata(present)["creationTimestamp"], uid_of(present)

    return sorted(objects, key=age)


@pytest.fixture
def pair(world):
    """Two networks of one name, neither reconciled yet; the older one first."""
    networks = [virtual_network(name, azureName="shared") for name in ("n1", "n2")]
    for network in networks:
        world.apply(network)
    return by_age(world, *networks)


def puts(world):
    return len(world.requests("PUT", "virtualNetworks/shared"))


def blocked(world, younger, older):
    ready = world.ready(younger)
    assert (ready["status"], ready["severity"]) == ("False", "Warning")
    assert ready["reason"] == REASON
    assert f"VirtualNetwork default/{key_of(older).name}" in ready["message"]
    return True


@pytest.mark.parametrize("first", ["older", "younger"])
def test_whoever_comes_first_the_older_one_manages_it(world, pair, first):
    older, younger = pair
    for obj in (older, younger) if first == "older" else (younger, older):
        for _ in range(2):
            world.run(obj)
    world.settle(older)
    world.run(younger)
    assert blocked(world, younger, older)
    assert puts(world) == 1
    warnings = [e for e in world.events if e[1] == "Warning"]
    assert {(name, reason) for name, _, reason, _ in warnings} == {
        (key_of(younger).name, "CreateOrUpdateActionError")
    }


def test_the_younger_one_s_deletion_leaves_the_resource(world, pair):
    older, younger = pair
    world.settle(older)
    world.run(younger)
    assert finalizers(world.read(younger)) == [FINALIZER]
    world.delete(younger)
    world.run(younger)
    assert world.read(younger) is None
    assert world.requests("DELETE") == []
    name, _, reason, text = world.events[-1]
    assert (name, reason) == (key_of(younger).name, "NotDeletedInAzure")
    assert f"default/{key_of(older).name}" in text
    # The older one's deletes it.
    world.delete(older)
    assert world.settle(older) is None
    assert len(world.requests("DELETE", "shared")) == 1


@pytest.mark.parametrize("way", ["deleted", "detached", "skip"])
def test_the_younger_one_takes_over_when_the_older_goes_or_lets_go(world, pair, way):
    older, younger = pair
    world.settle(older)
    world.run(younger)
    assert blocked(world, younger, older)
    if way == "skip":
        world.annotate(older, **{RECONCILE_POLICY: "skip"})
    else:
        if way == "detached":
            world.annotate(older, **{RECONCILE_POLICY: "detach-on-delete"})
        world.delete(older)
        world.run(younger)
        assert blocked(world, younger, older)
        assert world.settle(older) is None
    before = puts(world)
    assert world.settle(younger)
    assert puts(world) == before + 1


def test_who_only_reads_stands_beside_anybody(world, pair):
    older, younger = pair
    world.settle(older)
    world.annotate(younger, **{RECONCILE_POLICY: "skip"})
    assert world.settle(younger)
    before = puts(world)
    world.annotate(older, **{RECONCILE_POLICY: "skip"})
    world.annotate(younger, **{RECONCILE_POLICY: None})
    world.run(younger)
    assert puts(world) == before + 1


def test_what_is_unclaimed_yet_counts_by_what_it_states(world, pair):
    """Both after a restart, say: whoever's pass comes first."""
    older, younger = pair
    assert RESOURCE_ID not in annotations(world.read(older))
    world.run(younger)
    world.run(younger)
    assert blocked(world, younger, older)
    assert puts(world) == 0


def test_another_subscription_s_group_is_another_group(world):
    """Groups have no owner: whose credential they use is part of their id."""
    theirs, ours = by_age(
        world,
        world.apply(resource_group("a", azureName="same")),
        world.apply(resource_group("b", azureName="same")),
    )
    connections = world.operator.connections

    class Two:
        def for_object(self, obj):
            found = connections.for_object(obj)
            if key_of(obj) == key_of(theirs):
                return attrs.evolve(found, subscription_id="another")
            return found

    world.operator = attrs.evolve(world.operator, connections=Two())
    assert world.settle(ours)


def test_an_id_planted_on_an_older_object_blocks_nobody(world, pair):
    older, _younger = pair
    world.settle(older)
    mine = annotations(world.read(older))[RESOURCE_ID].replace("shared", "mine")
    victim = virtual_network("victim", azureName="mine")
    world.apply(victim)
    world.annotate(older, **{RESOURCE_ID: mine})
    world.run(older)
    assert world.settle(victim)


def test_nobody_is_taken_for_absent_before_all_are_listed(world, pair):
    def not_yet(_):
        raise RetryError("not listed yet", after_seconds=0.1)

    _older, younger = pair
    world.run(younger)
    world.operator = attrs.evolve(world.operator, objects_with_arm_id=not_yet)
    assert world.run(younger).requeue_after_seconds == 0.1
    assert puts(world) == 0


def test_who_waits_is_known_and_forgotten(world, pair):
    older, younger = pair
    waiting = world.operator.waiting
    node = [
        ObjectReference(gvk_of(obj).group_kind, key_of(world.read(obj))) for obj in pair
    ]
    world.run(younger)
    world.run(younger)
    assert waiting.behind(node[0]) == [node[1]]
    assert waiting.awaited_in("default") == [node[0]]
    world.annotate(older, **{RECONCILE_POLICY: "skip"})
    world.settle(younger)
    assert waiting.behind(node[0]) == []
    assert waiting.awaited_in("default") == []


def test_who_went_waits_no_more_whoever_took_it_away(world, pair):
    _, younger = pair
    for _ in range(2):
        world.run(younger)
    resource, key = world.resource_for(younger), key_of(world.read(younger))
    world.client.patch(resource, key, {"metadata": {"finalizers": None}})
    world.delete(younger)
    world.run(younger)
    assert world.operator.waiting.awaited_in("default") == []


def test_the_whole_of_it_in_a_process(tmp_path):
    """Found by the caches' index, also by a manager that has just started."""
    with Operation(tmp_path) as operation:
        operation.answer_at_once("Network/virtualNetworks")
        networks = [virtual_network(name, azureName="shared") for name in ("n1", "n2")]
        operation.install(resource_group(), networks[0])
        for obj in (resource_group(), *networks):
            operation.apply(obj)
        older, younger = by_age(operation, *networks)
        operation.start_manager()
        operation.wait_ready(older)
        told = operation.wait_condition(younger, REASON)
        assert f"default/{key_of(older).name}" in told["message"]
        operation.wait_event(younger, "CreateOrUpdateActionError")
        operation.kill_manager()
        operation.start_manager()
        operation.edit(older, {"spec": {"tags": {"by": "older"}}})
        operation.edit(younger, {"spec": {"tags": {"by": "younger"}}})
        operation.wait_ready(older)
        operation.wait_condition(younger, REASON)
        tags = [r.body.get("tags") for r in operation.requests("PUT", "shared")]
        assert {"by": "younger"} not in tags
        operation.delete(older)
        operation.wait_gone(older)
        operation.wait_ready(younger)
        (last,) = operation.requests("PUT", "shared")[-1:]
        assert last.body["tags"] == {"by": "younger"}
