"""FlexibleServersConfiguration: settings that nobody set are not imported."""

from asoreconcile.extensions.dbformysql._shared import SKIP_UNSET
from asoreconcile.middleware.extension_points import IMPORT
from asoreconcile.middleware.extension_set import BUILT_IN_ORDER, ExtensionSet
from asoreconcile.objects import GroupKind

EXTENSIONS = ExtensionSet(
    "dbforpostgresql.FlexibleServersConfiguration", BUILT_IN_ORDER
)
CONFIGURATION = GroupKind("dbforpostgresql.azure.com", "FlexibleServersConfiguration")

for importer in SKIP_UNSET:
    EXTENSIONS.on(IMPORT, CONFIGURATION)(importer)
