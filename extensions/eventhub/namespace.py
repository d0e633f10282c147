"""Namespace: export the keys of the rule that every namespace has."""

from asoreconcile.azure.extensions.eventhub._shared import API_VERSION
from asoreconcile.azure.middleware.extension_points import EXPORT_SECRETS
from asoreconcile.azure.middleware.extension_set import built_in
from asoreconcile.azure.middleware.factories import (
    KEYS_AND_CONNECTION_STRINGS,
    export_keys,
)

EXTENSIONS = built_in("eventhub", "Namespace")

EXTENSIONS.on(EXPORT_SECRETS)(
    export_keys(
        "authorizationRules/RootManageSharedAccessKey/listKeys",
        API_VERSION,
        KEYS_AND_CONNECTION_STRINGS,
    )
)
