"""HcpOpenShiftCluster: not written while Azure deletes it; exports its kubeconfig."""

from datetime import datetime

from asoreconcile.azure.middleware.context import KeptAs
from asoreconcile.azure.middleware.extension_points import EXPORT_SECRETS, PRE_RECONCILE
from asoreconcile.azure.middleware.extension_set import built_in
from asoreconcile.azure.middleware.factories import block_if_state, export_keys
from asoreconcile.base.objects import JsonObject

EXTENSIONS = built_in("redhatopenshift", "HcpOpenShiftCluster")

EXTENSIONS.on(PRE_RECONCILE)(
    block_if_state(
        "status.properties.provisioningState",
        {"deleting"},
        message='Cluster is in provisioning state "{state}": '
        "it is created anew once it is gone",
    )
)

# Microsoft's, for answers that do not state when the credential expires.
_DAY_SECONDS = 24 * 3600.0


def _lifetime(answer: JsonObject, now: datetime) -> float:
    """Return the seconds until the credential expires."""
    try:
        expires = datetime.fromisoformat(str(answer.get("expirationTimestamp")))
        return (expires - now).total_seconds()
    # Without a time, or without a zone.
    except (TypeError, ValueError):
        return _DAY_SECONDS


# Azure makes a new credential at each request, over minutes: the export continues with
# each reconcile, and does not start again while one is being made.
EXTENSIONS.on(EXPORT_SECRETS)(
    export_keys(
        "requestAdminCredential",
        {"adminCredentials": "kubeconfig"},
        kept_as=KeptAs(
            "serviceoperator.azure.com/bi-poller-resume-token",
            "HcpOpenShiftClustersClientRequestAdminCredentialResponse",
        ),
        lifetime=_lifetime,
    )
)
