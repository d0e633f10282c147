"""The rules of failing: conditions, events and delays of refused requests."""

import attrs
import pytest
from globalconnection import GlobalConnection
from world import World, resource_group, virtual_network

from asoreconcile.base.objects import generation

GROUPS = "resources.azure.com/ResourceGroup"
NETWORKS = "network.azure.com/VirtualNetwork"
SECURITY_GROUPS = "network.azure.com/NetworkSecurityGroup"
SYNC_SECONDS = 3600.0


@pytest.fixture(scope="module")
def start(module_path):
    with World(module_path, lro=30.0, retry_after=7) as running:
        running.install(GROUPS, NETWORKS)
        running.settled(resource_group())
        yield running


@pytest.fixture
def network(world):
    obj = virtual_network()
    world.apply(obj)
    return obj


def refuse(world, status=409, code="Conflict", times=1, **more):
    world.azure.faults.answer(
        "PUT", "virtualNetworks", status, code=code, times=times, **more
    )


def test_r3_6_a_condition_speaks_of_the_generation_the_pass_began_with(world, network):
    refuse(world)
    world.run(network)
    world.apply(virtual_network(tags={"a": "b"}))
    ready = world.ready(network)
    assert (ready["reason"], ready["observedGeneration"]) == ("Conflict", 1)
    assert generation(world.read(network)) == 2


def test_r3_4_an_arm_warning_is_not_hidden_by_work_on_the_same_spec(world, network):
    refuse(world)
    world.run(network)
    world.run(network)
    assert len(world.requests("PUT", "virtualNetworks")) == 2
    assert world.ready(network)["reason"] == "Conflict"
    world.settle(network)


def test_r4_2_d19_severity_error_is_looked_at_again_very_slowly(world, network):
    refuse(world, 400, "LocationRequired")
    result = world.run(network)
    assert world.ready(network)["severity"] == "Error"
    assert result.requeue_after_seconds == SYNC_SECONDS


@pytest.mark.parametrize(
    ("status", "code", "delays"),
    [
        pytest.param(409, "Conflict", [1, 2, 4, 8], id="R4.1-slow"),
        pytest.param(400, "BadRequest", [SYNC_SECONDS] * 2, id="R4.1-very-slow"),
        pytest.param(400, "Unheard", [SYNC_SECONDS] * 2, id="R4.4-400"),
        pytest.param(404, "Unheard", [1, 2], id="R4.4-404"),
        pytest.param(429, "Unheard", [5, 5], id="R4.4-T6-429"),
        pytest.param(500, "Unheard", [1, 2], id="R4.4-500"),
    ],
)
def test_delays_go_by_code_and_count(world, network, status, code, delays):
    refuse(world, status, code, times=len(delays))
    seen = [world.run(network).requeue_after_seconds for _ in delays]
    assert seen == delays


def test_r4_1_waiting_for_an_owner_is_fast(world):
    obj = virtual_network(owner="nowhere")
    world.apply(obj)
    seen = [world.run(obj).requeue_after_seconds for _ in range(7)]
    assert seen == [1, 2, 4, 8, 16, 30, 30]


def test_d7_same_named_objects_of_two_kinds_do_not_share_a_count(world):
    obj = virtual_network(name="rg")
    world.apply(obj)
    refuse(world, times=3)
    for _ in range(3):
        world.run(obj)
    world.azure.faults.answer("PUT", "resourceGroups/rg$", 409, code="Conflict")
    assert world.run(resource_group_in(world)).requeue_after_seconds == 1


def resource_group_in(world):
    obj = resource_group()
    obj["metadata"]["namespace"] = "default"
    assert world.read(obj)
    return obj


def test_r4_3_an_accepted_put_resets_the_count(world, network):
    refuse(world, times=3)
    for _ in range(3):
        world.run(network)
    world.run(network)  # accepted
    world.settle(network)
    refuse(world)
    assert world.run(network).requeue_after_seconds == 1


def test_r4_6_nested_and_flat_bodies_are_one_condition(world, network):
    seen = []
    for body in (
        {"error": {"code": "QuotaExceeded", "message": "No more."}},
        {"code": "QuotaExceeded", "message": "No more."},
    ):
        world.azure.faults.answer("PUT", "virtualNetworks", 409, body=body)
        world.run(network)
        seen.append((world.ready(network)["reason"], world.ready(network)["message"]))
    assert seen == [("QuotaExceeded", "No more.")] * 2


def test_d4_retry_after_of_a_refused_put_is_a_lower_bound(world, network):
    refuse(world, 429, "TooMany", headers={"Retry-After": "17"})
    assert world.run(network).requeue_after_seconds == 17


def test_r4_8_retry_after_holds_before_the_first_poll(world, network):
    assert world.run(network).requeue_after_seconds == 7


