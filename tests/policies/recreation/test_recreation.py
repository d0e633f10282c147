"""Resources that are deleted and made again, because Azure does not change them."""

from asoreconcile.azure.reconcile.model.annotations import (
    ON_IMMUTABLE,
    RECREATION,
    RESOURCE_ID,
)
from asoreconcile.azure.reconcile.model.decisions import Requeue
from asoreconcile.azure.reconcile.policies import order
from asoreconcile.azure.reconcile.policies.phase import run
from asoreconcile.azure.reconcile.policies.requests import RefusedRequest
from asoreconcile.azure.testing.extensions import arm_fault
from asoreconcile.base.objects import annotations

ADDRESS = {
    "apiVersion": "network.azure.com/v20250301",
    "kind": "PublicIPAddress",
    "metadata": {
        "name": "pip",
        "namespace": "default",
        "annotations": {ON_IMMUTABLE: "recreate"},
    },
    "spec": {
        "owner": {"name": "rg"},
        "location": "westeurope",
        "sku": {"name": "Standard"},
        "publicIPAllocationMethod": "Static",
    },
}


def test_a_refused_change_of_an_immutable_field_starts_a_recreation(world, reconcile):
    world.settled(ADDRESS)
    arm_id = annotations(world.read(ADDRESS))[RESOURCE_ID]
    have = world.arm.get(arm_id, "2024-07-01")
    begun = reconcile(ADDRESS)
    begun.scope.context.observed({**have, "sku": {"name": "Basic"}})
    desired = begun.put().desired
    error = arm_fault(400, "PropertyChangeNotAllowed")
    refused = RefusedRequest(begun.scope, error, desired.rendered, desired)
    assert run(order.REFUSED, refused, lambda _: "shown") == Requeue()
    assert annotations(world.read(ADDRESS))[RECREATION].startswith("deleting ")
