"""StorageAccount: access keys and endpoints."""

from asoreconcile.azure.middleware.extension_points import EXPORT_SECRETS
from asoreconcile.azure.middleware.extension_set import BUILT_IN_ORDER, ExtensionSet
from asoreconcile.azure.middleware.factories import export_keys, export_status
from asoreconcile.base.objects import GroupKind

STORAGE_ACCOUNT = GroupKind("storage.azure.com", "StorageAccount")
EXTENSIONS = ExtensionSet("storage.StorageAccount", BUILT_IN_ORDER)

EXTENSIONS.on(EXPORT_SECRETS, STORAGE_ACCOUNT)(
    export_keys(
        "listKeys",
        "2024-01-01",
        {
            "key1": "keys[keyName=key1].value",
            "key2": "keys[keyName=key2].value",
        },
    )
)
EXTENSIONS.on(EXPORT_SECRETS, STORAGE_ACCOUNT)(
    export_status(
        {
            f"{service}Endpoint": f"status.primaryEndpoints.{service}"
            for service in ("blob", "queue", "table", "file", "web", "dfs")
        }
    )
)
