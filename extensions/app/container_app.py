"""ContainerApp: retried while its environment does not exist yet."""

from asoreconcile.azure.extensions.app._shared import ENVIRONMENT_IS_LATE
from asoreconcile.azure.middleware.extension_points import CLASSIFY_ERROR
from asoreconcile.azure.middleware.extension_set import BUILT_IN_ORDER, ExtensionSet
from asoreconcile.base.objects import GroupKind

CONTAINER_APP = GroupKind("app.azure.com", "ContainerApp")
EXTENSIONS = ExtensionSet("app.ContainerApp", BUILT_IN_ORDER)

EXTENSIONS.on(CLASSIFY_ERROR, CONTAINER_APP)(ENVIRONMENT_IS_LATE)
