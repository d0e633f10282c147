"""FlexibleServersConfiguration: settings that nobody set are not imported."""

from asoreconcile.extensions.dbformysql._shared import SKIP_UNSET
from asoreconcile.middleware.extension_points import IMPORT
from asoreconcile.middleware.extension_set import BUILT_IN_ORDER, ExtensionSet
from asoreconcile.objects import GroupKind

CONFIGURATION = GroupKind("dbformysql.azure.com", "FlexibleServersConfiguration")
EXTENSIONS = ExtensionSet("dbformysql.FlexibleServersConfiguration", BUILT_IN_ORDER)

for importer in SKIP_UNSET:
    EXTENSIONS.on(IMPORT, CONFIGURATION)(importer)
