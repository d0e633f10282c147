"""VirtualMachine: retried while the quota is used up."""

from asoreconcile.azure.extensions.compute._shared import QUOTA_MAY_GROW
from asoreconcile.azure.middleware.extension_points import CLASSIFY_ERROR
from asoreconcile.azure.middleware.extension_set import built_in

EXTENSIONS = built_in("compute", "VirtualMachine")

EXTENSIONS.on(CLASSIFY_ERROR)(QUOTA_MAY_GROW)
