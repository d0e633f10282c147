"""Namespace: export the keys of the rule that every namespace has."""

from asoreconcile.azure.extensions.eventhub._shared import API_VERSION
from asoreconcile.azure.middleware.extension_points import EXPORT_SECRETS
from asoreconcile.azure.middleware.extension_set import BUILT_IN_ORDER, ExtensionSet
from asoreconcile.azure.middleware.factories import (
    KEYS_AND_CONNECTION_STRINGS,
    export_keys,
)
from asoreconcile.base.objects import GroupKind

NAMESPACE = GroupKind("eventhub.azure.com", "Namespace")
EXTENSIONS = ExtensionSet("eventhub.Namespace", BUILT_IN_ORDER)

EXTENSIONS.on(EXPORT_SECRETS, NAMESPACE)(
    export_keys(
        "authorizationRules/RootManageSharedAccessKey/listKeys",
        API_VERSION,
        KEYS_AND_CONNECTION_STRINGS,
    )
)
