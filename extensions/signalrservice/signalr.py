"""SignalR: export its keys."""

from asoreconcile.azure.middleware.extension_points import EXPORT_SECRETS
from asoreconcile.azure.middleware.extension_set import built_in
from asoreconcile.azure.middleware.factories import (
    KEYS_AND_CONNECTION_STRINGS,
    export_keys,
)

EXTENSIONS = built_in("signalrservice", "SignalR")

EXTENSIONS.on(EXPORT_SECRETS)(
    export_keys("listKeys", "2023-02-01", KEYS_AND_CONNECTION_STRINGS)
)
