"""FlexibleServersFirewallRule: waits for its server."""

from asoreconcile.azure.extensions.dbforpostgresql._shared import (
    BLOCK_UNLESS_SERVER_IS_WRITABLE,
)
from asoreconcile.azure.middleware.extension_points import PRE_RECONCILE_OWNER
from asoreconcile.azure.middleware.extension_set import built_in

EXTENSIONS = built_in("dbforpostgresql", "FlexibleServersFirewallRule")

EXTENSIONS.on(PRE_RECONCILE_OWNER)(BLOCK_UNLESS_SERVER_IS_WRITABLE)
