"""SecurityPolicy: retried while its domains do not exist yet."""

from asoreconcile.azure.middleware.extension_points import CLASSIFY_ERROR
from asoreconcile.azure.middleware.extension_set import BUILT_IN_ORDER, ExtensionSet
from asoreconcile.azure.middleware.factories import code, message_contains, reclassify
from asoreconcile.base.objects import GroupKind

SECURITY_POLICY = GroupKind("cdn.azure.com", "SecurityPolicy")
EXTENSIONS = ExtensionSet("cdn.SecurityPolicy", BUILT_IN_ORDER)

EXTENSIONS.on(CLASSIFY_ERROR, SECURITY_POLICY)(
    reclassify(
        code("BadRequest")
        & message_contains(
            "is not associated with the AFDX profile",
            "is in a invalid provisioning state",
        )
    )
)
