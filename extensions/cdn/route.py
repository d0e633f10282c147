"""Route: retried while its origins do not exist yet."""

from asoreconcile.azure.extensions.cdn._shared import ORIGINS_ARE_LATE
from asoreconcile.azure.middleware.extension_points import CLASSIFY_ERROR
from asoreconcile.azure.middleware.extension_set import BUILT_IN_ORDER, ExtensionSet
from asoreconcile.base.objects import GroupKind

ROUTE = GroupKind("cdn.azure.com", "Route")
EXTENSIONS = ExtensionSet("cdn.Route", BUILT_IN_ORDER)

EXTENSIONS.on(CLASSIFY_ERROR, ROUTE)(ORIGINS_ARE_LATE)
