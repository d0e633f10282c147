"""UserAssignedIdentity: export the ids that workloads need, without a request."""

from asoreconcile.azure.arm import ids
from asoreconcile.azure.middleware.extension_points import EXPORT_SECRETS
from asoreconcile.azure.middleware.extension_set import built_in
from asoreconcile.azure.middleware.factories import export_status
from asoreconcile.base.objects import JsonObject, dig

EXTENSIONS = built_in("managedidentity", "UserAssignedIdentity")


def _subscription_id(obj: JsonObject) -> str | None:
    """Return the resource's own subscription, which may differ from the
    credential's.
    """
    return ids.subscription_of(dig(obj, "status.id") or "")


EXTENSIONS.on(EXPORT_SECRETS)(
    export_status(
        {
            "clientId": "status.clientId",
            "principalId": "status.principalId",
            "tenantId": "status.tenantId",
            "subscriptionId": _subscription_id,
        }
    )
)
