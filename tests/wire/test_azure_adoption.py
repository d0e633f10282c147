"""Adoption with consent: what an object does with a resource that is there before
it.
"""

from collections import Counter
from datetime import UTC, datetime

import attrs
import pytest
from world import LaggingNamespaces, World, resource_group, virtual_network

from asoreconcile.azure.arm.collection_reads import CollectionReads
from asoreconcile.azure.reconcile.model.annotations import (
    EXISTENCE,
    OPERATOR_NAMESPACE,
    RESOURCE_ID,
)
from asoreconcile.azure.reconcile.model.existence import (
    IF_EXISTS,
)
from asoreconcile.azure.reconcile.model.sync_mode import SyncMode
from asoreconcile.base.objects import ObjectKey, annotations, finalizers
from asoreconcile.kube.resources import NAMESPACES

GROUP = resource_group()
SAME = {
    "location": "westeurope",
    "properties": {"addressSpace": {"addressPrefixes": ["10.0.0.0/16"]}},
}


@pytest.fixture(scope="module")
def start(module_path):
    with World(module_path) as running:
        running.operator = attrs.evolve(running.operator, sync_mode=SyncMode.COMPARE)
        running.install(
            "resources.azure.com/ResourceGroup",
            "network.azure.com/VirtualNetwork",
            "network.azure.com/PublicIPAddress",
        )
        running.settled(GROUP)
        yield running


def network(policy="", **spec):
    obj = virtual_network(**spec)
    if policy:
        obj["metadata"]["annotations"] = {IF_EXISTS: policy}
    return obj


def address(name):
    spec = {"location": "westeurope", "owner": {"name": "rg"}}
    return {
        "apiVersion": "network.azure.com/v20250301",
        "kind": "PublicIPAddress",
        "metadata": {"name": name},
        "spec": {**spec, "sku": {"name": "Standard"}},
    }


def make_in_azure(world, **changes):
    """Another team makes the network; return its id."""
    group = annotations(world.read(GROUP))[RESOURCE_ID]
    arm_id = f"{group}/providers/Microsoft.Network/virtualNetworks/vnet"
    world.arm.put(arm_id, "2024-07-01", {**SAME, **changes})
    return arm_id


def puts(world):
    return len(world.requests("PUT", "virtualNetworks"))


def told(world, reason="AzureResourceAdopted"):
    return [event[3] for event in world.events if event[2] == reason]


@pytest.mark.parametrize("policy", ["adopt", "adopt-if-same", "fail"])
def test_ow3_a_resource_that_is_not_there_is_made(world, policy):
    obj = network(policy)
    assert world.settled(obj)
    assert puts(world) == 1
    assert annotations(world.read(obj))[EXISTENCE] == "created"
    assert told(world) == []


def test_ow3_an_adoption_says_what_the_first_put_changes_and_removes(world):
    make_in_azure(world, tags={"team": "red"})
    obj = network("adopt", addressSpace={"addressPrefixes": ["10.1.0.0/16"]}, tags={})
    world.settled(obj)
    (message,) = told(world)
    assert "changes properties/addressSpace/addressPrefixes" in message
    assert "removes" in message
    assert "red" not in message
    assert puts(world) == 2
    world.delete(obj)
    assert world.settle(obj) is None
    assert len(world.requests("DELETE")) == 1


def test_ow3_a_default_adoption_keeps_foreign_tags_and_says_what_it_changes(world):
    arm_id = make_in_azure(world, tags={"team": "red"})
    obj = network(addressSpace={"addressPrefixes": ["10.1.0.0/16"]}, tags={"a": "b"})
    world.settled(obj)
    (message,) = told(world)
    assert "changes properties/addressSpace/addressPrefixes" in message
    assert world.azure.resources()[arm_id]["tags"] == {"a": "b", "team": "red"}
    assert "team" in told(world, "ForeignTagsKept")[0]
    world.apply(network(tags={"a": "c"}))
    world.settle(obj)
    assert len(told(world)) == 1


@pytest.mark.parametrize("phase", ["before", "after"])
def test_ow3_a_resource_that_the_object_made_itself_is_not_adopted(world, phase):
    """The answer of the first PUT is lost, and then the process ends."""
    obj = network()
    world.apply(obj)
    world.azure.faults.drop("PUT", "virtualNetworks", phase=phase)
    for _ in range(3):
        world.clock.advance(world.run(obj).requeue_after_seconds)
    world.restart()
    world.settled(obj)
    assert told(world) == []


