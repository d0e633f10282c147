"""The public names of the functions that build common extensions.

Nine of ten special cases use one of them with a few constants; the others are functions
of their own.
"""

from asoreconcile.azure.middleware.children import (
    ChildMerge,
    ChildShape,
    keep_children,
    writable,
)
from asoreconcile.azure.middleware.imports import skip_import_if
from asoreconcile.azure.middleware.preconditions import (
    TERMINAL,
    block_if_state,
    block_unless_owner_state,
    block_unless_state,
)
from asoreconcile.azure.middleware.reclassify import (
    ErrorMatch,
    code,
    message_contains,
    message_matches,
    reclassify,
)
from asoreconcile.azure.middleware.secret_exporters import (
    KEY_PAIR,
    KEYS_AND_CONNECTION_STRINGS,
    ValueSource,
    collect,
    export_keys,
    export_status,
    requested,
)

__all__ = [
    "KEYS_AND_CONNECTION_STRINGS",
    "KEY_PAIR",
    "TERMINAL",
    "ChildMerge",
    "ChildShape",
    "ErrorMatch",
    "ValueSource",
    "block_if_state",
    "block_unless_owner_state",
    "block_unless_state",
    "code",
    "collect",
    "export_keys",
    "export_status",
    "keep_children",
    "message_contains",
    "message_matches",
    "reclassify",
    "requested",
    "skip_import_if",
    "writable",
]
