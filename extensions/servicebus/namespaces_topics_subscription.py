"""NamespacesTopicsSubscription: retried while its target does not exist yet."""

from asoreconcile.azure.middleware.extension_points import CLASSIFY_ERROR
from asoreconcile.azure.middleware.extension_set import BUILT_IN_ORDER, ExtensionSet
from asoreconcile.azure.middleware.factories import code, reclassify
from asoreconcile.base.objects import GroupKind

TOPIC_SUBSCRIPTION = GroupKind("servicebus.azure.com", "NamespacesTopicsSubscription")
EXTENSIONS = ExtensionSet("servicebus.NamespacesTopicsSubscription", BUILT_IN_ORDER)

EXTENSIONS.on(CLASSIFY_ERROR, TOPIC_SUBSCRIPTION)(
    reclassify(code("MessagingGatewayBadRequest"))
)
