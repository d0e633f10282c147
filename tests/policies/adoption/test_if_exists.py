"""Adoption of a resource that was there before."""

import pytest
from world import virtual_network

from asoreconcile.azure.reconcile.model.annotations import EXISTENCE, RESOURCE_ID
from asoreconcile.azure.reconcile.model.existence import ALREADY_EXISTS, IF_EXISTS
from asoreconcile.azure.reconcile.scope.patch_helper import StaleError
from asoreconcile.base.objects import annotations


def test_an_object_that_observes_gets_no_permission_for_a_put(world, reconcile):
    notes = {EXISTENCE: "undecided", IF_EXISTS: "observe"}
    world.annotate(virtual_network(), **notes)
    with pytest.raises(StaleError, match="only reads"):
        reconcile().permit()


def test_a_resource_that_exists_is_left_alone_if_the_object_says_fail(world):
    obj = virtual_network("found")
    obj["metadata"]["annotations"] = {IF_EXISTS: "fail"}
    known = annotations(world.read(virtual_network()))[RESOURCE_ID]
    body = world.arm.get(known, "2024-07-01")
    there = known.replace("/vnet", "/found")
    world.azure.seed(there, {**body, "id": there, "name": "found"})
    world.apply(obj)
    for _ in range(3):
        world.run(obj)
    assert world.ready(obj)["reason"] == ALREADY_EXISTS
    assert world.requests("PUT", "virtualNetworks/found") == []
