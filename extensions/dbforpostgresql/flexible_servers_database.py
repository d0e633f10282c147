"""FlexibleServersDatabase: waits for its server; system databases are not imported."""

from asoreconcile.azure.middleware.extension_points import IMPORT, PRE_RECONCILE_OWNER
from asoreconcile.azure.middleware.extension_set import built_in, built_in_kind
from asoreconcile.azure.middleware.factories import (
    TERMINAL,
    block_unless_owner_state,
    skip_import_if,
)
from asoreconcile.base.objects import JsonObject, dig

EXTENSIONS = built_in("dbforpostgresql", "FlexibleServersDatabase")

_SYSTEM_DATABASES = frozenset({"azure_maintenance", "azure_sys", "postgres"})

EXTENSIONS.on(PRE_RECONCILE_OWNER)(
    block_unless_owner_state(
        built_in_kind("dbforpostgresql", "FlexibleServer"),
        "status.state",
        TERMINAL | {"ready"},
        message='Owning flexible server "{name}" is in state "{state}"',
    )
)


def _is_system_database(obj: JsonObject, _owner_id: str) -> bool:
    return dig(obj, "spec.azureName") in _SYSTEM_DATABASES


EXTENSIONS.on(IMPORT)(
    skip_import_if(
        "is a database of the system's own", _is_system_database, before_reading=True
    )
)
