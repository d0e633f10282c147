"""FlexibleServersFirewallRule: waits for its server."""

from asoreconcile.azure.extensions.dbforpostgresql._shared import (
    BLOCK_UNLESS_SERVER_IS_WRITABLE,
)
from asoreconcile.azure.middleware.extension_points import PRE_RECONCILE_OWNER
from asoreconcile.azure.middleware.extension_set import BUILT_IN_ORDER, ExtensionSet
from asoreconcile.base.objects import GroupKind

FIREWALL_RULE = GroupKind("dbforpostgresql.azure.com", "FlexibleServersFirewallRule")
EXTENSIONS = ExtensionSet("dbforpostgresql.FlexibleServersFirewallRule", BUILT_IN_ORDER)

EXTENSIONS.on(PRE_RECONCILE_OWNER, FIREWALL_RULE)(BLOCK_UNLESS_SERVER_IS_WRITABLE)
