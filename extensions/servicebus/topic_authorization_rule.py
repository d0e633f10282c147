"""TopicAuthorizationRule: its keys."""

from asoreconcile.extensions.servicebus._shared import API_VERSION
from asoreconcile.middleware.extension_points import EXPORT_SECRETS
from asoreconcile.middleware.extension_set import BUILT_IN_ORDER, ExtensionSet
from asoreconcile.middleware.factories import KEYS_AND_CONNECTION_STRINGS, export_keys
from asoreconcile.objects import GroupKind

TOPIC_RULE = GroupKind("servicebus.azure.com", "TopicAuthorizationRule")
EXTENSIONS = ExtensionSet("servicebus.TopicAuthorizationRule", BUILT_IN_ORDER)

# Azure spells the action of topics in its own way.
EXTENSIONS.on(EXPORT_SECRETS, TOPIC_RULE)(
    export_keys("ListKeys", API_VERSION, KEYS_AND_CONNECTION_STRINGS)
)
