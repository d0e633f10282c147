"""The rules of deleting that need a whole pass to show (section 5)."""

import attrs
import pytest
from globalconnection import GlobalConnection
from world import World, resource_group, virtual_network

from asoreconcile.azure.arm import tokens
from asoreconcile.azure.arm.tokens import DELETE, Token, TokenShape
from asoreconcile.azure.reconcile.model.annotations import (
    DELETE_POLLER,
    FINALIZER,
    POLLER_ID,
    POLLER_TOKEN,
    RECONCILE_POLICY,
    RESOURCE_ID,
)
from asoreconcile.azure.reconcile.model.sync_mode import SyncMode
from asoreconcile.base.objects import annotations, finalizers, key_of, uid_of

GROUPS = "resources.azure.com/ResourceGroup"
NETWORKS = "network.azure.com/VirtualNetwork"
ACCOUNTS = "storage.azure.com/StorageAccount"
SERVICES = "storage.azure.com/StorageAccountsBlobService"
MONITORS = "/operation"


@pytest.fixture(scope="module")
def start(module_path):
    with World(module_path, lro=30.0, retry_after=10) as running:
        running.install(GROUPS, NETWORKS, ACCOUNTS, SERVICES)
        running.settled(resource_group())
        yield running


@pytest.fixture
def network(world):
    """A network that is Ready."""
    return world.settled(virtual_network())


def deletes(world):
    return len(world.requests("DELETE", "virtualNetworks"))


def test_r5_1_skip_and_detach_ask_azure_nothing(world, network):
    asked = len(world.azure.journal)
    world.annotate(network, **{RECONCILE_POLICY: "skip"})
    world.delete(network)
    world.run(network)
    assert world.read(network) is None
    assert len(world.azure.journal) == asked


def test_r5_2_d18_never_created_goes_without_credentials(world):
    obj = virtual_network(owner="nowhere")
    obj["metadata"]["finalizers"] = [FINALIZER]
    world.apply(obj)
    world.delete(obj)
    asked = len(world.azure.journal)
    unconnected = attrs.evolve(world.operator, connections=GlobalConnection(None))
    world.run(obj, operator=unconnected)
    assert world.read(obj) is None
    assert len(world.azure.journal) == asked


@pytest.mark.parametrize("status", [500, 403], ids=["R5.4-500", "R5.4-403"])
def test_r5_4_a_get_that_fails_does_not_stop_the_delete(world, network, status):
    world.azure.faults.answer("GET", "virtualNetworks/vnet$", status, code="Odd")
    world.delete(network)
    world.run(network)
    assert deletes(world) == 1
    assert world.ready(network)["reason"] == "Deleting"
    assert world.settle(network) is None


def test_r5_6_a_monitor_that_is_gone_is_no_warning(world, network):
    """Ours: the resource is read in the same pass; 404 there is done."""
    world.delete(network)
    world.run(network)
    world.azure.remove(annotations(world.read(network))[RESOURCE_ID])
    world.azure.faults.answer("GET", MONITORS, 404, code="NotFound")
    world.clock.advance(10.0)
    world.run(network)
    assert world.read(network) is None
    assert deletes(world) == 1
    assert [e for e in world.events if e[1] == "Warning"] == []


def test_k2_a_record_without_our_mark_does_not_end_a_deletion(world, network):
    """A copied annotation may name the operation of another resource."""
    arm_id = annotations(world.read(network))[RESOURCE_ID]
    monitor = f"{arm_id}/operations/1?api-version=2024-07-01"
    token = Token(TokenShape.LOCATION, DELETE, world.arm.endpoint.url + monitor, "")
    world.azure.faults.answer("GET", "/operations/1", 200, body={})
    world.delete(network)
    world.annotate(
        network, **{POLLER_ID: DELETE_POLLER, POLLER_TOKEN: tokens.dumps(token)}
    )
    world.run(network)
    assert world.read(network) is not None
    assert world.settle(network) is None
    assert deletes(world) == 1


def test_r5_6_a_monitor_that_is_gone_and_a_resource_that_is_not(world, network):
    world.delete(network)
    world.run(network)
    world.azure.faults.answer("GET", MONITORS, 404, code="NotFound")
    world.clock.advance(10.0)
    world.run(network)
    assert finalizers(world.read(network)) == [FINALIZER]
    assert world.settle(network) is None


def test_r5_7_a_running_create_is_not_waited_for(world):
    obj = virtual_network()
    world.apply(obj)
    world.run(obj)
    world.delete(obj)
    world.run(obj)
    assert deletes(world) == 1
    assert annotations(world.read(obj))[POLLER_ID] == DELETE_POLLER
    assert world.settle(obj) is None
    assert list(world.azure.resources()) == [group_id(world)]


