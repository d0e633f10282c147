"""VirtualNetwork: subnets that have objects of their own are kept."""

from asoreconcile.azure.extensions.network._shared import shapes_of
from asoreconcile.azure.middleware.extension_points import MODIFY_PAYLOAD
from asoreconcile.azure.middleware.extension_set import BUILT_IN_ORDER, ExtensionSet
from asoreconcile.azure.middleware.factories import ChildMerge, keep_children
from asoreconcile.base.objects import GroupKind

VIRTUAL_NETWORK = GroupKind("network.azure.com", "VirtualNetwork")
EXTENSIONS = ExtensionSet("network.VirtualNetwork", BUILT_IN_ORDER)

EXTENSIONS.on(MODIFY_PAYLOAD, VIRTUAL_NETWORK)(
    keep_children(
        "properties.subnets",
        shapes=shapes_of("Microsoft.Network/virtualNetworks"),
        rule=ChildMerge.REPLACE,
    )
)