def test_ow1_of_many_new_objects_one_list_tells_what_is_not_there(world):
    reads = CollectionReads(world.clock, max_age_seconds=600.0)
    world.operator = attrs.evolve(world.operator, collection_reads=reads)
    group = annotations(world.read(GROUP))[RESOURCE_ID]
    there = f"{group}/providers/Microsoft.Network/publicIPAddresses/ip6"
    world.arm.put(there, "2024-07-01", {"location": "westeurope"})
    objs = [address(f"ip{n}") for n in range(7)]
    for obj in objs:
        world.apply(obj)
    # The API server's clock is the machine's.
    ahead = datetime.now(UTC) - world.clock.now()
    world.clock.advance(max(ahead.total_seconds(), 0.0) + 2.0)
    for obj in objs:
        world.run(obj)
    asked = Counter(r.path for r in world.requests("GET", "publicIPAddresses"))
    # The list is worth its page from the third object on.
    (listed,) = [path for path in asked if path.endswith("publicIPAddresses")]
    assert asked.pop(listed) == 1
    assert sorted(path[-3:] for path in asked) == ["ip0", "ip1", "ip6"]
    assert len(told(world)) == 1


def test_ow3_a_provider_that_shows_nothing_before_the_put_stops_nothing(world):
    world.azure.faults.answer("GET", "virtualNetworks/vnet$", 400, code="BadRequest")
    world.settled(network())


def test_ow3_a_resource_that_is_the_same_is_adopted_without_a_put(world):
    # A tag that only others declare does not count: OW-1.
    make_in_azure(world, tags={"team": "theirs"})
    obj = network("adopt-if-same")
    world.settled(obj)
    assert puts(world) == 1  # the other team's
    assert world.ready(obj)["status"] == "True"
    assert len(told(world)) == 1
    # Later syncs read, as after a PUT.
    for _ in range(3):
        world.clock.advance(4000.0)
        world.run(obj)
    world.restart()
    world.run(obj)
    assert puts(world) == 1
    world.apply(network("adopt-if-same", tags={"a": "b"}))
    world.settle(obj)
    assert puts(world) == 2


@pytest.mark.parametrize(
    ("there", "spec", "path"),
    [
        ({}, {"addressSpace": {"addressPrefixes": ["10.1.0.0/16"]}}, "addressPrefixes"),
        ({}, {"tags": {"a": "b"}}, "tags/a"),
        ({}, {"location": "northeurope"}, "location"),
    ],
    ids=["value", "missing tag", "location"],
)
def test_ow3_a_resource_that_differs_is_left_alone(world, there, spec, path):
    make_in_azure(world, **there)
    obj = network("adopt-if-same", **spec)
    world.apply(obj)
    for _ in range(3):
        result = world.run(obj)
    ready = world.ready(obj)
    assert (ready["status"], ready["reason"]) == ("False", "AlreadyExists")
    assert path in ready["message"]
    assert result.requeue_after_seconds >= 2700.0
    assert puts(world) == 1


@pytest.mark.parametrize("policy", ["fail", "adopt-if-sme"])
def test_ow3_a_resource_that_is_there_fails_the_object(world, policy):
    make_in_azure(world)
    obj = network(policy)
    world.apply(obj)
    for _ in range(2):
        world.run(obj)
    assert world.ready(obj)["reason"] == "AlreadyExists"
    assert puts(world) == 1


def test_ow3_the_namespace_s_value_holds_for_its_objects(world):
    body = {"metadata": {"annotations": {IF_EXISTS: "fail"}}}
    world.client.patch(NAMESPACES, ObjectKey("", "default"), body)
    make_in_azure(world)
    obj = network()
    world.apply(obj)
    for _ in range(2):
        world.run(obj)
    assert world.ready(obj)["reason"] == "AlreadyExists"
    assert puts(world) == 1


