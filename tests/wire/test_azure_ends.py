"""How operations end, and what stays on the object when the end cannot be read."""

import attrs
import pytest
from globalconnection import GlobalConnection
from world import World, resource_group, virtual_network

from asoreconcile.azure.arm.budget import ThrottledError
from asoreconcile.azure.arm.credentials import CredentialError
from asoreconcile.azure.reconcile.model.annotations import (
    DELETE_POLLER,
    FINALIZER,
    POLLER_ID,
    POLLER_TOKEN,
    RESOURCE_ID,
)
from asoreconcile.base.objects import annotations, finalizers

GROUPS = "resources.azure.com/ResourceGroup"
NETWORKS = "network.azure.com/VirtualNetwork"
NETWORK = "virtualNetworks/vnet"
OPERATIONS = "/operations/"


@pytest.fixture(scope="module")
def start(module_path):
    with World(module_path, lro=30.0, retry_after=10) as one:
        one.install(GROUPS, NETWORKS)
        one.settled(resource_group())
        yield one


@pytest.fixture
def network(world):
    """A network whose PUT is under way, and over as soon as somebody asks."""
    obj = virtual_network()
    world.apply(obj)
    world.run(obj)
    world.clock.advance(60.0)
    return obj


def puts(world):
    return len(world.requests("PUT", NETWORK))


def has_token(world, obj):
    return POLLER_TOKEN in annotations(world.read(obj))


@pytest.mark.parametrize(
    ("trouble", "kept"),
    [
        pytest.param({"status": 503, "body": "<html>"}, True, id="D3-503"),
        pytest.param({"status": 429, "code": "TooManyRequests"}, True, id="D3-429"),
        pytest.param({"status": 401, "code": "InvalidToken"}, True, id="401"),
        pytest.param(None, True, id="D3-no-answer"),
        pytest.param({"status": 403, "code": "AuthorizationFailed"}, False, id="403"),
        pytest.param({"status": 400, "code": "LocationRequired"}, False, id="fatal"),
    ],
)
def test_an_end_whose_resource_cannot_be_read_costs_no_put(
    world, network, trouble, kept
):
    """The operation went well; only the GET after it failed. A token goes when asking
    again would not help, and memory still knows what was put (D15).
    """
    if trouble is None:
        # A GET on a kept connection is asked again on a fresh one.
        world.azure.faults.drop("GET", NETWORK, times=2)
    else:
        world.azure.faults.answer("GET", NETWORK, **trouble)
    world.run(network)
    ready = world.ready(network)
    # Only a PUT can be refused so that nothing but an edit helps.
    assert (ready["status"], ready["severity"]) == ("False", "Warning")
    assert has_token(world, network) is kept
    world.settle(network)
    assert puts(world) == 1
    assert not has_token(world, network)


class Refusing:
    """A client whose reads of a network come to nothing; all else passes."""

    def __init__(self, client, error):
        self._client = client
        self._error = error

    def __getattr__(self, name):
        return getattr(self._client, name)

    def get(self, arm_id, api_version):
        if "virtualNetworks" in arm_id:
            raise self._error
        return self._client.get(arm_id, api_version)


@pytest.mark.parametrize(
    "trouble",
    [
        pytest.param(ThrottledError("full", after_seconds=9.0), id="our-own-throttle"),
        pytest.param(CredentialError("Entra refuses the secret"), id="sign-in"),
    ],
)
def test_d3_an_end_that_was_not_asked_for_costs_no_put_after_a_restart(
    world, network, trouble
):
    """Nothing was sent: a durable token outlives that, and so it does memory."""
    connections = GlobalConnection(
        Refusing(world.arm, trouble),
        subscription_id=world.azure.subscription_id,
        source="azure-operator/aso-controller-settings",
    )
    world.restart()
    world.run(network, operator=attrs.evolve(world.operator, connections=connections))
    assert has_token(world, network)
    world.restart()
    world.settle(network)
    assert puts(world) == 1
    assert not has_token(world, network)


def test_an_end_that_a_check_of_ours_refuses_leaves_no_token(world, network):
    """The next pass judges what is there, it does not poll what is over."""
    world.azure.faults.answer("GET", NETWORK, 404, code="ResourceNotFound")
    world.run(network)
    assert world.ready(network)["reason"] == "Failed"
    assert not has_token(world, network)
    world.settle(network)
    assert puts(world) == 2


def test_k4_a_put_that_takes_more_than_a_day_says_so(world):
    world.azure.faults.hang_operation(NETWORK)
    obj = virtual_network()
    world.apply(obj)
    for is_late in (False, True):
        world.run(obj)
        assert ("activity log" in world.ready(obj)["message"]) is is_late
        world.clock.advance(25 * 3600.0)
    assert puts(world) == 1


