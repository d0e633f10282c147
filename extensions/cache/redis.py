"""Redis: export its access keys and endpoint."""

from asoreconcile.azure.middleware.extension_points import EXPORT_SECRETS
from asoreconcile.azure.middleware.extension_set import built_in
from asoreconcile.azure.middleware.factories import KEY_PAIR, export_keys, export_status

EXTENSIONS = built_in("cache", "Redis")

EXTENSIONS.on(EXPORT_SECRETS)(export_keys("listKeys", "2021-06-01", KEY_PAIR))
EXTENSIONS.on(EXPORT_SECRETS)(
    export_status(
        {
            "hostName": "status.hostName",
            "port": "status.port",
            "sslPort": "status.sslPort",
        }
    )
)
