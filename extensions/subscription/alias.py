"""Alias: its children belong to its subscription, which is cancelled only on request.

The subscription may be older than the alias, and cancelling ends everything in it. So
the deletion of the object removes the alias alone, unless an annotation asks for more.
"""

from collections.abc import Callable, Mapping
from http import HTTPStatus

from asoreconcile.azure.arm import outcomes
from asoreconcile.azure.arm.condition_error import ConditionError
from asoreconcile.azure.arm.errors import ArmError
from asoreconcile.azure.middleware.context import ReconcileContext
from asoreconcile.azure.middleware.extension_points import DELETE, EVERY_SUCCESS
from asoreconcile.azure.middleware.extension_set import built_in
from asoreconcile.azure.middleware.requests import DeleteRequest, DeleteResult, Success
from asoreconcile.azure.reconcile.model.instructions import CANCEL_SUBSCRIPTION_ROW
from asoreconcile.azure.reconcile.model.switches import is_on
from asoreconcile.base.objects import JsonObject, annotations, dig

EXTENSIONS = built_in("subscription", "Alias")

# Fixed: Azure's published types list neither the action nor subscriptions.
_API_VERSION = "2021-10-01"
_READ_API_VERSION = "2022-12-01"
_ENDED = frozenset({"deleted", "disabled", "expired"})
# The value "true" lets a deletion of the object cancel the subscription.
_CHILD_ID_OVERRIDE = "serviceoperator.azure.com/child-resource-id-override"


@EXTENSIONS.on(EVERY_SUCCESS)
def children_live_in_the_subscription(
    req: Success, call_next: Callable[[Success], Mapping[str, str]], /
) -> Mapping[str, str]:
    """Make the children's ids start at the subscription, not at the alias."""
    subscription = _subscription_id(req.obj)
    if not subscription:
        raise ConditionError(
            "Azure reports no subscription id for the alias yet", reason="Failed"
        )
    return {
        **call_next(req),
        _CHILD_ID_OVERRIDE: f"/subscriptions/{subscription}",
    }


@EXTENSIONS.on(DELETE)
def cancel_on_request(
    req: DeleteRequest, call_next: Callable[[DeleteRequest], DeleteResult], /
) -> DeleteResult:
    """Delete the alias; cancel its subscription first if the annotation asks for it.

    The subscription is the one that Azure names in the alias. If it is already
    cancelled, nothing is sent for it.
    """
    ctx = req.ctx
    subscription = dig(ctx.raw_get() or {}, "properties.subscriptionId")
    if not isinstance(subscription, str) or not subscription:
        return call_next(req)
    if is_on(annotations(req.obj), CANCEL_SUBSCRIPTION_ROW):
        ctx.lro("cancel-subscription", lambda: _cancelled(ctx, subscription))
        return call_next(req)
    result = call_next(req)
    text = (
        f"Subscription {subscription} is kept: only its alias is deleted. To cancel a "
        "subscription with its alias, annotate the object with "
        f"{CANCEL_SUBSCRIPTION_ROW}: 'true'"
    )
    ctx.event("Warning", "SubscriptionKept", text)
    return result


def _cancelled(ctx: ReconcileContext, subscription: str) -> outcomes.ArmOutcome:
    if _has_ended(ctx, subscription):
        return outcomes.OperationDone()
    path = f"/subscriptions/{subscription}"
    ctx.log.info("Cancelling subscription", subscriptionId=subscription)
    ctx.event("Warning", "SubscriptionCancelled", f"Cancelling {path}")
    action = f"{path}/providers/Microsoft.Subscription/cancel"
    return ctx.arm.post(action, _API_VERSION)


def _has_ended(ctx: ReconcileContext, subscription: str) -> bool:
    """Return whether Azure says that the subscription is cancelled or gone.

    False if Azure refuses the read; the request to cancel then decides.
    """
    try:
        found = ctx.arm.get(f"/subscriptions/{subscription}", _READ_API_VERSION)
    except ArmError as error:
        if error.status == HTTPStatus.FORBIDDEN:
            return False
        if error.code == "SubscriptionNotFound":
            return True
        raise
    return str(found.get("state")).lower() in _ENDED


def _subscription_id(obj: JsonObject) -> str:
    return dig(obj, "status.properties.subscriptionId") or ""