@pytest.mark.parametrize("before", [{}, {IF_EXISTS: "adopt"}], ids=["none", "adopt"])
def test_ow3_the_namespace_s_value_holds_though_the_watch_is_behind(world, before):
    body = {"metadata": {"annotations": {IF_EXISTS: "fail"}}}
    world.client.patch(NAMESPACES, ObjectKey("", "default"), body)
    make_in_azure(world)
    obj = network()
    world.apply(obj)
    late = attrs.evolve(
        world.operator, namespace_annotations=LaggingNamespaces(world, before)
    )
    for operator in (late, late, world.operator, world.operator):
        world.run(obj, operator=operator)
    assert world.ready(obj)["reason"] == "AlreadyExists"
    assert puts(world) == 1


def test_ow3_an_object_that_may_not_adopt_deletes_nothing(world):
    make_in_azure(world)
    obj = network("fail")
    world.apply(obj)
    for _ in range(2):
        world.run(obj)
    world.delete(obj)
    assert world.settle(obj) is None
    assert world.requests("DELETE") == []
    assert "left in Azure" in told(world, "NotDeletedInAzure")[0]


def test_ow3_consent_that_is_given_later_lets_the_object_adopt(world):
    make_in_azure(world)
    obj = network("fail")
    world.apply(obj)
    for _ in range(2):
        world.run(obj)
    world.annotate(obj, **{IF_EXISTS: "adopt"})
    assert world.settle(obj)
    assert puts(world) == 2
    assert len(told(world)) == 1


def test_ow3_an_observed_resource_is_read_and_never_written(world):
    make_in_azure(world, tags={"team": "red"})
    obj = network("observe")
    world.settled(obj)
    assert world.ready(obj)["status"] == "True"
    assert world.read(obj)["status"]["tags"] == {"team": "red"}
    world.apply(network("observe", tags={"a": "b"}))
    world.run(obj)
    assert puts(world) == 1
    world.delete(obj)
    assert world.settle(obj) is None
    assert world.requests("DELETE") == []


def test_ow3_an_observed_object_states_its_id_alone(world):
    """The owner, by name or by id, and the name; later it adopts what it has seen."""
    arm_id = make_in_azure(world, tags={"team": "red"})
    obj = network("observe")
    obj["spec"] = {"owner": {"armId": arm_id.partition("/providers/")[0]}}
    world.settled(obj)
    assert world.read(obj)["status"]["location"] == "westeurope"
    world.annotate(obj, **{IF_EXISTS: "adopt-if-same"})
    world.settle(obj)
    assert puts(world) == 1
    assert annotations(world.read(obj))[EXISTENCE] == "adopted"


def test_ow3_an_observed_resource_can_be_managed_later(world):
    make_in_azure(world)
    obj = network("observe", tags={"a": "b"})
    world.settled(obj)
    world.annotate(obj, **{IF_EXISTS: None})
    world.clock.advance(4000.0)
    world.run(obj)
    world.settle(obj)
    assert puts(world) == 2
    assert "changes tags/a" in told(world)[0]


def test_ow3_a_resource_that_is_observed_must_be_there(world):
    obj = network("observe")
    world.apply(obj)
    for _ in range(2):
        world.run(obj)
    ready = world.ready(obj)
    assert ready["reason"] == "AzureResourceNotFound"
    assert IF_EXISTS in ready["message"]
    assert puts(world) == 0


def test_ow3_a_put_whose_answer_was_lost_is_not_taken_for_another_s(world):
    """The process ends between Azure's answer and the record of the PUT."""
    obj = network("fail")
    world.apply(obj)
    world.azure.faults.drop("PUT", "virtualNetworks", phase="after")
    for _ in range(3):
        world.clock.advance(world.run(obj).requeue_after_seconds)
    world.restart()
    assert world.settle(obj)
    assert told(world) == []


@pytest.mark.parametrize("policy", ["fail", "adopt-if-same"])
def test_ow3_a_refused_put_does_not_license_the_next_one(world, policy):
    """A colleague makes the network between two PUTs of the object."""
    obj = network(policy)
    world.apply(obj)
    world.azure.faults.answer(
        "PUT", "virtualNetworks", 403, code="RequestDisallowedByPolicy"
    )
    for _ in range(3):
        world.run(obj)
        world.clock.advance(11.0)
    assert puts(world) == 1
    theirs = {"addressSpace": {"addressPrefixes": ["10.9.0.0/16"]}}
    make_in_azure(world, properties=theirs)
    world.restart()
    changed = network(policy, tags={"ours": "1"})
    world.apply(changed)
    world.run(changed)
    assert world.ready(obj)["reason"] == "AlreadyExists"
    assert puts(world) == 2
    world.delete(obj)
    assert world.settle(obj) is None
    assert world.requests("DELETE") == []


