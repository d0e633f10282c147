"""FlexibleServer and its children: no write while the server is not ready."""

from asoreconcile.middleware.extension_points import (
    EXPORT_SECRETS,
    PRE_RECONCILE,
    PRE_RECONCILE_OWNER,
)
from asoreconcile.middleware.extension_set import BUILT_IN_ORDER, ExtensionSet
from asoreconcile.middleware.factories import (
    TERMINAL,
    block_unless_owner_state,
    block_unless_state,
    export_status,
)
from asoreconcile.objects import GroupKind

SERVER = GroupKind("dbforpostgresql.azure.com", "FlexibleServer")
DATABASE = GroupKind("dbforpostgresql.azure.com", "FlexibleServersDatabase")
FIREWALL_RULE = GroupKind("dbforpostgresql.azure.com", "FlexibleServersFirewallRule")
EXTENSIONS = ExtensionSet("dbforpostgresql.FlexibleServer", BUILT_IN_ORDER)

# The server's `state` also says what it is doing when it takes no writes: Starting,
# Updating, Stopped.
_WRITABLE = TERMINAL | {"ready"}

EXTENSIONS.on(PRE_RECONCILE, SERVER)(
    block_unless_state(
        "status.state", _WRITABLE, message='Flexible server is in state "{state}"'
    )
)
EXTENSIONS.on(PRE_RECONCILE_OWNER, DATABASE, FIREWALL_RULE)(
    block_unless_owner_state(
        SERVER,
        "status.state",
        _WRITABLE,
        message='Owning flexible server "{name}" is in state "{state}"',
    )
)
EXTENSIONS.on(EXPORT_SECRETS, SERVER)(
    export_status({"fullyQualifiedDomainName": "status.fullyQualifiedDomainName"})
)
