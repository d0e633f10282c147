"""What errors of Azure Cosmos DB mean beyond their code.

Most are dependencies that come late: a Warning, tried again soon.
"""

from asoreconcile.middleware.extension_points import CLASSIFY_ERROR
from asoreconcile.middleware.extension_set import BUILT_IN_ORDER, ExtensionSet
from asoreconcile.middleware.factories import code, message_contains, reclassify
from asoreconcile.objects import GroupKind

_GROUP = "documentdb.azure.com"
EXTENSIONS = ExtensionSet("documentdb.errors", BUILT_IN_ORDER)

EXTENSIONS.on(CLASSIFY_ERROR, GroupKind(_GROUP, "CassandraCluster"))(
    reclassify(code("BadRequest") & message_contains("service principal"))
)
# The region has no capacity: a person has to choose another.
EXTENSIONS.on(CLASSIFY_ERROR, GroupKind(_GROUP, "DatabaseAccount"))(
    reclassify(
        code("ServiceUnavailable")
        & message_contains("currently experiencing high demand"),
        severity="Error",
    )
)
# While the account is being made.
EXTENSIONS.on(
    CLASSIFY_ERROR,
    GroupKind(_GROUP, "MongodbDatabase"),
    GroupKind(_GROUP, "SqlDatabase"),
)(reclassify(code("BadRequest")))
EXTENSIONS.on(CLASSIFY_ERROR, GroupKind(_GROUP, "SqlRoleAssignment"))(
    reclassify(code("BadRequest") & message_contains("was not found in the AAD tenant"))
)
