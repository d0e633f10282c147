"""RoleDefinition: excludes Azure's own roles from imports."""

from asoreconcile.azure.middleware.extension_points import IMPORT
from asoreconcile.azure.middleware.extension_set import built_in
from asoreconcile.azure.middleware.factories import skip_import_if
from asoreconcile.base.objects import JsonObject, dig

EXTENSIONS = built_in("authorization", "RoleDefinition")


def _is_built_in(obj: JsonObject, _owner_id: str) -> bool:
    return str(dig(obj, "spec.type") or "").lower() == "builtinrole"


EXTENSIONS.on(IMPORT)(skip_import_if("is one of Azure's own roles", _is_built_in))
