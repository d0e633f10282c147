"""AfdCustomDomain: its deletion is retried while a route uses it."""

from asoreconcile.azure.middleware.extension_points import CLASSIFY_ERROR
from asoreconcile.azure.middleware.extension_set import built_in
from asoreconcile.azure.middleware.factories import code, message_contains, reclassify

EXTENSIONS = built_in("cdn", "AfdCustomDomain")

EXTENSIONS.on(CLASSIFY_ERROR)(
    reclassify(
        code("BadRequest")
        & message_contains("This resource is still associated with a route")
    )
)
