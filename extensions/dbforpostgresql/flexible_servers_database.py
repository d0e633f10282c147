"""FlexibleServersDatabase: waits for its server; system databases are not imported."""

from asoreconcile.azure.extensions.dbforpostgresql._shared import (
    BLOCK_UNLESS_SERVER_IS_WRITABLE,
)
from asoreconcile.azure.middleware.extension_points import IMPORT, PRE_RECONCILE_OWNER
from asoreconcile.azure.middleware.extension_set import built_in
from asoreconcile.azure.middleware.factories import skip_import_if
from asoreconcile.base.objects import JsonObject, dig

EXTENSIONS = built_in("dbforpostgresql", "FlexibleServersDatabase")

_SYSTEM_DATABASES = frozenset({"azure_maintenance", "azure_sys", "postgres"})

EXTENSIONS.on(PRE_RECONCILE_OWNER)(BLOCK_UNLESS_SERVER_IS_WRITABLE)


def _is_system_database(obj: JsonObject, _owner_id: str) -> bool:
    return dig(obj, "spec.azureName") in _SYSTEM_DATABASES


EXTENSIONS.on(IMPORT)(
    skip_import_if(
        "is a database of the system's own", _is_system_database, before_reading=True
    )
)
