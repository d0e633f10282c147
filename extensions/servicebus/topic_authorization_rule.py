"""TopicAuthorizationRule: export its keys."""

from asoreconcile.azure.extensions.servicebus._shared import API_VERSION
from asoreconcile.azure.middleware.extension_points import EXPORT_SECRETS
from asoreconcile.azure.middleware.extension_set import BUILT_IN_ORDER, ExtensionSet
from asoreconcile.azure.middleware.factories import (
    KEYS_AND_CONNECTION_STRINGS,
    export_keys,
)
from asoreconcile.base.objects import GroupKind

TOPIC_RULE = GroupKind("servicebus.azure.com", "TopicAuthorizationRule")
EXTENSIONS = ExtensionSet("servicebus.TopicAuthorizationRule", BUILT_IN_ORDER)

# Azure spells the action of topics in its own way.
EXTENSIONS.on(EXPORT_SECRETS, TOPIC_RULE)(
    export_keys("ListKeys", API_VERSION, KEYS_AND_CONNECTION_STRINGS)
)
