"""What errors of Azure Front Door and CDN mean beyond their code.

Most are dependencies that come late: a Warning, tried again soon.
"""

from asoreconcile.middleware.extension_points import CLASSIFY_ERROR
from asoreconcile.middleware.extension_set import BUILT_IN_ORDER, ExtensionSet
from asoreconcile.middleware.factories import code, message_contains, reclassify
from asoreconcile.objects import GroupKind

_GROUP = "cdn.azure.com"
EXTENSIONS = ExtensionSet("cdn.errors", BUILT_IN_ORDER)

EXTENSIONS.on(CLASSIFY_ERROR, GroupKind(_GROUP, "AfdCustomDomain"))(
    reclassify(
        code("BadRequest")
        & message_contains("This resource is still associated with a route")
    )
)
EXTENSIONS.on(CLASSIFY_ERROR, GroupKind(_GROUP, "Route"), GroupKind(_GROUP, "Rule"))(
    reclassify(
        code("BadRequest")
        & message_contains(
            "originGroup is created successfully",
            "at least one enabled origin is created",
        )
    )
)
EXTENSIONS.on(CLASSIFY_ERROR, GroupKind(_GROUP, "SecurityPolicy"))(
    reclassify(
        code("BadRequest")
        & message_contains(
            "is not associated with the AFDX profile",
            "is in a invalid provisioning state",
        )
    )
)
