"""HcpOpenShiftCluster: no write while it is being deleted."""

from asoreconcile.middleware.extension_set import BUILT_IN_ORDER, ExtensionSet
from asoreconcile.middleware.factories import block_if_state
from asoreconcile.middleware.points import PRE_RECONCILE
from asoreconcile.objects import GroupKind

HCP_CLUSTER = GroupKind("redhatopenshift.azure.com", "HcpOpenShiftCluster")
EXTENSIONS = ExtensionSet("redhatopenshift.HcpOpenShiftCluster", BUILT_IN_ORDER)

EXTENSIONS.on(PRE_RECONCILE, HCP_CLUSTER)(
    block_if_state(
        "status.properties.provisioningState",
        {"deleting"},
        message='Cluster is in provisioning state "{state}": '
        "it is created anew once it is gone",
    )
)
