"""NamespacesEventhubsAuthorizationRule: export its keys."""

from asoreconcile.azure.extensions.eventhub._shared import EXPORT_RULE_KEYS
from asoreconcile.azure.middleware.extension_points import EXPORT_SECRETS
from asoreconcile.azure.middleware.extension_set import BUILT_IN_ORDER, ExtensionSet
from asoreconcile.base.objects import GroupKind

EVENT_HUB_RULE = GroupKind("eventhub.azure.com", "NamespacesEventhubsAuthorizationRule")
EXTENSIONS = ExtensionSet(
    "eventhub.NamespacesEventhubsAuthorizationRule", BUILT_IN_ORDER
)

EXTENSIONS.on(EXPORT_SECRETS, EVENT_HUB_RULE)(EXPORT_RULE_KEYS)
