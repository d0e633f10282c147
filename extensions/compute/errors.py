"""What errors of Compute mean beyond their code.

Most are dependencies that come late: a Warning, tried again soon.
"""

from asoreconcile.middleware.extension_points import CLASSIFY_ERROR
from asoreconcile.middleware.extension_set import BUILT_IN_ORDER, ExtensionSet
from asoreconcile.middleware.factories import code, message_matches, reclassify
from asoreconcile.objects import GroupKind

_GROUP = "compute.azure.com"
EXTENSIONS = ExtensionSet("compute.errors", BUILT_IN_ORDER)

EXTENSIONS.on(CLASSIFY_ERROR, GroupKind(_GROUP, "Disk"))(
    reclassify(
        (code("BadRequest") & message_matches("DiskAccess.*not found"))
        | (code("Conflict") & message_matches(r"DiskAccess.*is in failed state\."))
    )
)
# Quota: it may be raised, or freed by others.
EXTENSIONS.on(
    CLASSIFY_ERROR,
    GroupKind(_GROUP, "VirtualMachine"),
    GroupKind(_GROUP, "VirtualMachineScaleSet"),
)(reclassify(code("OperationNotAllowed")))
