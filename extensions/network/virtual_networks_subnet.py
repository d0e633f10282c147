"""VirtualNetworksSubnet: keep its status small; retry while its network has to grow."""

from collections.abc import Callable

import attrs

from asoreconcile.azure.middleware.extension_points import (
    CLASSIFY_ERROR,
    POST_RECONCILE,
)
from asoreconcile.azure.middleware.extension_set import built_in
from asoreconcile.azure.middleware.factories import code, reclassify
from asoreconcile.azure.middleware.requests import PostReconcile, PostResult, Ready
from asoreconcile.base.objects import status

EXTENSIONS = built_in("network", "VirtualNetworksSubnet")

# A subnet of a large cluster lists an id for each address in use; some thousands of
# them are more than the API server stores in one object.
_MOST_IP_CONFIGURATIONS = 2000

# The network may be about to grow.
EXTENSIONS.on(CLASSIFY_ERROR)(reclassify(code("NetcfgSubnetRangeOutsideVnet")))


@EXTENSIONS.on(POST_RECONCILE)
def without_long_lists(
    req: PostReconcile, call_next: Callable[[PostReconcile], PostResult], /
) -> PostResult:
    """Remove `status.ipConfigurations` if it is too long to be useful."""
    result = call_next(req)
    addresses = status(req.obj).get("ipConfigurations") or []
    if not isinstance(result, Ready) or len(addresses) <= _MOST_IP_CONFIGURATIONS:
        return result
    patch = {**(result.status_patch or {}), "ipConfigurations": None}
    return attrs.evolve(result, status_patch=patch)
