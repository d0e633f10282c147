"""An object manages nothing until Azure has accepted a PUT of it."""

from contextlib import suppress
from unittest import mock

import attrs
import pytest
from world import RECORD_KEY, World, another_owner, resource_group, virtual_network

from asoreconcile.azure.reconcile.model.annotations import (
    ALLOW_OWNER_CHANGE,
    CLAIM,
    CLAIM_FACTS,
    FINALIZER,
    OWNER_NAME,
    OWNER_UID,
    POLLER_ID,
    POLLER_TOKEN,
    PUT_POLLER,
    RECONCILE_POLICY,
    RESOURCE_ID,
)
from asoreconcile.azure.reconcile.model.claim_record import PutAnswers, claim_of
from asoreconcile.azure.reconcile.model.record_key import RecordKey
from asoreconcile.azure.reconcile.model.sync_mode import SyncMode
from asoreconcile.azure.reconcile.scope.patch_helper import StaleError
from asoreconcile.base.objects import (
    annotations,
    key_of,
    labels,
    owner_references,
    uid_of,
)
from asoreconcile.kube.errors import InvalidError

GROUPS = "resources.azure.com/ResourceGroup"
NETWORKS = "network.azure.com/VirtualNetwork"
SUBNETS = "network.azure.com/VirtualNetworksSubnet"


@pytest.fixture(scope="module")
def start(module_path):
    with World(module_path) as running:
        running.install(GROUPS, NETWORKS, SUBNETS)
        running.settled(resource_group())
        yield running


def network_id(world, name, group="rg"):
    groups = f"/subscriptions/{world.azure.subscription_id}/resourceGroups"
    return f"{groups}/{group}/providers/Microsoft.Network/virtualNetworks/{name}"


def standing(world, obj):
    claim = claim_of(world.read(obj), lambda: RECORD_KEY)
    return claim and claim.answers


def edit(world, obj, body):
    return world.client.patch(world.resource_for(obj), key_of(world.read(obj)), body)


def refused(world, *, status=400, code="InvalidResourceName", times=100):
    world.azure.faults.refuse("PUT", "virtualNetworks/typo", status, code, times=times)
    network = virtual_network("vnet", azureName="typo")
    world.apply(network)
    world.run(network)
    return network


def left_alone(world):
    return [
        text for _, _, reason, text in world.events if reason == "NotDeletedInAzure"
    ]


@pytest.mark.parametrize("process", ["same", "next"])
def test_a_refused_name_may_be_corrected(world, process):
    network = refused(world)
    assert standing(world, network) is PutAnswers.NONE
    if process == "next":
        world.restart()
    edit(world, network, {"spec": {"azureName": "right"}})
    assert world.settle(network)
    present = world.read(network)
    assert annotations(present)[RESOURCE_ID] == network_id(world, "right")
    assert standing(world, network) is PutAnswers.ACCEPTED
    assert world.requests("DELETE") == []
    world.delete(network)
    assert world.settle(network) is None
    (sent,) = world.requests("DELETE", "virtualNetworks")
    assert sent.path.startswith(network_id(world, "right"))


def test_an_owner_may_be_corrected_and_the_former_one_does_not_own_it(world):
    network = refused(world)
    theirs = another_owner(world)
    references = [*owner_references(world.read(network)), theirs]
    edit(world, network, {"metadata": {"ownerReferences": references}})
    other = world.settled(resource_group("other"))
    edit(world, network, {"spec": {"owner": {"name": "other"}, "azureName": "typo"}})
    world.azure.faults.clear()
    assert world.settle(network)
    present, uid = world.read(network), uid_of(world.read(other))
    assert annotations(present)[RESOURCE_ID] == network_id(world, "typo", "other")
    assert {one["uid"] for one in owner_references(present)} == {theirs["uid"], uid}
    assert (labels(present)[OWNER_NAME], labels(present)[OWNER_UID]) == ("other", uid)


def test_an_accepted_name_stays(world):
    network = world.settled(virtual_network("vnet", azureName="mine"))
    world.drop_rules(network)
    edit(world, network, {"spec": {"azureName": "other"}})
    world.run(network)
    assert "change it back" in world.ready(network)["message"]
    assert len(world.requests("PUT", "virtualNetworks/other")) == 0


@pytest.mark.parametrize("process", ["same", "next"])
def test_the_deletion_of_what_was_never_accepted_deletes_nothing(world, process):
    """A resource of others may have that id."""
    network = refused(world, status=403, code="AuthorizationFailed")
    if process == "next":
        world.restart()
    world.delete(network)
    world.run(network)
    assert world.read(network) is None
    assert world.requests("DELETE") == []
    (text,) = left_alone(world)
    assert network_id(world, "typo") in text


