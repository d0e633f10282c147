"""FleetsMember: what it depends on may come late."""

from asoreconcile.middleware.extension_points import CLASSIFY_ERROR
from asoreconcile.middleware.extension_set import BUILT_IN_ORDER, ExtensionSet
from asoreconcile.middleware.factories import code, reclassify
from asoreconcile.objects import GroupKind

FLEETS_MEMBER = GroupKind("containerservice.azure.com", "FleetsMember")
EXTENSIONS = ExtensionSet("containerservice.FleetsMember", BUILT_IN_ORDER)

EXTENSIONS.on(CLASSIFY_ERROR, FLEETS_MEMBER)(
    reclassify(code("DependentResourceNotFound"))
)
