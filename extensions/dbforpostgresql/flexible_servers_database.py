"""FlexibleServersDatabase: those a server comes with are not imported."""

from asoreconcile.middleware.extension_points import IMPORT
from asoreconcile.middleware.extension_set import BUILT_IN_ORDER, ExtensionSet
from asoreconcile.middleware.factories import skip_import_if
from asoreconcile.objects import GroupKind, JsonObject, dig

EXTENSIONS = ExtensionSet("dbforpostgresql.FlexibleServersDatabase", BUILT_IN_ORDER)

_SYSTEM_DATABASES = frozenset({"azure_maintenance", "azure_sys", "postgres"})


def _is_system_database(obj: JsonObject, _owner_id: str) -> bool:
    return dig(obj, "spec.azureName") in _SYSTEM_DATABASES


EXTENSIONS.on(
    IMPORT, GroupKind("dbforpostgresql.azure.com", "FlexibleServersDatabase")
)(
    skip_import_if(
        "is a database of the system's own", _is_system_database, before_reading=True
    )
)
