"""API Management's Product: deleted with its subscriptions."""

import pytest
from extensions_chains import composed, cr, group_kind, version

from asoreconcile.azure.arm.errors import ArmError
from asoreconcile.azure.middleware.extension_points import DELETE
from asoreconcile.azure.middleware.requests import (
    DeleteRequest,
    InProgress,
    ResourceDeleted,
)
from asoreconcile.azure.testing.extensions import ARM_ID, FakeArm, arm_fault, fake_ctx

KIND = "apimanagement/Product"
OWN = version(KIND).api_version


def deleted(arm, answer=ResourceDeleted()):  # noqa: B008 - frozen
    chain = composed({DELETE: lambda req: answer}).chain(DELETE, group_kind(KIND))
    ctx = fake_ctx(version(KIND), arm=arm)
    return chain(DeleteRequest(ctx, cr(KIND, name="kubernetes-name")))


def test_b3_a_product_is_deleted_by_its_arm_id_with_its_subscriptions():
    arm = FakeArm().on("DELETE", ARM_ID, OWN, None)
    assert deleted(arm) == ResourceDeleted()
    assert arm.sent == [("DELETE", ARM_ID, OWN)]
    assert arm.options == [
        {"query": {"deleteSubscriptions": "true"}, "headers": {"If-Match": "*"}}
    ]


def test_the_next_link_decides_whether_a_product_is_gone():
    arm = FakeArm().on("DELETE", ARM_ID, OWN, None)
    assert deleted(arm, answer=InProgress(3.0)) == InProgress(3.0)


def test_a_product_that_cannot_be_deleted_stays():
    arm = FakeArm().on("DELETE", ARM_ID, OWN, arm_fault(409, "Conflict"))
    with pytest.raises(ArmError):
        deleted(arm)
