"""Redis: export its access keys and endpoint."""

from asoreconcile.azure.middleware.extension_points import EXPORT_SECRETS
from asoreconcile.azure.middleware.extension_set import BUILT_IN_ORDER, ExtensionSet
from asoreconcile.azure.middleware.factories import KEY_PAIR, export_keys, export_status
from asoreconcile.base.objects import GroupKind

REDIS = GroupKind("cache.azure.com", "Redis")
EXTENSIONS = ExtensionSet("cache.Redis", BUILT_IN_ORDER)

EXTENSIONS.on(EXPORT_SECRETS, REDIS)(export_keys("listKeys", "2021-06-01", KEY_PAIR))
EXTENSIONS.on(EXPORT_SECRETS, REDIS)(
    export_status(
        {
            "hostName": "status.hostName",
            "port": "status.port",
            "sslPort": "status.sslPort",
        }
    )
)
