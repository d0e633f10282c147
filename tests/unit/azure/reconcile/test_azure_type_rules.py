"""What single types keep otherwise than it was PUT, and what that does not excuse."""

import pytest

from asoreconcile.azure.reconcile.model.differences import Difference
from asoreconcile.azure.reconcile.model.type_rules import not_kept

REDIS = "Microsoft.Cache/Redis"
MYSQL = "Microsoft.DBforMySQL/flexibleServers/databases"
CONTAINERS = "Microsoft.DocumentDB/databaseAccounts/sqlDatabases/containers"
ROLES = "Microsoft.DocumentDB/databaseAccounts/sqlRoleAssignments"
POLICIES = "Microsoft.Cache/redis/accessPolicies"
EXCLUDED = "properties/resource/indexingPolicy/excludedPaths[2]"
SCOPE = "/subscriptions/s/resourceGroups/{}/providers/Microsoft.DocumentDB/x/{}"


def value(path, want, have):
    return Difference(f"properties/{path}", "value", want, have)


def extra(have):
    return Difference(EXCLUDED, "list-extra", have=have)


@pytest.mark.parametrize(
    ("type_", "known", "unknown"),
    [
        (REDIS, value("redisVersion", "6", "6.0"), value("redisVersion", "6", "7.0")),
        ("Any/type", value("kubernetesVersion", "1.31", "1.31.4"),
         value("kubernetesVersion", "1.3", "1.31")),
        (REDIS, value("redisConfiguration/maxmemory-delta", "10", "642"),
         value("redisConfiguration/maxmemory-policy", "a", "b")),
        (MYSQL, value("charset", "utf8", "utf8mb3"), value("charset", "utf8", "big5")),
        (MYSQL, value("collation", "utf8_unicode_ci", "utf8mb3_unicode_ci"),
         value("collation", "utf8_unicode_ci", "utf8mb3_bin")),
        (MYSQL, value("charset", "UTF8", "utf8mb3"), value("charset", "utf8mb4", "utf8mb3")),
        (POLICIES, value("permissions", "+get +set", "+get +set allkeys"),
         value("permissions", "+get +set", "+get allkeys")),
        # Another permission is a difference.
        (POLICIES, value("permissions", "+get", "+get allkeys"),
         value("permissions", "+get", "+get +@all allkeys")),
        (POLICIES, value("permissions", "+get", "+get allkeys"),
         value("permissions", "+get ~app:*", "+get ~app:* allkeys")),
        (CONTAINERS, extra({"path": '/"_etag"/?'}), extra({"path": "/secret/*"})),
        (ROLES, value("scope", SCOPE.format("a", "db"), SCOPE.format("b", "db")),
         value("scope", SCOPE.format("a", "db"), SCOPE.format("a", "other"))),
        ("Microsoft.KeyVault/vaults", value("enableSoftDelete", False, True),
         value("enableSoftDelete", True, False)),
    ],
)  # fmt: skip
def test_what_a_type_keeps_is_known_and_no_more(type_, known, unknown):
    assert not_kept(type_, [known, unknown]) == [unknown]


def test_another_type_has_no_such_rule():
    found = [value("zoneRedundant", False, True)]
    assert not_kept("Microsoft.ServiceBus/namespaces", found) == []
    assert not_kept("Microsoft.EventHub/namespaces", found) == found
