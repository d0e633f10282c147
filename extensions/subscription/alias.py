"""Alias: its children belong to its subscription, which is cancelled before
deletion.
"""

from collections.abc import Callable, Mapping

from asoreconcile.azure.arm.condition_error import ConditionError
from asoreconcile.azure.middleware.extension_points import DELETE, EVERY_SUCCESS
from asoreconcile.azure.middleware.extension_set import BUILT_IN_ORDER, ExtensionSet
from asoreconcile.azure.middleware.requests import DeleteRequest, DeleteResult, Success
from asoreconcile.base.objects import GroupKind, JsonObject, dig

ALIAS = GroupKind("subscription.azure.com", "Alias")
EXTENSIONS = ExtensionSet("subscription.Alias", BUILT_IN_ORDER)

_API_VERSION = "2021-10-01"
_CHILD_ID_OVERRIDE = "serviceoperator.azure.com/child-resource-id-override"


@EXTENSIONS.on(EVERY_SUCCESS, ALIAS)
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


@EXTENSIONS.on(DELETE, ALIAS)
def cancel_first(
    req: DeleteRequest, call_next: Callable[[DeleteRequest], DeleteResult], /
) -> DeleteResult:
    """Cancel the subscription, then delete the alias, which alone would not end it."""
    ctx, subscription = req.ctx, _subscription_id(req.obj)
    if subscription:
        action = (
            f"/subscriptions/{subscription}/providers/Microsoft.Subscription/cancel"
        )
        ctx.log.info("Cancelling subscription", subscriptionId=subscription)
        ctx.lro("cancel-subscription", lambda: ctx.arm.post(action, _API_VERSION))
    return call_next(req)


def _subscription_id(obj: JsonObject) -> str:
    return dig(obj, "status.properties.subscriptionId") or ""
