"""CassandraCluster: retried while its service principal does not exist yet."""

from asoreconcile.azure.middleware.extension_points import CLASSIFY_ERROR
from asoreconcile.azure.middleware.extension_set import built_in
from asoreconcile.azure.middleware.factories import code, message_contains, reclassify
from asoreconcile.base.objects import GroupKind

CASSANDRA_CLUSTER = GroupKind("documentdb.azure.com", "CassandraCluster")
EXTENSIONS = built_in("documentdb", "CassandraCluster")

EXTENSIONS.on(CLASSIFY_ERROR)(
    reclassify(code("BadRequest") & message_contains("service principal"))
)
