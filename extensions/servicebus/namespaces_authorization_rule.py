"""NamespacesAuthorizationRule: its keys."""

from asoreconcile.extensions.servicebus._shared import API_VERSION
from asoreconcile.middleware.extension_points import EXPORT_SECRETS
from asoreconcile.middleware.extension_set import BUILT_IN_ORDER, ExtensionSet
from asoreconcile.middleware.factories import KEYS_AND_CONNECTION_STRINGS, export_keys
from asoreconcile.objects import GroupKind

NAMESPACE_RULE = GroupKind("servicebus.azure.com", "NamespacesAuthorizationRule")
EXTENSIONS = ExtensionSet("servicebus.NamespacesAuthorizationRule", BUILT_IN_ORDER)

EXTENSIONS.on(EXPORT_SECRETS, NAMESPACE_RULE)(
    export_keys("listKeys", API_VERSION, KEYS_AND_CONNECTION_STRINGS)
)