@pytest.mark.parametrize("method", ["GET", "DELETE"])
@pytest.mark.parametrize("code", ["ResourceNotFound", "NeverSeen"])
@pytest.mark.parametrize("restarted", [False, True])
def test_r5_10_a_404_is_repeated_while_our_put_may_still_make_it(
    world, method, code, restarted
):
    """Azure accepts a PUT, and shows its resource only at the end of the operation."""
    obj = virtual_network()
    world.apply(obj)
    world.run(obj)
    world.delete(obj)
    answer = {"code": code, "times": 2}
    world.azure.faults.answer(method, "virtualNetworks/vnet$", 404, **answer)
    for _ in range(2):
        result = world.run(obj)
        assert world.read(obj) is not None
        if restarted:
            world.restart()
        world.clock.advance(result.requeue_after_seconds)
    assert world.settle(obj) is None
    assert list(world.azure.resources()) == [group_id(world)]


def test_r5_10_one_more_404_after_our_put_has_ended_is_repeated(world):
    """The resource of an operation may not be shown at once."""
    obj = virtual_network()
    world.apply(obj)
    world.run(obj)
    world.delete(obj)
    for method in ("GET", "DELETE"):
        world.azure.faults.answer(
            method, "virtualNetworks/vnet$", 404, code="ResourceNotFound", times=30
        )
    while not any("vnet" in one for one in world.azure.resources()):
        world.clock.advance(world.run(obj).requeue_after_seconds)
    for _ in range(2):
        world.clock.advance(world.run(obj).requeue_after_seconds / 2)
    assert world.read(obj) is not None
    world.azure.faults.clear()
    assert world.settle(obj) is None
    assert list(world.azure.resources()) == [group_id(world)]


def group_id(world):
    return f"/subscriptions/{world.azure.subscription_id}/resourceGroups/rg"


def test_r5_8_the_owner_s_absence_does_not_spare_the_delete(world, network):
    group = resource_group()
    group["metadata"]["namespace"] = "default"
    world.annotate(group, **{RECONCILE_POLICY: "detach-on-delete"})
    orphaned = {"metadata": {"ownerReferences": None}}
    world.client.patch(world.resource_for(network), key_of(network), orphaned)
    world.delete(group)
    world.run(group)
    assert world.read(group) is None
    world.delete(network)
    assert world.settle(network) is None
    assert deletes(world) == 1


def test_r5_5_trouble_while_polling_keeps_the_finalizer_and_the_token(world, network):
    world.delete(network)
    world.run(network)
    token = annotations(world.read(network))[POLLER_TOKEN]
    world.azure.faults.answer("GET", MONITORS, 503, times=2, body="<html>")
    for _ in range(2):
        world.clock.advance(10.0)
        world.run(network)
        present = world.read(network)
        assert annotations(present)[POLLER_TOKEN] == token
        assert finalizers(present) == [FINALIZER]
    assert world.settle(network) is None
    assert deletes(world) == 1


def test_d21_an_object_that_was_let_go_is_hidden_from_readers(world, network):
    """Its last answer is no newer than what the cache has, finalizer and all."""
    uid = uid_of(world.read(network))
    world.delete(network)
    world.run(network)
    assert world.ended == []
    assert world.settle(network) is None
    assert world.ended == [(key_of(network), uid)]


def test_d21_an_object_that_another_finalizer_holds_is_still_read(world):
    obj = virtual_network()
    obj["metadata"]["finalizers"] = ["example.com/hold"]
    network = world.settled(obj)
    world.delete(network)
    for _ in range(2):
        world.run(network)
        world.clock.advance(30.0)
    assert finalizers(world.read(network)) == ["example.com/hold"]
    assert world.ended == []
    assert finalizers(world.writes[-1]) == ["example.com/hold"]


def test_h1_a_delete_and_its_polls_are_one_operation(world, network):
    world.delete(network)
    assert world.settle(network) is None
    polls = world.requests("GET", MONITORS)
    (sent,) = world.requests("DELETE", "virtualNetworks")
    ids = {r.headers["x-ms-client-request-id"] for r in (sent, *polls[-2:])}
    assert len(polls) >= 2
    assert len(ids) == 1


def test_l14_a_delete_whose_monitor_says_nothing_is_judged_by_the_resource(
    world, network
):
    """Ten answers in a row, as of a PUT; it was polled for ever."""
    before = len(world.requests("GET", MONITORS))
    world.azure.faults.answer("GET", MONITORS, 200, body={}, times=50)
    world.delete(network)
    assert world.settle(network, passes=40) is None
    assert len(world.requests("GET", MONITORS)) == before + 10


def test_a_delete_that_fails_in_the_end_is_begun_again(world, network):
    world.azure.faults.fail_operation("virtualNetworks", "LocationRequired", "No.")
    world.delete(network)
    world.run(network)
    world.clock.advance(30.0)
    world.run(network)
    ready = world.ready(network)
    assert (ready["severity"], ready["reason"]) == ("Warning", "LocationRequired")
    assert POLLER_TOKEN not in annotations(world.read(network))
    assert world.settle(network) is None
    assert deletes(world) == 2


