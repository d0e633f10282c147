"""Notification Hubs: the keys of the rules that come with each."""

from asoreconcile.middleware.extension_points import EXPORT_SECRETS
from asoreconcile.middleware.extension_set import BUILT_IN_ORDER, ExtensionSet
from asoreconcile.middleware.factories import KEYS_AND_CONNECTION_STRINGS, export_keys
from asoreconcile.objects import GroupKind

EXTENSIONS = ExtensionSet("notificationhubs.keys", BUILT_IN_ORDER)

EXTENSIONS.on(EXPORT_SECRETS, GroupKind("notificationhubs.azure.com", "Namespace"))(
    export_keys(
        "AuthorizationRules/RootManageSharedAccessKey/listKeys",
        "2017-04-01",
        KEYS_AND_CONNECTION_STRINGS,
    )
)
EXTENSIONS.on(
    EXPORT_SECRETS, GroupKind("notificationhubs.azure.com", "NotificationHub")
)(
    export_keys(
        "AuthorizationRules/DefaultFullSharedAccessSignature/listKeys",
        "2017-04-01",
        KEYS_AND_CONNECTION_STRINGS,
    )
)
