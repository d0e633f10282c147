"""Job: retried while its environment does not exist yet."""

from asoreconcile.azure.extensions.app._shared import ENVIRONMENT_IS_LATE
from asoreconcile.azure.middleware.extension_points import CLASSIFY_ERROR
from asoreconcile.azure.middleware.extension_set import BUILT_IN_ORDER, ExtensionSet
from asoreconcile.base.objects import GroupKind

JOB = GroupKind("app.azure.com", "Job")
EXTENSIONS = ExtensionSet("app.Job", BUILT_IN_ORDER)

EXTENSIONS.on(CLASSIFY_ERROR, JOB)(ENVIRONMENT_IS_LATE)
