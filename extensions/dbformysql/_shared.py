"""Excludes settings of flexible servers that no user has set from imports, for MySQL
and PostgreSQL.

The two differ only in `isReadOnly`: MySQL has a string, PostgreSQL a boolean.
"""

from asoreconcile.azure.middleware.factories import skip_import_if
from asoreconcile.base.objects import JsonObject, dig


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
