"""Alias: its subscription is cancelled first, and its children live there."""

import pytest
from extensions_chains import composed, cr, default, group_kind, version

from asoreconcile.azure.arm.condition_error import ConditionError
from asoreconcile.azure.arm.errors import ArmError
from asoreconcile.azure.middleware.default_handlers import DefaultHandlers
from asoreconcile.azure.middleware.extension_points import DELETE, EVERY_SUCCESS
from asoreconcile.azure.middleware.requests import (
    DeleteRequest,
    ResourceDeleted,
    Success,
)
from asoreconcile.azure.testing.extensions import FakeArm, arm_fault, fake_ctx

KIND = "subscription/Alias"
SUBSCRIBED = {"properties": {"subscriptionId": "sub"}}
CANCEL = "/subscriptions/sub/providers/Microsoft.Subscription/cancel"


def deleted(arm, status=None):
    chain = composed(DefaultHandlers(delete=lambda req: ResourceDeleted())).chain(
        DELETE, group_kind(KIND)
    )
    ctx = fake_ctx(version(KIND), arm=arm)
    return chain(DeleteRequest(ctx, cr(KIND, status=status, name="kubernetes-name")))


def test_the_subscription_of_an_alias_is_cancelled_first():
    arm = FakeArm().on("POST", CANCEL, "2021-10-01", {"subscriptionId": "sub"})
    assert deleted(arm, SUBSCRIBED) == ResourceDeleted()
    assert arm.sent == [("POST", CANCEL, "2021-10-01")]


@pytest.mark.parametrize("status", [{}, {"properties": {}}, {"properties": None}])
def test_an_alias_without_a_subscription_is_just_deleted(status):
    assert deleted(FakeArm(), status) == ResourceDeleted()


def test_an_alias_stays_while_its_subscription_cannot_be_cancelled():
    arm = FakeArm().on("POST", CANCEL, "2021-10-01", arm_fault(409, "Conflict"))
    with pytest.raises(ArmError):
        deleted(arm, SUBSCRIBED)


def succeeded(status):
    chain = default().chain(EVERY_SUCCESS, group_kind(KIND))
    return chain(Success(fake_ctx(version(KIND)), cr(KIND, status=status)))


def test_children_of_an_alias_live_in_its_subscription():
    assert succeeded(SUBSCRIBED) == {
        "serviceoperator.azure.com/child-resource-id-override": "/subscriptions/sub"
    }


def test_an_alias_without_a_subscription_id_is_no_success():
    with pytest.raises(ConditionError, match="subscription id"):
        succeeded({})
