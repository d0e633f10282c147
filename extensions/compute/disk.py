"""Disk: retried while its DiskAccess does not exist yet."""

from asoreconcile.azure.middleware.extension_points import CLASSIFY_ERROR
from asoreconcile.azure.middleware.extension_set import built_in
from asoreconcile.azure.middleware.factories import code, message_matches, reclassify

EXTENSIONS = built_in("compute", "Disk")

EXTENSIONS.on(CLASSIFY_ERROR)(
    reclassify(
        (code("BadRequest") & message_matches("DiskAccess.*not found"))
        | (code("Conflict") & message_matches(r"DiskAccess.*is in failed state\."))
    )
)
