"""The reach of a Namespace."""

import pytest

from asoreconcile.azure.arm.condition_error import ConditionError
from asoreconcile.azure.reconcile.model.annotations import ALLOWED_SCOPES, ALLOWED_TYPES
from asoreconcile.base.objects import ObjectKey
from asoreconcile.kube.resources import NAMESPACES


@pytest.mark.parametrize("is_delete", [False, True])
@pytest.mark.parametrize(
    ("name", "allowed"),
    [(ALLOWED_TYPES, "Microsoft.Sql"), (ALLOWED_SCOPES, "/subscriptions/other")],
)
def test_a_write_outside_the_reach_is_not_permitted(
    world, reconcile, name, allowed, is_delete
):
    body = {"metadata": {"annotations": {name: allowed}}}
    world.client.patch(NAMESPACES, ObjectKey("", "default"), body)
    with pytest.raises(ConditionError) as refused:
        reconcile().permit(is_delete=is_delete)
    assert refused.value.reason == "NotAllowedInNamespace"
