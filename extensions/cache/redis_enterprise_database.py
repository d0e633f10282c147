"""RedisEnterpriseDatabase: export its access keys."""

from asoreconcile.azure.middleware.extension_points import EXPORT_SECRETS
from asoreconcile.azure.middleware.extension_set import built_in
from asoreconcile.azure.middleware.factories import KEY_PAIR, export_keys

EXTENSIONS = built_in("cache", "RedisEnterpriseDatabase")

EXTENSIONS.on(EXPORT_SECRETS)(export_keys("listKeys", "2022-01-01", KEY_PAIR))
