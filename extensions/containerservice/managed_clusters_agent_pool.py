"""ManagedClustersAgentPool: waits for its own and its cluster's operations."""

from asoreconcile.azure.extensions.containerservice.managed_cluster import (
    MANAGED_CLUSTER,
)
from asoreconcile.azure.middleware.extension_points import (
    CLASSIFY_ERROR,
    PRE_RECONCILE,
    PRE_RECONCILE_OWNER,
)
from asoreconcile.azure.middleware.extension_set import built_in
from asoreconcile.azure.middleware.factories import (
    block_unless_owner_state,
    block_unless_state,
    code,
    reclassify,
)

EXTENSIONS = built_in("containerservice", "ManagedClustersAgentPool")

EXTENSIONS.on(PRE_RECONCILE_OWNER)(
    block_unless_owner_state(
        MANAGED_CLUSTER,
        "status.provisioningState",
        message='Managed cluster "{name}" is in provisioning state "{state}": '
        "its agent pools take changes once that has ended",
    )
)
EXTENSIONS.on(PRE_RECONCILE)(
    block_unless_state(
        "status.provisioningState",
        message='Agent pool is in provisioning state "{state}": '
        "it takes changes once that has ended",
    )
)
# Until the cluster itself has been upgraded.
EXTENSIONS.on(CLASSIFY_ERROR)(reclassify(code("NodePoolMcVersionIncompatible")))
