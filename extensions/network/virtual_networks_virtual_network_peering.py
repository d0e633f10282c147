"""VirtualNetworksVirtualNetworkPeering: retried while a network is missing."""

from asoreconcile.azure.extensions.network._shared import REFERENCE_IS_LATE
from asoreconcile.azure.middleware.extension_points import CLASSIFY_ERROR
from asoreconcile.azure.middleware.extension_set import built_in

EXTENSIONS = built_in("network", "VirtualNetworksVirtualNetworkPeering")

EXTENSIONS.on(CLASSIFY_ERROR)(REFERENCE_IS_LATE)
