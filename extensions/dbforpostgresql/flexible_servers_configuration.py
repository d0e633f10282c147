"""FlexibleServersConfiguration: settings that no user has set are not imported."""

from asoreconcile.azure.extensions.dbformysql._shared import SKIP_UNSET
from asoreconcile.azure.middleware.extension_points import IMPORT
from asoreconcile.azure.middleware.extension_set import BUILT_IN_ORDER, ExtensionSet
from asoreconcile.base.objects import GroupKind

EXTENSIONS = ExtensionSet(
    "dbforpostgresql.FlexibleServersConfiguration", BUILT_IN_ORDER
)
CONFIGURATION = GroupKind("dbforpostgresql.azure.com", "FlexibleServersConfiguration")

for importer in SKIP_UNSET:
    EXTENSIONS.on(IMPORT, CONFIGURATION)(importer)
