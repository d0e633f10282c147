"""StorageAccount: access keys and endpoints."""

from asoreconcile.azure.middleware.extension_points import EXPORT_SECRETS
from asoreconcile.azure.middleware.extension_set import built_in
from asoreconcile.azure.middleware.factories import export_keys, export_status

EXTENSIONS = built_in("storage", "StorageAccount")

EXTENSIONS.on(EXPORT_SECRETS)(
    export_keys(
        "listKeys",
        "2024-01-01",
        {
            "key1": "keys[keyName=key1].value",
            "key2": "keys[keyName=key2].value",
        },
    )
)
EXTENSIONS.on(EXPORT_SECRETS)(
    export_status(
        {
            f"{service}Endpoint": f"status.primaryEndpoints.{service}"
            for service in ("blob", "queue", "table", "file", "web", "dfs")
        }
    )
)
