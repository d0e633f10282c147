"""RouteTable: routes that have objects of their own are kept."""

from asoreconcile.azure.extensions.network._shared import shapes_of
from asoreconcile.azure.middleware.extension_points import MODIFY_PAYLOAD
from asoreconcile.azure.middleware.extension_set import BUILT_IN_ORDER, ExtensionSet
from asoreconcile.azure.middleware.factories import ChildMerge, keep_children
from asoreconcile.base.objects import GroupKind

ROUTE_TABLE = GroupKind("network.azure.com", "RouteTable")
EXTENSIONS = ExtensionSet("network.RouteTable", BUILT_IN_ORDER)

EXTENSIONS.on(MODIFY_PAYLOAD, ROUTE_TABLE)(
    keep_children(
        "properties.routes",
        shapes=shapes_of("Microsoft.Network/routeTables"),
        rule=ChildMerge.REPLACE,
    )
)