def test_r3_7_a_warning_of_the_same_generation_hides_deleting(world, network):
    """Ours deletes bump the generation, so that Deleting shows."""
    world.azure.faults.answer("PUT", "virtualNetworks", 409, code="Conflict")
    world.run(network)
    assert world.ready(network)["reason"] == "Conflict"
    world.delete(network)
    world.run(network)
    assert world.ready(network)["reason"] == "Deleting"


def account():
    return {
        "apiVersion": "storage.azure.com/v20250601",
        "kind": "StorageAccount",
        "metadata": {"name": "shop2026"},
        "spec": {
            "owner": {"name": "rg"},
            "location": "westeurope",
            "kind": "StorageV2",
            "sku": {"name": "Standard_LRS"},
        },
    }


def service():
    return {
        "apiVersion": "storage.azure.com/v20250601",
        "kind": "StorageAccountsBlobService",
        "metadata": {"name": "blobs"},
        "spec": {"owner": {"name": "shop2026"}},
    }


@pytest.fixture
def blobs(world):
    """A kind that Azure cannot delete alone, with its owner."""
    for obj in (account(), service()):
        world.apply(obj)
        world.settle(obj)
    return service()


def test_r5_9_a_kind_without_delete_waits_for_its_parent(world, blobs):
    world.apply(blobs)
    world.delete(blobs)
    result = world.run(blobs)
    ready = world.ready(blobs)
    assert (ready["severity"], ready["reason"]) == (
        "Warning",
        "DeletionNotSupportedInAzure",
    )
    assert "detach-on-delete" in ready["message"]
    told = [(type_, reason) for _, type_, reason, _ in world.events]
    assert ("Normal", "NotPossibleInAzure") in told
    assert result.requeue_after_seconds == 3600.0
    assert world.requests("DELETE", "blobServices") == []
    world.azure.remove(annotations(world.read(account_in(world)))[RESOURCE_ID])
    world.run(blobs)
    assert world.read(blobs) is None


def account_in(world):
    obj = account()
    obj["metadata"]["namespace"] = "default"
    assert world.read(obj)
    return obj


def test_r5_9_a_kind_without_delete_goes_when_it_is_detached(world, blobs):
    world.apply(blobs)
    world.delete(blobs)
    world.run(blobs)
    world.annotate(blobs, **{RECONCILE_POLICY: "detach-on-delete"})
    world.run(blobs)
    assert world.read(blobs) is None
    assert world.requests("DELETE", "blobServices") == []


PAGE = "<html><body>You are offline</body></html>"


@pytest.mark.parametrize("status", [200, 202, 404, 410])
@pytest.mark.parametrize("method", ["DELETE", "GET"])
def test_l16_v5_a_proxy_s_page_deletes_nothing(world, network, method, status):
    """Else the object goes, and the resource stays and costs money."""
    headers = {"x-ms-request-id": ""}
    path = MONITORS if method == "GET" else "virtualNetworks"
    world.azure.faults.answer(method, path, status, body=PAGE, headers=headers)
    world.delete(network)
    for _ in range(3):
        world.run(network)
    assert world.read(network) is not None
    assert world.settle(network) is None
    assert list(world.azure.resources()) == [group_id(world)]


def test_l16_a_page_in_place_of_the_resource_deletes_nothing(world, network):
    """The monitor is lost, and the read that is to tell meets a proxy."""
    world.delete(network)
    world.run(network)
    answers = world.azure.faults.answer
    answers("GET", MONITORS, 404)
    for status in (404, 200):
        answers(
            "GET",
            "virtualNetworks/",
            status,
            body=PAGE,
            headers={"x-ms-request-id": ""},
        )
    for _ in range(4):
        world.clock.advance(60)
        world.run(network)
        if world.read(network) is None:
            break
    assert world.settle(network) is None
    assert list(world.azure.resources()) == [group_id(world)]


def test_r5_9_what_was_never_accepted_waits_for_no_parent(world):
    """The resource of a kind with a fixed name is always there."""
    world.settled(account())
    world.azure.faults.refuse("PUT", "blobServices", 400, "Bad", times=100)
    world.apply(service())
    world.run(service())
    world.delete(service())
    world.run(service())
    assert world.read(service()) is None
    (text,) = [e[3] for e in world.events if e[2] == "NotDeletedInAzure"]
    assert "accepted no PUT" in text


# A 404 that does not say that the resource is gone.


def answers_404(world, code, *, times):
    for method in ("GET", "DELETE"):
        world.azure.faults.answer(
            method, "virtualNetworks/vnet$", 404, code=code, times=times
        )


