"""NetworkSecurityGroup: rules that have objects of their own are kept."""

from asoreconcile.azure.extensions.network._shared import shapes_of
from asoreconcile.azure.middleware.extension_points import MODIFY_PAYLOAD
from asoreconcile.azure.middleware.extension_set import BUILT_IN_ORDER, ExtensionSet
from asoreconcile.azure.middleware.factories import ChildMerge, keep_children
from asoreconcile.base.objects import GroupKind

NETWORK_SECURITY_GROUP = GroupKind("network.azure.com", "NetworkSecurityGroup")
EXTENSIONS = ExtensionSet("network.NetworkSecurityGroup", BUILT_IN_ORDER)

EXTENSIONS.on(MODIFY_PAYLOAD, NETWORK_SECURITY_GROUP)(
    keep_children(
        "properties.securityRules",
        shapes=shapes_of("Microsoft.Network/networkSecurityGroups"),
        rule=ChildMerge.REPLACE,
    )
)
