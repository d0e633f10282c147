"""VirtualNetworksVirtualNetworkPeering: retried while a network is missing."""

from asoreconcile.azure.extensions.network._shared import REFERENCE_IS_LATE
from asoreconcile.azure.middleware.extension_points import CLASSIFY_ERROR
from asoreconcile.azure.middleware.extension_set import BUILT_IN_ORDER, ExtensionSet
from asoreconcile.base.objects import GroupKind

PEERING = GroupKind("network.azure.com", "VirtualNetworksVirtualNetworkPeering")
EXTENSIONS = ExtensionSet(
    "network.VirtualNetworksVirtualNetworkPeering", BUILT_IN_ORDER
)

EXTENSIONS.on(CLASSIFY_ERROR, PEERING)(REFERENCE_IS_LATE)
