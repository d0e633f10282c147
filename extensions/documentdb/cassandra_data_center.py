"""CassandraDataCenter: waits until its cluster exists."""

from asoreconcile.azure.extensions.documentdb.cassandra_cluster import CASSANDRA_CLUSTER
from asoreconcile.azure.middleware.extension_points import PRE_RECONCILE_OWNER
from asoreconcile.azure.middleware.extension_set import BUILT_IN_ORDER, ExtensionSet
from asoreconcile.azure.middleware.factories import block_unless_owner_state
from asoreconcile.base.objects import GroupKind

DATA_CENTER = GroupKind("documentdb.azure.com", "CassandraDataCenter")
EXTENSIONS = ExtensionSet("documentdb.CassandraDataCenter", BUILT_IN_ORDER)

# A failed cluster takes no data centre either.
EXTENSIONS.on(PRE_RECONCILE_OWNER, DATA_CENTER)(
    block_unless_owner_state(
        CASSANDRA_CLUSTER,
        "status.properties.provisioningState",
        {"Succeeded"},
        exact_case=True,
        message='Owning Cassandra cluster "{name}" is in provisioning state "{state}"',
    )
)
