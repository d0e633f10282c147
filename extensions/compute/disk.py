"""Disk: retried while its DiskAccess does not exist yet."""

from asoreconcile.azure.middleware.extension_points import CLASSIFY_ERROR
from asoreconcile.azure.middleware.extension_set import BUILT_IN_ORDER, ExtensionSet
from asoreconcile.azure.middleware.factories import code, message_matches, reclassify
from asoreconcile.base.objects import GroupKind

DISK = GroupKind("compute.azure.com", "Disk")
EXTENSIONS = ExtensionSet("compute.Disk", BUILT_IN_ORDER)

EXTENSIONS.on(CLASSIFY_ERROR, DISK)(
    reclassify(
        (code("BadRequest") & message_matches("DiskAccess.*not found"))
        | (code("Conflict") & message_matches(r"DiskAccess.*is in failed state\."))
    )
)
