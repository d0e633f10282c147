"""Cluster: no write while it is in transition. A stopped one may be written."""

from asoreconcile.azure.middleware.extension_points import PRE_RECONCILE
from asoreconcile.azure.middleware.extension_set import built_in
from asoreconcile.azure.middleware.factories import block_unless_state
from asoreconcile.base.objects import GroupKind

CLUSTER = GroupKind("kusto.azure.com", "Cluster")
EXTENSIONS = built_in("kusto", "Cluster")

EXTENSIONS.on(PRE_RECONCILE)(
    block_unless_state(
        "status.provisioningState",
        message='Cluster is in provisioning state "{state}"',
    )
)
