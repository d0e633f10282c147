"""FleetsMember: retried while a dependency does not exist yet."""

from asoreconcile.azure.middleware.extension_points import CLASSIFY_ERROR
from asoreconcile.azure.middleware.extension_set import built_in
from asoreconcile.azure.middleware.factories import code, reclassify

EXTENSIONS = built_in("containerservice", "FleetsMember")

EXTENSIONS.on(CLASSIFY_ERROR)(reclassify(code("DependentResourceNotFound")))
