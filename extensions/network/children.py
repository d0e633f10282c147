"""Virtual networks, route tables, security groups, load balancers: children are kept.

What of a child may be written is in `children.json`, by ARM type and api-version.
"""

from functools import cache
from importlib.resources import files

import orjson

from asoreconcile.middleware.extension_points import MODIFY_PAYLOAD
from asoreconcile.middleware.extension_set import BUILT_IN_ORDER, ExtensionSet
from asoreconcile.middleware.factories import Keep, Shape, keep_children
from asoreconcile.objects import GroupKind

_GROUP = "network.azure.com"
VIRTUAL_NETWORK = GroupKind(_GROUP, "VirtualNetwork")
SECURITY_GROUP = GroupKind(_GROUP, "NetworkSecurityGroup")
ROUTE_TABLE = GroupKind(_GROUP, "RouteTable")
LOAD_BALANCER = GroupKind(_GROUP, "LoadBalancer")
EXTENSIONS = ExtensionSet("network.children", BUILT_IN_ORDER)


@cache
def _shapes() -> dict[str, dict[str, Shape]]:
    text = (files(__package__) / "children.json").read_bytes()
    shapes: dict[str, dict[str, Shape]] = orjson.loads(text)["shapes"]
    return shapes


EXTENSIONS.on(MODIFY_PAYLOAD, VIRTUAL_NETWORK)(
    keep_children(
        "properties.subnets",
        shapes=_shapes()["Microsoft.Network/virtualNetworks"],
        rule=Keep.REPLACE,
    )
)
EXTENSIONS.on(MODIFY_PAYLOAD, SECURITY_GROUP)(
    keep_children(
        "properties.securityRules",
        shapes=_shapes()["Microsoft.Network/networkSecurityGroups"],
        rule=Keep.REPLACE,
    )
)
EXTENSIONS.on(MODIFY_PAYLOAD, ROUTE_TABLE)(
    keep_children(
        "properties.routes",
        shapes=_shapes()["Microsoft.Network/routeTables"],
        rule=Keep.REPLACE,
    )
)
# Rules of other owners (a scale set's NAT pool) stand beside those of the spec, so a
# rule taken out of the spec stays in Azure until it is deleted there.
EXTENSIONS.on(MODIFY_PAYLOAD, LOAD_BALANCER)(
    keep_children(
        "properties.inboundNatRules",
        shapes=_shapes()["Microsoft.Network/loadBalancers"],
        rule=Keep.MERGE_BY_NAME,
    )
)