def test_r2_2_no_token_of_a_put_stays_when_a_deletion_is_refused(world):
    obj = virtual_network()
    world.apply(obj)
    world.run(obj)
    assert has_token(world, obj)
    world.azure.faults.answer("DELETE", NETWORK, 409, code="ScopeLocked")
    world.delete(obj)
    world.run(obj)
    assert not has_token(world, obj)
    assert FINALIZER in finalizers(world.read(obj))


@pytest.fixture
def leaving(world, network):
    """A network whose DELETE is under way."""
    world.settle(network)
    world.delete(network)
    world.run(network)
    assert annotations(world.read(network))[POLLER_ID] == DELETE_POLLER
    return network


def deletes(world):
    return len(world.requests("DELETE", NETWORK))


def test_r1_14_an_unreadable_token_of_a_deletion_is_dropped(world, leaving):
    world.annotate(leaving, **{POLLER_TOKEN: "garbage"})
    world.run(leaving)
    assert not has_token(world, leaving)
    assert FINALIZER in finalizers(world.read(leaving))
    world.clock.advance(60.0)
    assert world.settle(leaving) is None


def test_r5_6_a_deletion_that_azure_forgot_is_begun_again(world, leaving):
    """The monitor is gone and the resource as it was."""
    id_ = annotations(world.read(leaving))[RESOURCE_ID]
    still = {"id": id_, "properties": {"provisioningState": "Succeeded"}}
    world.azure.faults.answer("GET", OPERATIONS, 404, code="NotFound")
    world.azure.faults.answer("GET", NETWORK, 200, body=still)
    world.clock.advance(10.0)
    world.run(leaving)
    assert not has_token(world, leaving)
    assert FINALIZER in finalizers(world.read(leaving))
    world.clock.advance(60.0)
    assert world.settle(leaving) is None


def test_a_deletion_takes_our_finalizer_alone_and_forgets_the_object(world):
    obj = virtual_network()
    obj["metadata"]["finalizers"] = ["example.com/guard"]
    world.settled(obj)
    made = world.read(obj)
    world.delete(obj)
    for _ in range(8):
        world.clock.advance(world.run(obj).requeue_after_seconds or 0.0)
    assert finalizers(world.read(obj)) == ["example.com/guard"]
    assert deletes(world) == 1
    assert not world.remembers(made)


@pytest.fixture
def product_api(world):
    """Of a kind that Azure shows by HEAD alone: Ready."""
    world.install("apimanagement.azure.com/ProductApi")
    service = (
        f"/subscriptions/{world.azure.subscription_id}/resourceGroups/rg"
        "/providers/Microsoft.ApiManagement/service/apim"
    )
    for id_ in (service, f"{service}/products/p"):
        world.azure.seed(id_, {"location": "westeurope", "properties": {}})
    type_ = "Microsoft.ApiManagement/service/products/apis"
    world.azure.style(type_, "W19")
    world.azure.styles.change(type_, delete_needs_match=False)  # only products do
    return world.settled(
        {
            "apiVersion": "apimanagement.azure.com/v20240501",
            "kind": "ProductApi",
            "metadata": {"name": "echo"},
            "spec": {"owner": {"armId": f"{service}/products/p"}},
        }
    )


def test_d17_what_head_alone_shows_is_ready_when_it_exists(world, product_api):
    assert world.requests("GET", "apis/echo") == []
    assert len(world.requests("HEAD", "apis/echo")) == 1
    assert "conditions" in world.read(product_api)["status"]


@pytest.mark.parametrize("there", [True, False])
def test_d17_r5_3_what_head_alone_shows_is_deleted_whether_it_is_there(
    world, product_api, there
):
    if not there:
        world.azure.remove(annotations(world.read(product_api))[RESOURCE_ID])
    world.delete(product_api)
    assert world.settle(product_api) is None
    assert len(world.requests("DELETE", "apis/echo")) == 1
    assert world.requests("GET", "apis/echo") == []


def test_d17_what_azure_accepts_and_head_does_not_show_is_not_ready(world, product_api):
    world.azure.faults.answer("HEAD", "apis/echo", 404, code="ResourceNotFound")
    world.run(product_api)
    assert world.ready(product_api)["reason"] == "Failed"
    assert "does not show it" in world.ready(product_api)["message"]


def test_l16_a_deletion_without_a_monitor_is_followed_at_the_resource(world, leaving):
    """It is going, says the resource; the monitor that is gone is not asked again."""
    id_ = annotations(world.read(leaving))[RESOURCE_ID]
    going = {"id": id_, "properties": {"provisioningState": "Deleting"}}
    world.azure.faults.answer("GET", OPERATIONS, 404, code="NotFound")
    world.azure.faults.answer("GET", NETWORK, 200, body=going)
    world.clock.advance(10.0)
    asked = len(world.requests("GET", OPERATIONS))
    assert world.run(leaving).requeue_after_seconds > 0
    assert len(world.requests("GET", OPERATIONS)) == asked + 1
    assert not has_token(world, leaving)
    assert FINALIZER in finalizers(world.read(leaving))
    assert world.settle(leaving) is None
