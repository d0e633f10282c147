"""The reconcile policy, asked again before each write."""

import pytest
from world import virtual_network

from asoreconcile.azure.reconcile.model.annotations import RECONCILE_POLICY
from asoreconcile.azure.reconcile.scope.patch_helper import StaleError


@pytest.mark.parametrize(
    ("policy", "is_delete"),
    [("skip", False), ("skip", True), ("detach-on-delete", True), ("skp", False)],
)
def test_a_policy_that_forbids_a_write_refuses_its_permission(
    world, reconcile, policy, is_delete
):
    world.annotate(virtual_network(), **{RECONCILE_POLICY: policy})
    with pytest.raises(StaleError):
        reconcile().permit(is_delete=is_delete)
