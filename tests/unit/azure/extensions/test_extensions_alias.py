"""Alias: its subscription is cancelled on request only; its children live there."""

import pytest
from extensions_chains import composed, cr, default, group_kind, version

from asoreconcile.azure.arm.condition_error import ConditionError
from asoreconcile.azure.arm.errors import ArmError
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


SUB = "/subscriptions/sub"


def deleted(arm, body=SUBSCRIBED, *, cancel="true", events=None, status=None):
    """Delete an alias. body: Azure's alias; cancel: the annotation's value."""
    chain = composed({DELETE: lambda req: ResourceDeleted()}).chain(
        DELETE, group_kind(KIND)
    )
    ctx = fake_ctx(version(KIND), arm=arm, raw=body, events=events)
    obj = cr(KIND, status=status, name="kubernetes-name")
    if cancel is not None:
        obj["metadata"]["annotations"] = {"asoreconcile/cancel-subscription": cancel}
    return chain(DeleteRequest(ctx, obj))


def azure(state="Enabled"):
    found = state if isinstance(state, Exception) else {"state": state}
    return FakeArm().on("GET", SUB, "2022-12-01", found)


@pytest.mark.parametrize("cancel", [None, "", "false", "yes", "True"])
def test_a_subscription_is_kept_unless_the_annotation_asks_for_its_end(cancel):
    arm, events = FakeArm(), []
    assert deleted(arm, cancel=cancel, events=events) == ResourceDeleted()
    assert arm.sent == []
    ((type_, reason, text),) = events
    assert (type_, reason) == ("Warning", "SubscriptionKept")
    assert "sub is kept" in text


def test_the_annotation_cancels_the_subscription_first():
    arm, events = azure(), []
    arm.on("POST", CANCEL, "2021-10-01", {"subscriptionId": "sub"})
    assert deleted(arm, events=events) == ResourceDeleted()
    assert arm.sent[-1] == ("POST", CANCEL, "2021-10-01")
    assert events == [("Warning", "SubscriptionCancelled", f"Cancelling {SUB}")]


@pytest.mark.parametrize(
    "state", ["Disabled", "deleted", "Expired", arm_fault(404, "SubscriptionNotFound")]
)
def test_a_subscription_that_has_ended_is_not_cancelled_again(state):
    """Azure refuses a second cancel, which blocked the deletion for ever."""
    arm = azure(state)
    assert deleted(arm) == ResourceDeleted()
    assert [one[0] for one in arm.sent] == ["GET"]


def test_a_subscription_that_cannot_be_read_is_cancelled_all_the_same():
    arm = azure(arm_fault(403, "AuthorizationFailed"))
    arm.on("POST", CANCEL, "2021-10-01", {})
    assert deleted(arm) == ResourceDeleted()
    assert arm.sent[-1][0] == "POST"


def test_the_status_alone_names_no_subscription_to_cancel():
    """Whoever may write a status could name any subscription."""
    arm = FakeArm()
    assert deleted(arm, None, status=SUBSCRIBED) == ResourceDeleted()
    assert arm.sent == []


@pytest.mark.parametrize(
    "body", [None, {}, {"properties": {}}, {"properties": {"subscriptionId": 5}}]
)
def test_an_alias_without_a_subscription_is_just_deleted(body):
    assert deleted(FakeArm(), body) == ResourceDeleted()


def test_an_alias_stays_while_its_subscription_cannot_be_cancelled():
    arm = azure().on("POST", CANCEL, "2021-10-01", arm_fault(409, "Conflict"))
    with pytest.raises(ArmError):
        deleted(arm)


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
