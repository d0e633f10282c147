"""NamespacesEventhubsAuthorizationRule: export its keys."""

from asoreconcile.azure.extensions.eventhub._shared import EXPORT_RULE_KEYS
from asoreconcile.azure.middleware.extension_points import EXPORT_SECRETS
from asoreconcile.azure.middleware.extension_set import built_in

EXTENSIONS = built_in("eventhub", "NamespacesEventhubsAuthorizationRule")

EXTENSIONS.on(EXPORT_SECRETS)(EXPORT_RULE_KEYS)
