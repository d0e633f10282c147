"""NamespacesAuthorizationRule: export its keys."""

from asoreconcile.azure.extensions.servicebus._shared import API_VERSION
from asoreconcile.azure.middleware.extension_points import EXPORT_SECRETS
from asoreconcile.azure.middleware.extension_set import BUILT_IN_ORDER, ExtensionSet
from asoreconcile.azure.middleware.factories import (
    KEYS_AND_CONNECTION_STRINGS,
    export_keys,
)
from asoreconcile.base.objects import GroupKind

NAMESPACE_RULE = GroupKind("servicebus.azure.com", "NamespacesAuthorizationRule")
EXTENSIONS = ExtensionSet("servicebus.NamespacesAuthorizationRule", BUILT_IN_ORDER)

EXTENSIONS.on(EXPORT_SECRETS, NAMESPACE_RULE)(
    export_keys("listKeys", API_VERSION, KEYS_AND_CONNECTION_STRINGS)
)