def test_d4_an_event_does_not_bring_a_poll_forward(world, network):
    """An edit, or anything it names: Azure said when to ask."""
    world.run(network)
    world.apply(virtual_network(tags={"a": "b"}))
    world.clock.advance(3.0)
    assert world.run(network).requeue_after_seconds == pytest.approx(4.0)
    assert world.requests("GET", "/operations/") == []
    world.clock.advance(4.0)
    world.run(network)
    assert len(world.requests("GET", "/operations/")) == 1


@pytest.mark.parametrize(
    ("code", "severity"),
    [("LocationRequired", "Error"), ("AllocationFailed", "Warning")],
)
def test_r4_9_a_failed_operation_is_classified_by_its_code(
    world, network, code, severity
):
    world.azure.faults.fail_operation("virtualNetworks", code, "Because.")
    world.run(network)
    world.clock.advance(30.0)
    world.run(network)
    ready = world.ready(network)
    assert (ready["reason"], ready["severity"], ready["message"]) == (
        code,
        severity,
        "Because.",
    )


def test_r7_2_one_event_for_each_accepted_put_and_none_for_a_poll(world, network):
    refuse(world)
    world.run(network)
    world.settle(network)
    begun = [
        e for e in world.events if e[:3] == ("vnet", "Normal", "BeginCreateOrUpdate")
    ]
    assert len(begun) == 1
    assert '/virtualNetworks/vnet"' in begun[0][3]


def test_r7_3_a_failed_action_is_an_event_and_a_condition(world, network):
    refuse(world, message="Busy.")
    world.run(network)
    warned = [e for e in world.events if e[:2] == ("vnet", "Warning")]
    assert [e[2] for e in warned] == ["CreateOrUpdateActionError"]
    assert world.ready(network)["message"] in warned[0][3]
    refuse(world, message="Busy.")
    world.run(network)
    _, again = [e for e in world.events if e[:2] == ("vnet", "Warning")]
    assert again[2:] == ("CreateOrUpdateActionError", "Conflict: Busy.")


def test_r8_6_a_credential_of_another_subscription_is_an_error_and_no_put(
    world, network
):
    world.settle(network)
    asked = len(world.azure.journal)
    elsewhere = GlobalConnection(
        world.arm,
        subscription_id="00000000-0000-0000-0000-000000000099",
        source="ops/other",
    )
    world.run(network, operator=attrs.evolve(world.operator, connections=elsewhere))
    ready = world.ready(network)
    assert (ready["severity"], ready["reason"]) == ("Error", "SubscriptionMismatch")
    assert "ops/other" in ready["message"]
    assert len(world.azure.journal) == asked


def test_d12_no_credential_is_its_own_reason_and_is_tried_slowly(world, network):
    operator = attrs.evolve(world.operator, connections=GlobalConnection(None))
    delays = [
        world.run(network, operator=operator).requeue_after_seconds for _ in range(2)
    ]
    ready = world.ready(network)
    assert (ready["severity"], ready["reason"]) == ("Warning", "CredentialError")
    assert delays == [1, 2]
    world.settle(network)


def test_r10_2_before_the_claim_the_name_may_change(world):
    obj = virtual_network(owner="nowhere")
    world.apply(obj)
    world.run(obj)
    obj = virtual_network(azureName="renamed")
    world.apply(obj)
    world.settle(obj)
    (put,) = world.requests("PUT", "virtualNetworks")
    assert put.path.endswith("/virtualNetworks/renamed")


@pytest.mark.parametrize(
    "left", [None, "1100"], ids=["T5-no-rate-header", "T5-rate-header"]
)
def test_what_azure_throttles_for_ever_holds_up_nothing_beside_it(tmp_path, left):
    """Networks are made at once beside a security group that is refused each time."""
    with World(tmp_path, budgeted=True) as world:
        world.install(GROUPS, NETWORKS, SECURITY_GROUPS)
        world.settled(resource_group())
        throttle_one(world, left)


def throttle_one(world, left):
    bad = virtual_network("bad")
    bad |= {"kind": "NetworkSecurityGroup"}
    del bad["spec"]["addressSpace"]
    headers = {"Retry-After": "60"}
    if left is not None:
        headers["x-ms-ratelimit-remaining-subscription-writes"] = left
    world.azure.faults.answer(
        *("PUT", "networkSecurityGroups/bad", 429),
        code="TooManyRequests",
        headers=headers,
        times=99,
    )
    world.apply(bad)
    for number in range(6):
        world.run(bad)
        assert len(world.requests("PUT", "networkSecurityGroups")) == number + 1
        beside = virtual_network(f"beside-{number}")
        world.apply(beside)
        world.run(beside)
        assert len(world.requests("PUT", f"beside-{number}")) == 1
        world.clock.advance(61.0)
