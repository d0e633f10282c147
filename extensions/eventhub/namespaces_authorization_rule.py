"""NamespacesAuthorizationRule: export its keys."""

from asoreconcile.azure.extensions.eventhub._shared import EXPORT_RULE_KEYS
from asoreconcile.azure.middleware.extension_points import EXPORT_SECRETS
from asoreconcile.azure.middleware.extension_set import BUILT_IN_ORDER, ExtensionSet
from asoreconcile.base.objects import GroupKind

NAMESPACE_RULE = GroupKind("eventhub.azure.com", "NamespacesAuthorizationRule")
EXTENSIONS = ExtensionSet("eventhub.NamespacesAuthorizationRule", BUILT_IN_ORDER)

EXTENSIONS.on(EXPORT_SECRETS, NAMESPACE_RULE)(EXPORT_RULE_KEYS)
