"""NotificationHub: export the keys of the rule that every hub has."""

from asoreconcile.azure.middleware.extension_points import EXPORT_SECRETS
from asoreconcile.azure.middleware.extension_set import BUILT_IN_ORDER, ExtensionSet
from asoreconcile.azure.middleware.factories import (
    KEYS_AND_CONNECTION_STRINGS,
    export_keys,
)
from asoreconcile.base.objects import GroupKind

NOTIFICATION_HUB = GroupKind("notificationhubs.azure.com", "NotificationHub")
EXTENSIONS = ExtensionSet("notificationhubs.NotificationHub", BUILT_IN_ORDER)

EXTENSIONS.on(EXPORT_SECRETS, NOTIFICATION_HUB)(
    export_keys(
        "AuthorizationRules/DefaultFullSharedAccessSignature/listKeys",
        "2017-04-01",
        KEYS_AND_CONNECTION_STRINGS,
    )
)
