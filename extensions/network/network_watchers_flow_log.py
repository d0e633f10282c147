"""NetworkWatchersFlowLog: retried while its security group or storage is missing."""

from asoreconcile.azure.middleware.extension_points import CLASSIFY_ERROR
from asoreconcile.azure.middleware.extension_set import built_in
from asoreconcile.azure.middleware.factories import code, reclassify

EXTENSIONS = built_in("network", "NetworkWatchersFlowLog")

EXTENSIONS.on(CLASSIFY_ERROR)(
    reclassify(
        code(
            "NetworkSecurityGroupNotFoundForFlowLog",
            "StorageProvisioningStateNotSucceeded",
        )
    )
)
