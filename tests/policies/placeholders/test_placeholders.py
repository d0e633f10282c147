"""Placeholders of an imported manifest."""

from world import virtual_network

from asoreconcile.azure.reconcile.model.annotations import PLACEHOLDERS


def test_nothing_is_put_while_placeholders_are_left(world):
    obj = virtual_network("imported")
    obj["metadata"]["annotations"] = {PLACEHOLDERS: "spec.addressSpace"}
    world.apply(obj)
    for _ in range(4):
        world.run(obj)
    assert world.requests("PUT", "virtualNetworks/imported") == []
    assert "spec.addressSpace" in world.ready(obj)["message"]
