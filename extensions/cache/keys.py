"""Redis and RedisEnterpriseDatabase: access keys and endpoints."""

from asoreconcile.middleware.extension_set import BUILT_IN_ORDER, ExtensionSet
from asoreconcile.middleware.factories import export_keys, export_status
from asoreconcile.middleware.points import EXPORT_SECRETS
from asoreconcile.objects import GroupKind

REDIS = GroupKind("cache.azure.com", "Redis")
ENTERPRISE_DATABASE = GroupKind("cache.azure.com", "RedisEnterpriseDatabase")
EXTENSIONS = ExtensionSet("cache.keys", BUILT_IN_ORDER)

_KEYS = {"primaryKey": "primaryKey", "secondaryKey": "secondaryKey"}

EXTENSIONS.on(EXPORT_SECRETS, REDIS)(export_keys("listKeys", "2021-06-01", _KEYS))
EXTENSIONS.on(EXPORT_SECRETS, REDIS)(
    export_status(
        {
            "hostName": "status.hostName",
            "port": "status.port",
            "sslPort": "status.sslPort",
        }
    )
)
EXTENSIONS.on(EXPORT_SECRETS, ENTERPRISE_DATABASE)(
    export_keys("listKeys", "2022-01-01", _KEYS)
)
