"""Namespace: its endpoint, and the keys of the rule that every namespace has."""

from asoreconcile.azure.extensions.servicebus._shared import API_VERSION
from asoreconcile.azure.middleware.extension_points import EXPORT_SECRETS
from asoreconcile.azure.middleware.extension_set import BUILT_IN_ORDER, ExtensionSet
from asoreconcile.azure.middleware.factories import (
    KEYS_AND_CONNECTION_STRINGS,
    export_keys,
    export_status,
)
from asoreconcile.base.objects import GroupKind

NAMESPACE = GroupKind("servicebus.azure.com", "Namespace")
EXTENSIONS = ExtensionSet("servicebus.Namespace", BUILT_IN_ORDER)

EXTENSIONS.on(EXPORT_SECRETS, NAMESPACE)(
    export_keys(
        "AuthorizationRules/RootManageSharedAccessKey/listKeys",
        API_VERSION,
        KEYS_AND_CONNECTION_STRINGS,
    )
)
EXTENSIONS.on(EXPORT_SECRETS, NAMESPACE)(
    export_status({"endpoint": "status.serviceBusEndpoint"})
)
