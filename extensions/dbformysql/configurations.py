"""Settings of flexible servers: those nobody set are not imported.

PostgreSQL's are alike, but that they say read-only by a boolean and not by a word.
"""

from asoreconcile.middleware.extension_points import IMPORT
from asoreconcile.middleware.extension_set import BUILT_IN_ORDER, ExtensionSet
from asoreconcile.middleware.factories import skip_import_if
from asoreconcile.objects import GroupKind, JsonObject, dig

EXTENSIONS = ExtensionSet("dbformysql.FlexibleServersConfiguration", BUILT_IN_ORDER)
CONFIGURATION = GroupKind("dbformysql.azure.com", "FlexibleServersConfiguration")


def _is_default_source(obj: JsonObject, _owner_id: str) -> bool:
    return bool(dig(obj, "spec.source") == "system-default")


def _is_read_only(obj: JsonObject, _owner_id: str) -> bool:
    return str(dig(obj, "status.isReadOnly")).lower() == "true"


def _is_at_default(obj: JsonObject, _owner_id: str) -> bool:
    default = dig(obj, "status.defaultValue")
    return default is not None and bool(default == dig(obj, "status.value"))


SKIP_UNSET = (
    skip_import_if("is set by the system", _is_default_source),
    skip_import_if("is read-only", _is_read_only),
    skip_import_if("has its default value", _is_at_default),
)
for importer in SKIP_UNSET:
    EXTENSIONS.on(IMPORT, CONFIGURATION)(importer)
