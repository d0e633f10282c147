"""FlexibleServersConfiguration: settings that no user has set are not imported."""

from asoreconcile.azure.extensions.dbformysql._shared import SKIP_UNSET
from asoreconcile.azure.middleware.extension_points import IMPORT
from asoreconcile.azure.middleware.extension_set import built_in

EXTENSIONS = built_in("dbforpostgresql", "FlexibleServersConfiguration")

for importer in SKIP_UNSET:
    EXTENSIONS.on(IMPORT)(importer)
