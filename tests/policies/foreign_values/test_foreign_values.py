"""Values of other writers."""

from world import virtual_network

from asoreconcile.azure.reconcile.model.annotations import RESOURCE_ID
from asoreconcile.azure.reconcile.policies import order
from asoreconcile.azure.reconcile.policies.phase import run
from asoreconcile.base.objects import annotations


def test_a_put_keeps_tags_that_the_object_does_not_declare(world, reconcile):
    begun = reconcile()
    arm_id = annotations(world.read(virtual_network()))[RESOURCE_ID]
    have = world.arm.get(arm_id, "2024-07-01")
    begun.scope.context.observed({**have, "tags": {"team": "red"}})
    sent = run(order.BEFORE_PUT, begun.put(), lambda request: request)
    assert sent.put.body.get("tags") == {"team": "red"}
