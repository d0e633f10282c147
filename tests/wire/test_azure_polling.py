"""What a poll of a PUT reads, and what of it stands on the object."""

import attrs
import pytest
from world import World, resource_group, virtual_network

from asoreconcile.azure.arm.tokens import TokenShape, dumps, loads
from asoreconcile.azure.reconcile.model.annotations import (
    OWNER_UID,
    POLLER_TOKEN,
    RECONCILE_POLICY,
)
from asoreconcile.base.objects import (
    annotations,
    key_of,
    labels,
    owner_references,
    uid_of,
)

TYPE = "Microsoft.Network/virtualNetworks"
OURS, OLD = "2025-03-01", "2020-11-01"
RESULTS = "/operationResults/"


@pytest.fixture(scope="module")
def start(module_path):
    with World(module_path, lro=30.0, retry_after=10) as running:
        running.install(
            "resources.azure.com/ResourceGroup", "network.azure.com/VirtualNetwork"
        )
        running.settled(resource_group())
        yield running


def begun(world, create):
    """A network whose PUT Azure has accepted with this answer."""
    world.azure.styles.change(TYPE, create=create)
    child = virtual_network()
    world.apply(child)
    world.run(child)
    return child


def token(world, obj):
    return loads(annotations(world.read(obj))[POLLER_TOKEN])


@pytest.mark.parametrize(("asked", "versions"), [(OURS, [OURS]), (OLD, [OLD, OURS])])
def test_a_body_at_another_api_version_is_read_again_at_ours(world, asked, versions):
    """An operation may have been begun at another version than is served now."""
    child = begun(world, "201 Creating")
    recorded = token(world, child)
    assert recorded.shape is TokenShape.BODY
    there = attrs.evolve(recorded, url=recorded.url.replace(OURS, asked))
    world.annotate(child, **{POLLER_TOKEN: dumps(there)})
    world.clock.advance(60.0)
    before = len(world.requests("GET", "virtualNetworks/vnet"))
    world.run(child)
    assert world.ready(child)["status"] == "True"
    reads = world.requests("GET", "virtualNetworks/vnet")[before:]
    assert [read.api_version for read in reads] == versions


def test_a_monitor_that_moved_is_followed_after_a_restart(world):
    """The newest token stands on the object, not in memory alone."""
    child = begun(world, "202 L 10")
    first = token(world, child)
    moved = first.url.replace("?", "-moved?", 1)
    world.azure.faults.answer("GET", RESULTS, 202, headers={"Location": moved})
    world.clock.advance(10.0)
    world.run(child)
    assert token(world, child).url == moved
    world.restart()
    world.clock.advance(60.0)
    world.run(child)
    assert "-moved" in world.requests("GET", RESULTS)[-1].path


def test_l19_the_newest_signature_is_kept_in_memory(world):
    """Each answer of a group's deletion signs its monitor anew; the recorded one does
    for another process.
    """
    group = world.settled(resource_group())
    world.delete(group)
    known = []
    for _ in range(2):
        world.clock.advance(world.run(group).requeue_after_seconds)
        found = world.read(group)
        memory = world.kind_of(group).memories.of(key_of(found), uid_of(found))
        known.append((token(world, group).url, memory.poll.newest))
    (begun_with, none), (recorded, newest) = known
    assert none is None
    assert begun_with == recorded != newest.url
    assert newest.url.partition("?")[0] == recorded.partition("?")[0]
    before = len(world.requests("GET", RESULTS))
    world.restart()
    world.run(group)
    asked = world.requests("GET", RESULTS)[before:]
    assert [request.status for request in asked] == [202]
    assert token(world, group).url == recorded


def test_an_object_without_a_recorded_owner_is_not_given_one(world):
    """The label of the claim is the record, and somebody took it away."""
    child = world.settled(virtual_network())
    nothing = {"metadata": {"labels": {OWNER_UID: None}, "ownerReferences": None}}
    world.client.patch(world.resource_for(child), key_of(world.read(child)), nothing)
    world.run(child)
    present = world.read(child)
    assert OWNER_UID not in labels(present)
    assert owner_references(present) == []


def test_an_owner_given_by_id_since_the_claim_is_no_object_any_more(world):
    """The collector must not delete the child with an object that the spec left."""
    child = world.settled(virtual_network())
    group = f"/subscriptions/{world.azure.subscription_id}/resourceGroups/rg"
    by_id = virtual_network()
    by_id["spec"]["owner"] = {"armId": group}
    world.apply(by_id)
    world.settle(child)
    present = world.read(child)
    assert OWNER_UID not in labels(present)
    assert owner_references(present) == []


@pytest.mark.parametrize("method", ["GET", "PUT"])
def test_no_answer_is_a_warning_that_is_tried_again_soon(world, method):
    """Nothing that its author could mend."""
    child = virtual_network()
    world.apply(child)
    if method == "GET":
        world.annotate(child, **{RECONCILE_POLICY: "skip"})
    world.azure.faults.drop(method, "virtualNetworks", times=5)
    asked_again = world.run(child).requeue_after_seconds
    assert 0 < asked_again <= 10.0
    ready = world.ready(child)
    assert (ready["severity"], ready["reason"]) == ("Warning", "UnknownError")
    assert ready["message"].startswith("Azure did not answer")
