"""The sole manager of a resource."""

from world import virtual_network


def test_a_deletion_sends_no_delete_for_what_another_object_declares(world):
    other = virtual_network("other", azureName="vnet")
    world.apply(other)
    world.run(other)
    world.delete(virtual_network())
    for _ in range(3):
        world.run(virtual_network())
    assert world.requests("DELETE", "virtualNetworks/vnet") == []
