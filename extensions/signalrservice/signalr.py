"""SignalR: export its keys."""

from asoreconcile.azure.middleware.extension_points import EXPORT_SECRETS
from asoreconcile.azure.middleware.extension_set import BUILT_IN_ORDER, ExtensionSet
from asoreconcile.azure.middleware.factories import (
    KEYS_AND_CONNECTION_STRINGS,
    export_keys,
)
from asoreconcile.base.objects import GroupKind

EXTENSIONS = ExtensionSet("signalrservice.SignalR", BUILT_IN_ORDER)

EXTENSIONS.on(EXPORT_SECRETS, GroupKind("signalrservice.azure.com", "SignalR"))(
    export_keys("listKeys", "2023-02-01", KEYS_AND_CONNECTION_STRINGS)
)
