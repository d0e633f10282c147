"""Operations whose monitor refuses to tell, or that Azure has lost: said, and no
storm.
"""

import pytest
from world import World, resource_group, virtual_network

from asoreconcile.azure.reconcile.model.annotations import POLLER_TOKEN
from asoreconcile.base.objects import annotations

GROUPS = "resources.azure.com/ResourceGroup"
NETWORKS = "network.azure.com/VirtualNetwork"
TYPE = "Microsoft.Network/virtualNetworks"
NETWORK = "virtualNetworks/vnet"
MONITORS = "/operation"
WORDS = "The operation token has expired."
EVER = 1000


@pytest.fixture(scope="module")
def start(module_path):
    with World(module_path, lro=30.0, retry_after=5) as one:
        one.azure.styles.change(TYPE, update="200 A 5 Updating")
        one.install(GROUPS, NETWORKS)
        one.settled(resource_group())
        yield one


@pytest.fixture
def network(world):
    """A network whose PUT is under way."""
    obj = virtual_network()
    world.apply(obj)
    world.run(obj)
    return obj


def refuse_monitors(world, status=400, code="TokenExpired", times=EVER):
    world.azure.faults.answer(
        "GET", MONITORS, status, code=code, message=WORDS, times=times
    )


def no_resource(world, times=EVER):
    world.azure.faults.answer("GET", NETWORK, 404, code="ResourceNotFound", times=times)


def writes_in(world, obj, seconds, method="PUT"):
    """How many writes go out while an object is run as often as it asks."""
    before = len(world.requests(method, NETWORK))
    end = world.clock.monotonic() + seconds
    while world.clock.monotonic() < end:
        world.clock.advance(world.run(obj).requeue_after_seconds)
    return len(world.requests(method, NETWORK)) - before


def has_token(world, obj):
    return POLLER_TOKEN in annotations(world.read(obj))


def told(world, reason):
    return [e[3] for e in world.events if e[:3] == ("vnet", "Warning", reason)]


def test_l16_a_refused_monitor_of_nothing_is_no_storm_of_puts(world, network):
    refuse_monitors(world)
    no_resource(world)
    assert 2 <= writes_in(world, network, 240.0) <= 9
    ready = world.ready(network)
    assert (ready["reason"], ready["severity"]) == ("TokenExpired", "Warning")
    assert WORDS in ready["message"]
    assert "does not exist" in ready["message"]
    assert any(WORDS in text for text in told(world, "CreateOrUpdateActionError"))


def test_l16_a_lost_operation_is_no_silent_storm_either(world, network):
    """Its monitor is gone: nobody refuses anything, and nothing is there."""
    refuse_monitors(world, 404, "NotFound")
    no_resource(world)
    assert 2 <= writes_in(world, network, 240.0) <= 9
    ready = world.ready(network)
    assert (ready["reason"], ready["severity"]) == ("OperationLost", "Warning")
    assert told(world, "CreateOrUpdateActionError")


def test_l16_what_heals_is_put_once_more(world, network):
    refuse_monitors(world, times=1)
    no_resource(world, times=1)
    world.clock.advance(5.0)
    world.run(network)
    assert not has_token(world, network)
    world.settle(network)
    assert len(world.requests("PUT", NETWORK)) == 2


@pytest.mark.parametrize(
    "trouble",
    [
        pytest.param({"status": 503, "body": "<html>"}, id="503"),
        pytest.param({"status": 403, "code": "AuthorizationFailed"}, id="403"),
        pytest.param({"status": 200, "body": "<html>"}, id="page"),
    ],
)
def test_l16_where_nothing_can_be_judged_the_monitors_words_are_shown(
    world, network, trouble
):
    refuse_monitors(world, times=1)
    world.azure.faults.answer("GET", NETWORK, **trouble)
    world.clock.advance(5.0)
    world.run(network)
    ready = world.ready(network)
    assert (ready["reason"], ready["severity"]) == ("TokenExpired", "Warning")
    assert WORDS in ready["message"]
    assert has_token(world, network)
    world.settle(network)
    assert len(world.requests("PUT", NETWORK)) == 1


def test_l16_sign_in_trouble_at_a_monitor_drops_no_token(world, network):
    refuse_monitors(world, 401, "ExpiredAuthenticationToken")
    no_resource(world, times=1)
    world.clock.advance(5.0)
    world.run(network)
    assert has_token(world, network)
    assert world.ready(network)["reason"] == "ExpiredAuthenticationToken"


def test_l16_a_resource_that_tells_enough_makes_an_event_of_the_refusal(world, network):
    refuse_monitors(world)
    world.settle(network)
    assert len(world.requests("PUT", NETWORK)) == 1
    assert [WORDS in text for text in told(world, "OperationUnreadable")] == [True]


def test_l16_a_deletion_that_is_lost_is_no_storm_of_deletes(world, network):
    world.settle(network)
    world.delete(network)
    refuse_monitors(world)
    still_there = {"name": "vnet", "properties": {"provisioningState": "Succeeded"}}
    world.azure.faults.answer("GET", NETWORK, 200, body=still_there, times=EVER)
    world.azure.faults.hang_operation(NETWORK, times=EVER)
    assert 2 <= writes_in(world, network, 240.0, "DELETE") <= 9
    ready = world.ready(network)
    assert (ready["reason"], ready["severity"]) == ("TokenExpired", "Warning")
    assert WORDS in ready["message"]


def test_r4_1_operations_that_fail_one_after_the_other_come_ever_later(world):
    """Azure accepts each PUT, which is no success."""
    network = virtual_network()
    world.apply(network)
    world.azure.faults.fail_operation("virtualNetworks", "Odd", "No.", times=EVER)
    delays = []
    for _ in range(40):
        after = world.run(network).requeue_after_seconds
        if not has_token(world, network):
            delays.append(after)
        world.clock.advance(after)
    assert delays[:4] == [1, 2, 4, 8]
    world.apply(virtual_network(tags={"a": "b"}))
    delays = []
    for _ in range(20):
        after = world.run(network).requeue_after_seconds
        if not has_token(world, network):
            delays.append(after)
        world.clock.advance(after)
    # What was under way spoke of the old spec: the new one is put at once.
    assert [after for after in delays if after >= 1][:2] == [1, 2]
