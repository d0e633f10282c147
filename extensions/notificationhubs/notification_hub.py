"""NotificationHub: export the keys of the rule that every hub has."""

from asoreconcile.azure.middleware.extension_points import EXPORT_SECRETS
from asoreconcile.azure.middleware.extension_set import built_in
from asoreconcile.azure.middleware.factories import (
    KEYS_AND_CONNECTION_STRINGS,
    export_keys,
)

EXTENSIONS = built_in("notificationhubs", "NotificationHub")

EXTENSIONS.on(EXPORT_SECRETS)(
    export_keys(
        "AuthorizationRules/DefaultFullSharedAccessSignature/listKeys",
        "2017-04-01",
        KEYS_AND_CONNECTION_STRINGS,
    )
)
