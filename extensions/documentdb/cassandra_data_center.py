"""CassandraDataCenter: waits until its cluster exists."""

from asoreconcile.azure.extensions.documentdb.cassandra_cluster import CASSANDRA_CLUSTER
from asoreconcile.azure.middleware.extension_points import PRE_RECONCILE_OWNER
from asoreconcile.azure.middleware.extension_set import built_in
from asoreconcile.azure.middleware.factories import block_unless_owner_state

EXTENSIONS = built_in("documentdb", "CassandraDataCenter")

# A failed cluster takes no data centre either.
EXTENSIONS.on(PRE_RECONCILE_OWNER)(
    block_unless_owner_state(
        CASSANDRA_CLUSTER,
        "status.properties.provisioningState",
        {"Succeeded"},
        exact_case=True,
        message='Owning Cassandra cluster "{name}" is in provisioning state "{state}"',
    )
)