@pytest.mark.parametrize(("phase", "deleted"), [("before", 0), ("after", 1)])
def test_ow3_what_a_lost_put_has_made_is_deleted_and_nothing_else(
    world, phase, deleted
):
    """The process dies at the PUT; a colleague makes the network if it was lost."""
    obj = network("fail")
    world.apply(obj)
    world.run(obj)
    world.azure.faults.drop("PUT", "virtualNetworks", phase=phase)
    world.run(obj)
    world.restart()
    world.delete(obj)
    for _ in range(3):
        world.clock.advance(70.0)
        world.run(obj)
    assert world.read(obj) is None
    assert len(world.requests("DELETE", "virtualNetworks")) >= deleted
    assert not [one for one in world.azure.resources() if one.endswith("/vnet")]


def test_ow3_the_record_survives_a_replacement_of_the_object(world):
    """kubectl replace and Argo CD's Replace=true do so."""
    obj = network("fail")
    world.settled(obj)
    kept = {IF_EXISTS: "fail"}
    notes = dict.fromkeys(annotations(world.read(obj))) | kept
    meta = {"annotations": notes, "finalizers": None, "ownerReferences": None}
    world.client.patch(
        world.resource_for(obj),
        ObjectKey("default", "vnet"),
        {"metadata": meta, "spec": {"tags": {"a": "2"}}},
    )
    assert world.settle(obj)
    assert puts(world) == 2
    world.delete(obj)
    assert world.settle(obj) is None
    assert len(world.requests("DELETE")) == 1


def test_ow3_a_replaced_object_is_held_before_its_new_owner_is_there(world):
    """Its owner was renamed in the same manifest; then it is deleted at once."""
    obj = network()
    world.settled(obj)
    world.drop_rules(obj)
    notes = dict.fromkeys(annotations(world.read(obj)))
    meta = {"annotations": notes, "finalizers": None, "ownerReferences": None}
    world.client.patch(
        world.resource_for(obj),
        ObjectKey("default", "vnet"),
        {"metadata": meta, "spec": {"owner": {"name": "later"}}},
    )
    world.run_once(obj)
    world.run_once(obj)
    assert finalizers(world.read(obj))
    world.delete(obj)
    assert world.settle(obj) is None
    assert len(world.requests("DELETE")) == 1


def test_ow3_an_adoption_of_a_corrected_spec_sends_no_put(world):
    make_in_azure(world)
    obj = network("adopt-if-same", addressSpace={"addressPrefixes": ["10.1.0.0/16"]})
    world.apply(obj)
    for _ in range(2):
        world.run(obj)
    assert world.ready(obj)["reason"] == "AlreadyExists"
    obj = network("adopt-if-same")
    world.apply(obj)
    assert world.settle(obj)
    assert puts(world) == 1
    world.clock.advance(4000.0)
    assert world.settle(obj)
    assert puts(world) == 1


def test_ow3_an_object_that_wrote_before_is_not_asked_again(world):
    """A restore of a cluster loses the status and keeps the annotations."""
    obj = network()
    world.settled(obj)
    world.annotate(obj, **{IF_EXISTS: "fail"})
    world.client.patch(
        world.resource_for(obj),
        ObjectKey("default", "vnet"),
        {"status": {"conditions": None, "id": None}},
        subresource="status",
    )
    world.restart()
    assert world.settle(obj)


def test_ow3_an_unmarked_object_decides_too(world):
    make_in_azure(world)
    obj = network("fail")
    world.apply(obj, marked=False)
    for _ in range(4):
        world.run(obj)
    assert annotations(world.read(obj))[OPERATOR_NAMESPACE]
    assert world.ready(obj)["reason"] == "AlreadyExists"
    assert puts(world) == 1


def test_ow3_a_404_whose_code_is_not_known_is_asked_again_before_a_creation(world):
    make_in_azure(world)
    world.azure.journal.clear()
    world.azure.faults.answer("GET", "virtualNetworks/vnet$", 404, code="VnetLost")
    obj = network("fail")
    world.apply(obj)
    world.clock.advance(world.run(obj).requeue_after_seconds)
    world.run(obj)
    assert puts(world) == 0
    assert world.ready(obj)["reason"] == "AlreadyExists"
