"""RoleDefinition: Azure's own roles are not imported."""

from asoreconcile.azure.middleware.extension_points import IMPORT
from asoreconcile.azure.middleware.extension_set import BUILT_IN_ORDER, ExtensionSet
from asoreconcile.azure.middleware.factories import skip_import_if
from asoreconcile.base.objects import GroupKind, JsonObject, dig

EXTENSIONS = ExtensionSet("authorization.RoleDefinition", BUILT_IN_ORDER)


def _is_built_in(obj: JsonObject, _owner_id: str) -> bool:
    return str(dig(obj, "spec.type") or "").lower() == "builtinrole"


EXTENSIONS.on(IMPORT, GroupKind("authorization.azure.com", "RoleDefinition"))(
    skip_import_if("is one of Azure's own roles", _is_built_in)
)
