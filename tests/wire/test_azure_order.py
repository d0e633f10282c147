"""The order of PUTs: an object waits for the objects that its spec refers to."""

import attrs
import pytest
from world import World, resource_group

from asoreconcile.azure.reconcile.model.annotations import (
    RECONCILE_POLICY,
    RESOURCE_ID,
    WAIT_FOR_REFERENCES,
)
from asoreconcile.azure.reconcile.model.object_reference import ObjectReference
from asoreconcile.azure.reconcile.model.reference_waits import WAITING_FOR_REFERENCE
from asoreconcile.azure.reconcile.state.dependency_index import (
    DependencyIndex,
    targets_of,
)
from asoreconcile.base.objects import ObjectKey, annotations
from asoreconcile.kube.resources import NAMESPACES

NETWORK = "network.azure.com"


def network_object(kind, name, owner="rg", **spec):
    return {
        "apiVersion": f"{NETWORK}/v20250301",
        "kind": kind,
        "metadata": {"name": name, "namespace": "default", "annotations": {}},
        "spec": {"owner": {"name": owner}, **spec},
    }


def reference(kind, name):
    return {"reference": {"group": NETWORK, "kind": kind, "name": name}}


ADDRESS = network_object(
    "PublicIPAddress",
    "pip",
    location="westeurope",
    sku={"name": "Standard"},
    publicIPAllocationMethod="Static",
)
PREFIX = network_object(
    "PublicIPPrefix",
    "prefix",
    location="westeurope",
    sku={"name": "Standard"},
    prefixLength=28,
)


def gateway(**spec):
    named = {"publicIpAddresses": [reference("PublicIPAddress", "pip")]}
    return network_object(
        "NatGateway",
        "nat",
        location="westeurope",
        sku={"name": "Standard"},
        **{**named, **spec},
    )


@pytest.fixture(scope="module")
def start(module_path):
    kinds = ("PublicIPAddress", "PublicIPPrefix", "NatGateway")
    with World(module_path, lro=4.0) as running:
        running.install(
            "resources.azure.com/ResourceGroup", *(f"{NETWORK}/{k}" for k in kinds)
        )
        running.settled(resource_group())
        yield running


def puts(world, type_):
    return len(world.requests("PUT", f"/{type_}/"))


def stands(world, obj):
    ready = world.ready(obj)
    return ready["reason"], ready["severity"]


WAITS = (WAITING_FOR_REFERENCE, "Info")


def test_ow5_a_put_waits_for_the_put_of_what_it_refers_to(world):
    address = {**ADDRESS, "spec": {**ADDRESS["spec"]}}
    address["spec"]["publicIPPrefix"] = reference("PublicIPPrefix", "prefix")
    world.apply(PREFIX)
    world.apply(address)
    world.run_once(PREFIX)  # claimed: it has an id, and no PUT
    world.run(address)
    assert stands(world, address) == WAITS
    # Azure takes the reference while the prefix is still being made.
    world.run_once(PREFIX)
    world.run_once(address)
    assert puts(world, "publicIPAddresses") == 1
    assert world.ready(PREFIX)["status"] == "False"


def test_ow5_a_type_that_azure_refuses_waits_until_the_other_was_ready(world):
    world.apply(ADDRESS)
    world.apply(gateway())
    world.run_once(ADDRESS)
    world.run(gateway())
    result = world.run_once(gateway())
    assert stands(world, gateway()) == WAITS
    assert "PublicIPAddress default/pip" in world.ready(gateway())["message"]
    assert result.requeue_after_seconds == 600.0  # it is woken, not polled
    world.run_once(ADDRESS)
    assert puts(world, "publicIPAddresses") == 1
    world.run_once(gateway())
    assert puts(world, "natGateways") == 0
    world.settle(ADDRESS)
    world.settle(gateway())
    assert puts(world, "natGateways") == 1
    # An update of the other one holds nothing back.
    edited = {**ADDRESS, "spec": {**ADDRESS["spec"], "idleTimeoutInMinutes": 10}}
    world.apply(edited)
    world.run_once(ADDRESS)
    world.apply(gateway(idleTimeoutInMinutes=10))
    world.run_once(gateway())
    assert puts(world, "natGateways") >= 2


def test_ow5_after_ten_minutes_the_wait_is_a_warning(world):
    world.apply(ADDRESS)
    world.apply(gateway())
    world.run_once(ADDRESS)
    world.run(gateway())
    assert stands(world, gateway()) == WAITS
    world.clock.advance(world.run_once(gateway()).requeue_after_seconds)
    world.run_once(gateway())
    assert stands(world, gateway()) == (WAITING_FOR_REFERENCE, "Warning")
    world.settle(ADDRESS)
    world.settle(gateway())


@pytest.mark.parametrize("whose", ["object", "namespace", "operator"])
def test_ow5_the_wait_can_be_switched_off(world, whose):
    obj = gateway()
    notes = {WAIT_FOR_REFERENCES: "false"}
    if whose == "object":
        obj["metadata"]["annotations"] = notes
    elif whose == "namespace":
        body = {"metadata": {"annotations": notes}}
        world.client.patch(NAMESPACES, ObjectKey("", "default"), body)
    else:
        world.operator = attrs.evolve(world.operator, wait_for_references=False)
    world.apply(ADDRESS)
    world.apply(obj)
    world.run(ADDRESS)
    world.run(obj)
    (refused,) = world.requests("PUT", "/natGateways/")
    assert refused.status == 429  # as Azure does while the address is being made


def test_ow5_what_only_reads_counts_once_azure_shows_it(world):
    policy = {RECONCILE_POLICY: "skip"}
    observed = {**ADDRESS, "metadata": {**ADDRESS["metadata"], "annotations": policy}}
    world.apply(observed)
    world.apply(gateway())
    world.run(observed)
    world.run(gateway())
    assert stands(world, gateway()) == WAITS
    arm_id = annotations(world.read(observed))[RESOURCE_ID]
    world.arm.put(arm_id, "2024-07-01", {"location": "westeurope"})
    world.clock.advance(60.0)
    world.run(observed)
    world.settle(gateway())


def test_ow5_a_cycle_does_not_wait(world):
    index = DependencyIndex()
    world.operator = attrs.evolve(world.operator, leads_to=index.leads_to)
    world.apply(ADDRESS)
    world.apply(gateway())
    world.run_once(ADDRESS)
    world.run_once(gateway())
    me, other = (
        ObjectReference(
            world.kind_of(one).version.group_kind, ObjectKey("default", name)
        )
        for one, name in ((gateway(), "nat"), (ADDRESS, "pip"))
    )
    index.update(me, targets_of(world.kind_of(gateway()).version, gateway()))
    back = network_object("PublicIPAddress", "pip")
    back["spec"]["natGateway"] = reference("NatGateway", "nat")
    index.update(other, targets_of(world.kind_of(ADDRESS).version, back))
    world.run_once(gateway())
    assert puts(world, "natGateways") == 1
