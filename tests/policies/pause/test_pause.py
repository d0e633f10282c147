"""The pause, asked again before each write."""

import pytest
from world import virtual_network

from asoreconcile.azure.reconcile.model.annotations import PAUSED
from asoreconcile.azure.reconcile.scope.patch_helper import StaleError


@pytest.mark.parametrize("is_delete", [False, True])
def test_a_paused_object_gets_no_permission(world, reconcile, is_delete):
    world.annotate(virtual_network(), **{PAUSED: "true"})
    with pytest.raises(StaleError, match="paused"):
        reconcile().permit(is_delete=is_delete)
