"""SearchService: export its query key and its admin keys."""

from asoreconcile.azure.middleware.extension_points import EXPORT_SECRETS
from asoreconcile.azure.middleware.extension_set import built_in
from asoreconcile.azure.middleware.factories import export_keys

EXTENSIONS = built_in("search", "SearchService")

# The query key that every service has is the one without a name.
EXTENSIONS.on(EXPORT_SECRETS)(
    export_keys("listQueryKeys", "2025-05-01", {"queryKey": "value[name=].key"})
)
EXTENSIONS.on(EXPORT_SECRETS)(
    export_keys(
        "listAdminKeys",
        "2025-05-01",
        {"adminPrimaryKey": "primaryKey", "adminSecondaryKey": "secondaryKey"},
    )
)
