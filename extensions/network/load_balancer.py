"""LoadBalancer: NAT rules that others have added are kept."""

from asoreconcile.azure.extensions.network._shared import shapes_of
from asoreconcile.azure.middleware.extension_points import MODIFY_PAYLOAD
from asoreconcile.azure.middleware.extension_set import built_in
from asoreconcile.azure.middleware.factories import ChildMerge, keep_children

EXTENSIONS = built_in("network", "LoadBalancer")

# Rules of other owners (a scale set's NAT pool) stand beside those of the spec. A rule
# that is taken out of the spec is removed in Azure.
EXTENSIONS.on(MODIFY_PAYLOAD)(
    keep_children(
        "properties.inboundNatRules",
        shapes=shapes_of("Microsoft.Network/loadBalancers"),
        rule=ChildMerge.MERGE_BY_NAME,
    )
)
