"""ManagedClustersAgentPool: waits for its own and its cluster's operations."""

from asoreconcile.azure.extensions.containerservice.managed_cluster import (
    MANAGED_CLUSTER,
)
from asoreconcile.azure.middleware.extension_points import (
    CLASSIFY_ERROR,
    PRE_RECONCILE,
    PRE_RECONCILE_OWNER,
)
from asoreconcile.azure.middleware.extension_set import BUILT_IN_ORDER, ExtensionSet
from asoreconcile.azure.middleware.factories import (
    block_unless_owner_state,
    block_unless_state,
    code,
    reclassify,
)
from asoreconcile.base.objects import GroupKind

AGENT_POOL = GroupKind("containerservice.azure.com", "ManagedClustersAgentPool")
EXTENSIONS = ExtensionSet("containerservice.ManagedClustersAgentPool", BUILT_IN_ORDER)

EXTENSIONS.on(PRE_RECONCILE_OWNER, AGENT_POOL)(
    block_unless_owner_state(
        MANAGED_CLUSTER,
        "status.provisioningState",
        message='Managed cluster "{name}" is in provisioning state "{state}": '
        "its agent pools take changes once that has ended",
    )
)
EXTENSIONS.on(PRE_RECONCILE, AGENT_POOL)(
    block_unless_state(
        "status.provisioningState",
        message='Agent pool is in provisioning state "{state}": '
        "it takes changes once that has ended",
    )
)
# Until the cluster itself has been upgraded.
EXTENSIONS.on(CLASSIFY_ERROR, AGENT_POOL)(
    reclassify(code("NodePoolMcVersionIncompatible"))
)
