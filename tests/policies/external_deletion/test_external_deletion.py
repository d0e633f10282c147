"""Resources that were deleted outside and made again."""

from world import virtual_network

from asoreconcile.azure.reconcile.model.annotations import RESOURCE_ID
from asoreconcile.azure.reconcile.model.decisions import ReadAfter
from asoreconcile.azure.reconcile.model.external_deletion import RECREATED
from asoreconcile.azure.reconcile.policies import order
from asoreconcile.azure.reconcile.policies.phase import run
from asoreconcile.azure.reconcile.policies.requests import SettleRequest
from asoreconcile.base.objects import annotations


def test_another_resource_with_the_same_id_is_reported(world, reconcile):
    arm_id = annotations(world.read(virtual_network()))[RESOURCE_ID]
    have = world.arm.get(arm_id, "2024-07-01")
    guid = "00000000-0000-0000-0000-00000000000f"
    other = {**have, "properties": {**have["properties"], "resourceGuid": guid}}
    request = SettleRequest(reconcile().scope, ReadAfter.PUT, other)
    run(order.SETTLED, request, lambda _: None)
    assert [e for e in world.events if e[2] == RECREATED]
