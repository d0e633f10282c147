"""ContainerApp: retried while its environment does not exist yet."""

from asoreconcile.azure.extensions.app._shared import ENVIRONMENT_IS_LATE
from asoreconcile.azure.middleware.extension_points import CLASSIFY_ERROR
from asoreconcile.azure.middleware.extension_set import built_in

EXTENSIONS = built_in("app", "ContainerApp")

EXTENSIONS.on(CLASSIFY_ERROR)(ENVIRONMENT_IS_LATE)
