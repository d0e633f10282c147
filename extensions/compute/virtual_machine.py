"""VirtualMachine: retried while the quota is used up."""

from asoreconcile.azure.extensions.compute._shared import QUOTA_MAY_GROW
from asoreconcile.azure.middleware.extension_points import CLASSIFY_ERROR
from asoreconcile.azure.middleware.extension_set import BUILT_IN_ORDER, ExtensionSet
from asoreconcile.base.objects import GroupKind

VIRTUAL_MACHINE = GroupKind("compute.azure.com", "VirtualMachine")
EXTENSIONS = ExtensionSet("compute.VirtualMachine", BUILT_IN_ORDER)

EXTENSIONS.on(CLASSIFY_ERROR, VIRTUAL_MACHINE)(QUOTA_MAY_GROW)
