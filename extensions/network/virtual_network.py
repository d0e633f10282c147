"""VirtualNetwork: subnets that have objects of their own are kept."""

from asoreconcile.azure.extensions.network._shared import shapes_of
from asoreconcile.azure.middleware.extension_points import MODIFY_PAYLOAD
from asoreconcile.azure.middleware.extension_set import built_in
from asoreconcile.azure.middleware.factories import ChildMerge, keep_children

EXTENSIONS = built_in("network", "VirtualNetwork")

EXTENSIONS.on(MODIFY_PAYLOAD)(
    keep_children(
        "properties.subnets",
        shapes=shapes_of("Microsoft.Network/virtualNetworks"),
        rule=ChildMerge.REPLACE,
    )
)
