"""VirtualNetwork: subnets that have objects of their own are kept."""

from asoreconcile.extensions.network._shared import shapes_of
from asoreconcile.middleware.extension_points import MODIFY_PAYLOAD
from asoreconcile.middleware.extension_set import BUILT_IN_ORDER, ExtensionSet
from asoreconcile.middleware.factories import ChildMerge, keep_children
from asoreconcile.objects import GroupKind

VIRTUAL_NETWORK = GroupKind("network.azure.com", "VirtualNetwork")
EXTENSIONS = ExtensionSet("network.VirtualNetwork", BUILT_IN_ORDER)

EXTENSIONS.on(MODIFY_PAYLOAD, VIRTUAL_NETWORK)(
    keep_children(
        "properties.subnets",
        shapes=shapes_of("Microsoft.Network/virtualNetworks"),
        rule=ChildMerge.REPLACE,
    )
)
