"""SecurityPolicy: retried while its domains do not exist yet."""

from asoreconcile.azure.middleware.extension_points import CLASSIFY_ERROR
from asoreconcile.azure.middleware.extension_set import built_in
from asoreconcile.azure.middleware.factories import code, message_contains, reclassify

EXTENSIONS = built_in("cdn", "SecurityPolicy")

EXTENSIONS.on(CLASSIFY_ERROR)(
    reclassify(
        code("BadRequest")
        & message_contains(
            "is not associated with the AFDX profile",
            "is in a invalid provisioning state",
        )
    )
)
