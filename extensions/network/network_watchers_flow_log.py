"""NetworkWatchersFlowLog: retried while its security group or storage is missing."""

from asoreconcile.azure.middleware.extension_points import CLASSIFY_ERROR
from asoreconcile.azure.middleware.extension_set import BUILT_IN_ORDER, ExtensionSet
from asoreconcile.azure.middleware.factories import code, reclassify
from asoreconcile.base.objects import GroupKind

FLOW_LOG = GroupKind("network.azure.com", "NetworkWatchersFlowLog")
EXTENSIONS = ExtensionSet("network.NetworkWatchersFlowLog", BUILT_IN_ORDER)

EXTENSIONS.on(CLASSIFY_ERROR, FLOW_LOG)(
    reclassify(
        code(
            "NetworkSecurityGroupNotFoundForFlowLog",
            "StorageProvisioningStateNotSucceeded",
        )
    )
)
