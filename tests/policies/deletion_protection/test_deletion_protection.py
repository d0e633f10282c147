"""Deletion protection."""

import pytest
from world import resource_group, virtual_network

from asoreconcile.azure.arm.condition_error import ConditionError
from asoreconcile.azure.reconcile.model.annotations import DELETION_PROTECTION


@pytest.mark.parametrize("value", ["true", "yes"])
def test_a_protected_resource_and_what_contains_it_are_not_deleted(
    world, reconcile, value
):
    world.annotate(virtual_network(), **{DELETION_PROTECTION: value})
    for obj in (virtual_network(), resource_group()):
        with pytest.raises(ConditionError) as refused:
            reconcile(obj).permit(is_delete=True)
        assert refused.value.reason == "DeletionProtected"
    reconcile().permit(is_delete=False)
