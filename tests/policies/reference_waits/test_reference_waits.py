"""Waits for the resources that a spec refers to."""

from asoreconcile.azure.reconcile.model.reference_waits import WAITING_FOR_REFERENCE


def network_object(kind, name, **spec):
    return {
        "apiVersion": "network.azure.com/v20250301",
        "kind": kind,
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "owner": {"name": "rg"},
            "location": "westeurope",
            "sku": {"name": "Standard"},
            **spec,
        },
    }


def test_a_put_waits_until_azure_has_what_the_spec_refers_to(world):
    address = network_object(
        "PublicIPAddress", "pip", publicIPAllocationMethod="Static"
    )
    named = {"group": "network.azure.com", "kind": "PublicIPAddress", "name": "pip"}
    gateway = network_object(
        "NatGateway", "nat", publicIpAddresses=[{"reference": named}]
    )
    world.azure.faults.answer("PUT", "publicIPAddresses/pip", 503, times=20)
    world.apply(address)
    world.run(address)
    world.apply(gateway)
    for _ in range(3):
        world.run(gateway)
    assert world.requests("PUT", "natGateways/nat") == []
    assert world.ready(gateway)["reason"] == WAITING_FOR_REFERENCE
