"""SearchService: export its query key and its admin keys."""

from asoreconcile.azure.middleware.extension_points import EXPORT_SECRETS
from asoreconcile.azure.middleware.extension_set import BUILT_IN_ORDER, ExtensionSet
from asoreconcile.azure.middleware.factories import export_keys
from asoreconcile.base.objects import GroupKind

EXTENSIONS = ExtensionSet("search.SearchService", BUILT_IN_ORDER)

# The query key that every service has is the one without a name.
EXTENSIONS.on(EXPORT_SECRETS, GroupKind("search.azure.com", "SearchService"))(
    export_keys("listQueryKeys", "2025-05-01", {"queryKey": "value[name=].key"})
)
EXTENSIONS.on(EXPORT_SECRETS, GroupKind("search.azure.com", "SearchService"))(
    export_keys(
        "listAdminKeys",
        "2025-05-01",
        {"adminPrimaryKey": "primaryKey", "adminSecondaryKey": "secondaryKey"},
    )
)