@pytest.mark.parametrize(
    "code", ["SubscriptionNotFound", "InvalidResourceType", "InvalidResourceNamespace"]
)
def test_v3_a_404_about_another_thing_ends_no_deletion(world, network, code):
    answers_404(world, code, times=100)
    world.delete(network)
    for _ in range(5):
        world.run(network)
        world.clock.advance(120.0)
    ready = world.ready(network)
    assert (ready["status"], ready["reason"]) == ("False", code)
    assert "detach-on-delete" in ready["message"]
    arm_id = annotations(world.read(network))[RESOURCE_ID]
    assert arm_id in world.azure.resources()
    world.azure.faults.clear()
    assert world.settle(network) is None
    assert arm_id not in world.azure.resources()


@pytest.mark.parametrize(
    ("status", "code", "is_lasting"),
    [
        (409, "ReadOnlyDisabledSubscription", True),
        (403, "RequestDisallowedByPolicy", True),
        (409, "ScopeLocked", True),
        (400, "NeverSeen", True),
        (409, "AnotherOperationInProgress", False),
        (429, "TooManyRequests", False),
        (503, "ServerTimeout", False),
    ],
)
def test_a_refusal_that_may_last_for_ever_names_the_way_out(
    world, network, status, code, is_lasting
):
    world.azure.faults.answer("DELETE", "virtualNetworks/vnet$", status, code=code)
    world.delete(network)
    world.run(network)
    message = world.ready(network)["message"]
    assert ("detach-on-delete" in message) is is_lasting


@pytest.mark.parametrize("is_hanging", [True, False])
def test_k4_a_deletion_that_takes_more_than_a_day_names_the_way_out(
    world, network, is_hanging
):
    if is_hanging:
        world.azure.faults.hang_operation("virtualNetworks/vnet")
    else:
        refused = {"code": "AnotherOperationInProgress", "times": 100}
        world.azure.faults.answer("DELETE", "virtualNetworks/vnet$", 409, **refused)
    world.delete(network)
    for is_late in (False, True):
        world.run(network)
        message = world.ready(network)["message"]
        assert message.count("detach-on-delete") == is_late
        world.restart()
        world.clock.advance(25 * 3600.0)


def test_v3_an_unknown_404_ends_a_deletion_only_if_it_is_repeated(world, network):
    answers_404(world, "VnetLost", times=100)
    world.delete(network)
    world.run(network)
    assert deletes(world) == 1
    assert world.ready(network)["reason"] == "VnetLost"
    world.clock.advance(30.0)
    world.run(network)
    assert world.read(network) is not None
    world.clock.advance(30.0)
    world.run(network)
    assert world.read(network) is None
    (event,) = [e for e in world.events if e[1:3] == ("Warning", "NotDeletedInAzure")]
    assert "404 VnetLost" in event[3]


def test_k2_a_page_in_place_of_a_put_s_answer_is_no_refusal(world):
    """Azure may have carried out the PUT whose answer a proxy replaced."""
    obj = virtual_network()
    world.apply(obj)
    unmarked = {"x-ms-request-id": ""}
    path = "virtualNetworks/vnet$"
    world.azure.faults.answer("PUT", path, 403, body=PAGE, headers=unmarked)
    world.run(obj)
    world.azure.seed(annotations(world.read(obj))[RESOURCE_ID], {"location": "x"})
    world.delete(obj)
    assert world.settle(obj) is None
    assert list(world.azure.resources()) == [group_id(world)]


def test_v3_a_deletion_that_azure_answers_with_410_ends(world, network):
    for method in ("GET", "DELETE"):
        path = "virtualNetworks/vnet$"
        world.azure.faults.answer(method, path, 410, code="Gone", times=100)
    world.delete(network)
    world.run(network)
    assert world.ready(network)["reason"] == "Gone"
    world.clock.advance(60.0)
    world.run(network)
    assert world.read(network) is None


def test_v3_an_unknown_404_that_does_not_come_again_counts_for_nothing(world, network):
    answers_404(world, "VnetLost", times=1)
    world.delete(network)
    assert world.settle(network) is None
    assert deletes(world) == 2
    assert [e for e in world.events if e[2] == "NotDeletedInAzure"] == []


def test_v3_a_sync_takes_a_404_about_another_thing_for_a_failed_read(world, network):
    operator = attrs.evolve(world.operator, sync_mode=SyncMode.COMPARE)
    world.run(network, operator=operator)
    before = len(world.requests("PUT", "virtualNetworks"))
    world.azure.faults.answer(
        "GET", "virtualNetworks/vnet$", 404, code="SubscriptionNotFound"
    )
    world.run(network, operator=operator)
    assert len(world.requests("PUT", "virtualNetworks")) == before
    assert [e for e in world.events if e[2] == "AzureResourceRecreated"] == []
