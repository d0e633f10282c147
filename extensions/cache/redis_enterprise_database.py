"""RedisEnterpriseDatabase: export its access keys."""

from asoreconcile.azure.middleware.extension_points import EXPORT_SECRETS
from asoreconcile.azure.middleware.extension_set import BUILT_IN_ORDER, ExtensionSet
from asoreconcile.azure.middleware.factories import KEY_PAIR, export_keys
from asoreconcile.base.objects import GroupKind

ENTERPRISE_DATABASE = GroupKind("cache.azure.com", "RedisEnterpriseDatabase")
EXTENSIONS = ExtensionSet("cache.RedisEnterpriseDatabase", BUILT_IN_ORDER)

EXTENSIONS.on(EXPORT_SECRETS, ENTERPRISE_DATABASE)(
    export_keys("listKeys", "2022-01-01", KEY_PAIR)
)
