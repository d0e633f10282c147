"""Service Bus: the keys of namespaces and authorization rules."""

from asoreconcile.middleware.extension_points import EXPORT_SECRETS
from asoreconcile.middleware.extension_set import BUILT_IN_ORDER, ExtensionSet
from asoreconcile.middleware.factories import (
    KEYS_AND_CONNECTION_STRINGS,
    export_keys,
    export_status,
)
from asoreconcile.objects import GroupKind

NAMESPACE = GroupKind("servicebus.azure.com", "Namespace")
NAMESPACE_RULE = GroupKind("servicebus.azure.com", "NamespacesAuthorizationRule")
TOPIC_RULE = GroupKind("servicebus.azure.com", "TopicAuthorizationRule")
EXTENSIONS = ExtensionSet("servicebus.keys", BUILT_IN_ORDER)

_API_VERSION = "2021-11-01"

EXTENSIONS.on(EXPORT_SECRETS, NAMESPACE)(
    export_keys(
        "AuthorizationRules/RootManageSharedAccessKey/listKeys",
        _API_VERSION,
        KEYS_AND_CONNECTION_STRINGS,
    )
)
EXTENSIONS.on(EXPORT_SECRETS, NAMESPACE)(
    export_status({"endpoint": "status.serviceBusEndpoint"})
)
EXTENSIONS.on(EXPORT_SECRETS, NAMESPACE_RULE)(
    export_keys("listKeys", _API_VERSION, KEYS_AND_CONNECTION_STRINGS)
)
# Azure spells the action of topics in its own way.
EXTENSIONS.on(EXPORT_SECRETS, TOPIC_RULE)(
    export_keys("ListKeys", _API_VERSION, KEYS_AND_CONNECTION_STRINGS)
)
