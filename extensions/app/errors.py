"""What errors of Container Apps mean beyond their code.

Most are dependencies that come late: a Warning, tried again soon.
"""

from asoreconcile.middleware.extension_points import CLASSIFY_ERROR
from asoreconcile.middleware.extension_set import BUILT_IN_ORDER, ExtensionSet
from asoreconcile.middleware.factories import code, reclassify
from asoreconcile.objects import GroupKind

_GROUP = "app.azure.com"
EXTENSIONS = ExtensionSet("app.errors", BUILT_IN_ORDER)

EXTENSIONS.on(
    CLASSIFY_ERROR, GroupKind(_GROUP, "ContainerApp"), GroupKind(_GROUP, "Job")
)(reclassify(code("ManagedEnvironmentNotProvisioned")))