def test_an_object_that_was_never_put_deletes_nothing(world):
    """It waits for a precondition, and its id is one of others' resources."""
    network = virtual_network("vnet", azureName="theirs")
    world.apply(network)
    world.run_once(network)
    assert standing(world, network) is PutAnswers.OPEN
    world.delete(network)
    world.run(network)
    assert world.read(network) is None
    assert world.requests("DELETE") == []


@pytest.mark.parametrize("then", ["deleted", "refused", "restarted"])
def test_a_put_whose_answer_was_lost_is_deleted(world, then):
    network = virtual_network("vnet", azureName="lost")
    world.azure.faults.time_out("PUT", "virtualNetworks/lost", applied=True)
    world.apply(network)
    world.run(network)
    assert standing(world, network) is PutAnswers.OPEN
    if then == "refused":
        world.azure.faults.refuse("PUT", "virtualNetworks/lost", 403, "Forbidden")
        world.clock.advance(60.0)
        world.run(network)
        assert standing(world, network) is PutAnswers.OPEN
    if then == "restarted":
        world.restart()
    world.delete(network)
    assert world.settle(network) is None
    assert len(world.requests("DELETE", "virtualNetworks/lost")) == 1
    assert network_id(world, "lost") not in world.azure.resources()


def test_a_put_without_an_answer_may_arrive_after_the_delete(world):
    network = virtual_network("vnet", azureName="lost")
    world.azure.faults.time_out("PUT", "virtualNetworks/lost")
    world.apply(network)
    world.run(network)
    world.delete(network)
    world.run(network)
    late = virtual_network()["spec"]
    body = {
        "location": "westeurope",
        "properties": {"addressSpace": late["addressSpace"]},
    }
    world.arm.put(network_id(world, "lost"), "2025-03-01", body)
    assert world.settle(network) is None
    assert network_id(world, "lost") not in world.azure.resources()


def test_a_former_leader_closes_no_claim_that_another_process_had_accepted(world):
    network = virtual_network()
    world.apply(network)
    world.run_once(network)
    put, answers = world.arm.put, []

    def refused_late(*sent, **options):
        if answers:
            return put(*sent, **options)
        answers.append("refused")
        world.restart()  # the new leader
        world.apply(virtual_network(tags={"a": "b"}))
        world.settle(network)
        world.azure.faults.refuse("PUT", "virtualNetworks/vnet", 400, "Bad")
        return put(*sent, **options)

    with mock.patch.object(world.arm, "put", refused_late), suppress(StaleError):
        world.run_once(network)
    assert standing(world, network) is PutAnswers.ACCEPTED


def test_a_process_that_dies_in_a_later_put_leaves_nothing_behind(world):
    """The first PUT was refused; the answer to the second one never came."""
    network = refused(world, times=1)
    assert standing(world, network) is PutAnswers.NONE
    world.azure.faults.time_out("PUT", "virtualNetworks/typo", applied=True)
    world.clock.advance(10_000.0)
    world.run(network)
    world.restart()
    world.delete(network)
    assert world.settle(network) is None
    assert network_id(world, "typo") not in world.azure.resources()


def test_a_deletion_ends_if_azure_refuses_the_id_itself(world):
    network = virtual_network("vnet", azureName="lost")
    world.azure.faults.time_out("PUT", "virtualNetworks/lost")
    world.apply(network)
    world.run(network)
    for method in ("GET", "DELETE"):
        world.azure.faults.answer(
            method, "virtualNetworks/lost", 400, code="InvalidResourceName", times=9
        )
    world.delete(network)
    for _ in range(3):
        world.run(network)
    assert world.read(network) is None
    assert "InvalidResourceName" in left_alone(world)[-1]


def test_a_refused_deletion_of_what_may_not_be_there_names_the_way_out(world):
    network = virtual_network("vnet", azureName="lost")
    world.azure.faults.time_out("PUT", "virtualNetworks/lost")
    world.apply(network)
    world.run(network)
    for method in ("GET", "DELETE"):
        world.azure.faults.answer(
            method, "virtualNetworks/lost", 403, code="AuthorizationFailed", times=9
        )
    world.delete(network)
    world.run(network)
    assert "detach-on-delete" in world.ready(network)["message"]


def test_a_child_whose_owner_was_let_go_is_deleted(world):
    """While Azure still makes it: the owner's object went, and took its child along."""
    network = virtual_network("vnet")
    world.apply(network)
    world.run(network)
    group = resource_group()
    world.annotate(group, **{RECONCILE_POLICY: "detach-on-delete"})
    world.delete(group)
    assert world.settle(group) is None
    world.delete(network)
    assert world.settle(network) is None
    assert len(world.requests("DELETE", "virtualNetworks/vnet")) == 1
    assert left_alone(world) == []


