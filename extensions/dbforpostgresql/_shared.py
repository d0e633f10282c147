"""The rule for a flexible server and its children: no write while it is not ready."""

from asoreconcile.azure.middleware.factories import TERMINAL, block_unless_owner_state
from asoreconcile.base.objects import GroupKind

SERVER = GroupKind("dbforpostgresql.azure.com", "FlexibleServer")

# The server's `state` also names what keeps it from taking writes: Starting, Updating,
# Stopped.
WRITABLE = TERMINAL | {"ready"}

BLOCK_UNLESS_SERVER_IS_WRITABLE = block_unless_owner_state(
    SERVER,
    "status.state",
    WRITABLE,
    message='Owning flexible server "{name}" is in state "{state}"',
)
