"""Syncs that read before they PUT."""

from world import virtual_network

from asoreconcile.azure.reconcile.model.annotations import RESOURCE_ID
from asoreconcile.base.objects import annotations


def puts(world):
    return len(world.requests("PUT", "virtualNetworks/vnet"))


def test_a_sync_puts_only_what_differs(world):
    network = virtual_network()
    world.clock.advance(3600.0)
    world.run(network)
    assert puts(world) == 0
    arm_id = annotations(world.read(network))[RESOURCE_ID]
    body = world.arm.get(arm_id, "2024-07-01")
    body["properties"]["addressSpace"]["addressPrefixes"] = ["10.9.0.0/16"]
    world.azure.seed(arm_id, body)
    world.clock.advance(3600.0)
    world.run(network)
    assert puts(world) == 1