def test_a_status_is_no_proof(world):
    """A tenant that writes the status could name any resource of the type in it."""
    victim = world.settled(virtual_network("victim"))
    there = annotations(world.read(victim))[RESOURCE_ID]
    world.delete(victim)
    world.annotate(victim, **{RECONCILE_POLICY: "detach-on-delete"})
    assert world.settle(victim) is None
    evil = virtual_network("evil")
    evil["metadata"]["finalizers"] = ["serviceoperator.azure.com/finalizer"]
    evil["metadata"]["annotations"] = {RESOURCE_ID: there}
    world.apply(evil)
    status = {"status": {"id": there}}
    key = key_of(world.read(evil))
    world.client.patch(world.resource_for(evil), key, status, subresource="status")
    world.run(evil)
    assert world.ready(evil)["severity"] == "Error"
    world.delete(evil)
    world.run(evil)
    assert world.read(evil) is None
    assert world.requests("DELETE") == []
    assert there in left_alone(world)[-1]


@pytest.mark.parametrize("also", [{}, {CLAIM: None}], ids=["record", "status"])
def test_a_lost_id_and_an_edited_name_make_no_second_resource(world, also):
    network = world.settled(virtual_network("vnet", azureName="mine"))
    world.drop_rules(network)
    world.annotate(network, **{RESOURCE_ID: None, **also})
    edit(world, network, {"spec": {"azureName": "second"}})
    for _ in range(3):
        world.run(network)
    message = world.ready(network)["message"]
    assert network_id(world, "mine") in message
    assert "change it back" in message
    assert world.requests("PUT", "virtualNetworks/second") == []
    edit(world, network, {"spec": {"azureName": "mine"}})
    assert world.settle(network)
    assert annotations(world.read(network))[RESOURCE_ID] == network_id(world, "mine")


def owned_by(owner):
    network = virtual_network()
    network["spec"]["owner"]["name"] = owner
    return network


@pytest.mark.parametrize("edited", ["another", "no network"])
@pytest.mark.parametrize("is_deleted", [False, True], ids=["ready", "deleted"])
def test_an_edited_id_gives_way_to_the_one_of_the_claim(world, edited, is_deleted):
    """The claim is authenticated, the annotation with the id is not."""
    network = world.settled(virtual_network())
    theirs = world.settled(virtual_network("theirs"))
    mine, others = (annotations(world.read(o))[RESOURCE_ID] for o in (network, theirs))
    wrong = others if edited == "another" else others.partition("/providers")[0]
    world.annotate(network, **{RESOURCE_ID: wrong})
    if is_deleted:
        world.delete(network)
    world.run(network)
    world.settle(network)
    assert (mine in world.azure.resources()) is not is_deleted
    assert others in world.azure.resources()
    if not is_deleted:
        assert annotations(world.read(network))[RESOURCE_ID] == mine


def test_a_claim_that_somebody_wrote_by_hand_gives_way_to_the_id(world):
    network = world.settled(virtual_network())
    before = annotations(world.read(network))
    forged = before[CLAIM].replace("/vnet", "/other")
    world.annotate(network, **{CLAIM: forged})
    world.run(network)
    world.settle(network)
    after = annotations(world.read(network))
    assert after[RESOURCE_ID] == before[RESOURCE_ID]
    assert standing(world, network) is PutAnswers.ACCEPTED


def test_an_owner_object_can_be_replaced_by_another_of_the_same_id(world):
    """Without webhooks: one change, and the collector is told before Azure is asked."""
    network = world.settled(virtual_network())
    other = resource_group("other", azureName="rg")
    other["metadata"]["annotations"] = {RECONCILE_POLICY: "skip"}
    for group in (other, resource_group("another")):
        world.settled(group)
    with pytest.raises(InvalidError, match=ALLOW_OWNER_CHANGE):
        world.apply(owned_by("other"))
    world.annotate(network, **{ALLOW_OWNER_CHANGE: "true"})
    world.run(network)
    # An owner with another id is refused, and may be changed back.
    world.apply(owned_by("another"))
    world.azure.journal.clear()
    world.run(network)
    assert "change it back" in world.ready(network)["message"]
    world.apply(owned_by("other"))
    world.run_once(network)
    world.run_once(network)
    named = world.read(network)
    # The former owner stays named next to it while the new one only reads.
    former, new = (uid_of(world.read(one)) for one in (resource_group(), other))
    assert {one["uid"] for one in owner_references(named)} == {former, new}
    assert labels(named)[OWNER_UID] == former
    assert ALLOW_OWNER_CHANGE not in annotations(named)
    assert world.settle(network)["status"]["id"] == network_id(world, "vnet")
    with pytest.raises(InvalidError, match=ALLOW_OWNER_CHANGE):
        world.apply(owned_by("rg"))
    # The children were given to it so that they stay.
    world.delete(resource_group())
    world.run(resource_group())
    message = world.ready(resource_group())["message"]
    assert "ResourceGroup default/other" in message
    assert "VirtualNetwork default/vnet" in message
    world.annotate(other, **{RECONCILE_POLICY: None})
    world.run(resource_group())
    assert world.settle(other)
    assert world.settle(resource_group()) is None
    world.settle(network)
    named = world.read(network)
    (reference,) = owner_references(named)
    assert reference["uid"] == labels(named)[OWNER_UID] == new
    assert world.requests("DELETE") == []


