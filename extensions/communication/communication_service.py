"""CommunicationService: export its keys."""

from asoreconcile.azure.middleware.extension_points import EXPORT_SECRETS
from asoreconcile.azure.middleware.extension_set import built_in
from asoreconcile.azure.middleware.factories import (
    KEYS_AND_CONNECTION_STRINGS,
    export_keys,
)

EXTENSIONS = built_in("communication", "CommunicationService")

EXTENSIONS.on(EXPORT_SECRETS)(
    export_keys("listKeys", "2020-08-20", KEYS_AND_CONNECTION_STRINGS)
)
