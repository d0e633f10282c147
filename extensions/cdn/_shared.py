"""Code that the kinds of Azure Front Door share."""

from asoreconcile.azure.middleware.factories import code, message_contains, reclassify

# The origins do not exist yet: a Warning, retried soon.
ORIGINS_ARE_LATE = reclassify(
    code("BadRequest")
    & message_contains(
        "originGroup is created successfully",
        "at least one enabled origin is created",
    )
)
