"""The confirmation that a resource is gone."""

import pytest
from world import virtual_network

from asoreconcile.azure.arm.absence import Absence
from asoreconcile.azure.reconcile.model.annotations import RESOURCE_ID
from asoreconcile.azure.reconcile.model.decisions import Requeue
from asoreconcile.azure.reconcile.policies import order
from asoreconcile.azure.reconcile.policies.phase import run
from asoreconcile.base.objects import annotations


@pytest.mark.parametrize(
    ("absence", "contains"), [(Absence.PERHAPS, False), (Absence.CERTAIN, True)]
)
def test_a_resource_that_was_there_is_read_twice_before_it_is_put(
    world, reconcile, absence, contains
):
    def end():
        begun = reconcile()
        context = begun.scope.context
        context.observed(None, absence)
        if contains:
            context.require_absence()
        return run(order.BEFORE_PUT, begun.put(), lambda _: "sent")

    pause = end()
    assert isinstance(pause, Requeue)
    world.clock.advance(pause.after_seconds)
    arm_id = annotations(world.read(virtual_network()))[RESOURCE_ID]
    world.azure.remove(arm_id)  # or the list of the type has it
    assert end() == "sent"
