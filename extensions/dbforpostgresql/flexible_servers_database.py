"""FlexibleServersDatabase: waits for its server; system databases are not imported."""

from asoreconcile.azure.extensions.dbforpostgresql._shared import (
    BLOCK_UNLESS_SERVER_IS_WRITABLE,
)
from asoreconcile.azure.middleware.extension_points import IMPORT, PRE_RECONCILE_OWNER
from asoreconcile.azure.middleware.extension_set import BUILT_IN_ORDER, ExtensionSet
from asoreconcile.azure.middleware.factories import skip_import_if
from asoreconcile.base.objects import GroupKind, JsonObject, dig

DATABASE = GroupKind("dbforpostgresql.azure.com", "FlexibleServersDatabase")
EXTENSIONS = ExtensionSet("dbforpostgresql.FlexibleServersDatabase", BUILT_IN_ORDER)

_SYSTEM_DATABASES = frozenset({"azure_maintenance", "azure_sys", "postgres"})

EXTENSIONS.on(PRE_RECONCILE_OWNER, DATABASE)(BLOCK_UNLESS_SERVER_IS_WRITABLE)


def _is_system_database(obj: JsonObject, _owner_id: str) -> bool:
    return dig(obj, "spec.azureName") in _SYSTEM_DATABASES


EXTENSIONS.on(IMPORT, DATABASE)(
    skip_import_if(
        "is a database of the system's own", _is_system_database, before_reading=True
    )
)
