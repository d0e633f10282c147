"""FleetsMember: retried while a dependency does not exist yet."""

from asoreconcile.azure.middleware.extension_points import CLASSIFY_ERROR
from asoreconcile.azure.middleware.extension_set import BUILT_IN_ORDER, ExtensionSet
from asoreconcile.azure.middleware.factories import code, reclassify
from asoreconcile.base.objects import GroupKind

FLEETS_MEMBER = GroupKind("containerservice.azure.com", "FleetsMember")
EXTENSIONS = ExtensionSet("containerservice.FleetsMember", BUILT_IN_ORDER)

EXTENSIONS.on(CLASSIFY_ERROR, FLEETS_MEMBER)(
    reclassify(code("DependentResourceNotFound"))
)