def test_ow13_a_child_is_kept_by_its_new_owner_before_that_one_has_an_id(world):
    network = world.settled(virtual_network())
    other = resource_group("other", azureName="rg")
    world.apply(other)
    world.run(other)
    assert "VirtualNetwork default/vnet" in world.ready(other)["message"]
    world.annotate(network, **{ALLOW_OWNER_CHANGE: "true"})
    world.run(network)
    world.apply(owned_by("other"))
    world.run_once(network)
    uids = {one["uid"] for one in owner_references(world.read(network))}
    assert uids == {uid_of(world.read(one)) for one in (resource_group(), other)}


def test_what_the_collector_deletes_with_its_former_owner_stays_in_azure(world):
    """The edit and the deletion of the former owner come at once."""
    network = world.settled(virtual_network())
    world.settle(resource_group("other", azureName="rg"))
    world.apply(resource_group("other", azureName="rg"))
    world.annotate(network, **{ALLOW_OWNER_CHANGE: "true"})
    world.run(network)
    world.apply(owned_by("other"))
    world.delete(resource_group())
    world.delete(network)
    assert world.settle(network) is None
    assert world.requests("DELETE") == []


def dumped(world, name, **meta):
    """Create a copy of the network's manifest, as `kubectl get -o yaml` prints it."""
    live = world.read(virtual_network())
    copy = {
        "apiVersion": live["apiVersion"],
        "kind": live["kind"],
        "metadata": {
            "name": name,
            "annotations": {**annotations(live), **meta},
            "finalizers": [FINALIZER],
            "labels": labels(live),
        },
        "spec": {**live["spec"], "azureName": name},
    }
    world.apply(copy, marked=False)
    return copy


@pytest.mark.parametrize("form", ["this version's", "an earlier version's"])
def test_ow12_a_copied_manifest_is_a_new_object(world, form):
    network = world.settled(virtual_network())
    token = annotations(world.read(network))[CLAIM]
    running = {POLLER_ID: PUT_POLLER, POLLER_TOKEN: "{}", CLAIM: token}
    copy = dumped(world, "copy", **running)
    if form != "this version's":
        world.annotate(copy, **{CLAIM_FACTS: None})
    world.azure.journal.clear()
    assert world.settle(copy)
    assert annotations(world.read(copy))[RESOURCE_ID] == network_id(world, "copy")
    world.delete(copy)
    assert world.settle(copy) is None
    assert [one.path.rpartition("/")[2] for one in world.requests("DELETE")] == ["copy"]


def test_a_copied_manifest_deletes_nothing_of_the_original(world):
    network = world.settled(virtual_network())
    copy = dumped(world, "copy")
    world.delete(copy)
    for _ in range(2):
        world.run(copy)
    assert world.read(copy) is None
    assert world.requests("DELETE") == []
    assert world.settle(network)


def test_the_key_may_be_rotated_in_the_middle_of_a_reconcile(world):
    """No PUT is repeated, and the new key alone knows every record afterwards."""
    old, new = b"k" * 32, b"n" * 32
    settled = world.settled(virtual_network("settled"))
    keys = iter([RecordKey(old)])
    world.operator = attrs.evolve(
        world.operator,
        sync_mode=SyncMode.COMPARE,
        record_key=lambda: next(keys, RecordKey(new, old)),
    )
    claimed = world.settled(virtual_network("claimed"))
    world.azure.journal.clear()
    world.run(settled)
    assert {request.method for request in world.azure.journal} == {"GET"}
    world.operator = attrs.evolve(world.operator, record_key=lambda: RecordKey(new))
    for network in (settled, claimed):
        claim = claim_of(world.read(network), lambda: RecordKey(new))
        assert claim.answers is PutAnswers.ACCEPTED
        world.delete(network)
        assert world.settle(network) is None
    assert len(world.requests("DELETE", "virtualNetworks")) == 2
