"""Route: retried while its origins do not exist yet."""

from asoreconcile.azure.extensions.cdn._shared import ORIGINS_ARE_LATE
from asoreconcile.azure.middleware.extension_points import CLASSIFY_ERROR
from asoreconcile.azure.middleware.extension_set import built_in

EXTENSIONS = built_in("cdn", "Route")

EXTENSIONS.on(CLASSIFY_ERROR)(ORIGINS_ARE_LATE)
