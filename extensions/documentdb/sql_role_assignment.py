"""SqlRoleAssignment: retried while its principal does not exist yet."""

from asoreconcile.azure.middleware.extension_points import CLASSIFY_ERROR
from asoreconcile.azure.middleware.extension_set import BUILT_IN_ORDER, ExtensionSet
from asoreconcile.azure.middleware.factories import code, message_contains, reclassify
from asoreconcile.base.objects import GroupKind

SQL_ROLE_ASSIGNMENT = GroupKind("documentdb.azure.com", "SqlRoleAssignment")
EXTENSIONS = ExtensionSet("documentdb.SqlRoleAssignment", BUILT_IN_ORDER)

EXTENSIONS.on(CLASSIFY_ERROR, SQL_ROLE_ASSIGNMENT)(
    reclassify(code("BadRequest") & message_contains("was not found in the AAD tenant"))
)
