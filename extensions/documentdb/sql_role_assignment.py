"""SqlRoleAssignment: retried while its principal does not exist yet."""

from asoreconcile.azure.middleware.extension_points import CLASSIFY_ERROR
from asoreconcile.azure.middleware.extension_set import built_in
from asoreconcile.azure.middleware.factories import code, message_contains, reclassify

EXTENSIONS = built_in("documentdb", "SqlRoleAssignment")

EXTENSIONS.on(CLASSIFY_ERROR)(
    reclassify(code("BadRequest") & message_contains("was not found in the AAD tenant"))
)
