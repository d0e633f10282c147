"""ScheduledQueryRule: retried while its data or the access to it is missing."""

from asoreconcile.azure.middleware.extension_points import CLASSIFY_ERROR
from asoreconcile.azure.middleware.extension_set import built_in
from asoreconcile.azure.middleware.factories import code, message_contains, reclassify

EXTENSIONS = built_in("insights", "ScheduledQueryRule")

EXTENSIONS.on(CLASSIFY_ERROR)(
    reclassify(
        code("BadRequest")
        & (message_contains("does not exist") | message_contains("insufficient access"))
    )
)
