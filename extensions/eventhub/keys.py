"""Event Hubs: the keys of namespaces and authorization rules."""

from asoreconcile.middleware.extension_points import EXPORT_SECRETS
from asoreconcile.middleware.extension_set import BUILT_IN_ORDER, ExtensionSet
from asoreconcile.middleware.factories import KEYS_AND_CONNECTION_STRINGS, export_keys
from asoreconcile.objects import GroupKind

NAMESPACE = GroupKind("eventhub.azure.com", "Namespace")
NAMESPACE_RULE = GroupKind("eventhub.azure.com", "NamespacesAuthorizationRule")
EVENT_HUB_RULE = GroupKind("eventhub.azure.com", "NamespacesEventhubsAuthorizationRule")
EXTENSIONS = ExtensionSet("eventhub.keys", BUILT_IN_ORDER)

_API_VERSION = "2024-01-01"

EXTENSIONS.on(EXPORT_SECRETS, NAMESPACE)(
    export_keys(
        "authorizationRules/RootManageSharedAccessKey/listKeys",
        _API_VERSION,
        KEYS_AND_CONNECTION_STRINGS,
    )
)
EXTENSIONS.on(EXPORT_SECRETS, NAMESPACE_RULE, EVENT_HUB_RULE)(
    export_keys("listKeys", _API_VERSION, KEYS_AND_CONNECTION_STRINGS)
)
