"""PublicIPAddress: retried while a referenced resource does not exist yet."""

from asoreconcile.azure.extensions.network._shared import REFERENCE_IS_LATE
from asoreconcile.azure.middleware.extension_points import CLASSIFY_ERROR
from asoreconcile.azure.middleware.extension_set import BUILT_IN_ORDER, ExtensionSet
from asoreconcile.base.objects import GroupKind

PUBLIC_IP_ADDRESS = GroupKind("network.azure.com", "PublicIPAddress")
EXTENSIONS = ExtensionSet("network.PublicIPAddress", BUILT_IN_ORDER)

EXTENSIONS.on(CLASSIFY_ERROR, PUBLIC_IP_ADDRESS)(REFERENCE_IS_LATE)
