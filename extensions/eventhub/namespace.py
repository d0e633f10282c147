"""Namespace: the keys of the rule that every namespace has."""

from asoreconcile.extensions.eventhub._shared import API_VERSION
from asoreconcile.middleware.extension_points import EXPORT_SECRETS
from asoreconcile.middleware.extension_set import BUILT_IN_ORDER, ExtensionSet
from asoreconcile.middleware.factories import KEYS_AND_CONNECTION_STRINGS, export_keys
from asoreconcile.objects import GroupKind

NAMESPACE = GroupKind("eventhub.azure.com", "Namespace")
EXTENSIONS = ExtensionSet("eventhub.Namespace", BUILT_IN_ORDER)

EXTENSIONS.on(EXPORT_SECRETS, NAMESPACE)(
    export_keys(
        "authorizationRules/RootManageSharedAccessKey/listKeys",
        API_VERSION,
        KEYS_AND_CONNECTION_STRINGS,
    )
)
