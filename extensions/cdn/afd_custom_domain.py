"""AfdCustomDomain: its deletion is retried while a route uses it."""

from asoreconcile.azure.middleware.extension_points import CLASSIFY_ERROR
from asoreconcile.azure.middleware.extension_set import BUILT_IN_ORDER, ExtensionSet
from asoreconcile.azure.middleware.factories import code, message_contains, reclassify
from asoreconcile.base.objects import GroupKind

AFD_CUSTOM_DOMAIN = GroupKind("cdn.azure.com", "AfdCustomDomain")
EXTENSIONS = ExtensionSet("cdn.AfdCustomDomain", BUILT_IN_ORDER)

EXTENSIONS.on(CLASSIFY_ERROR, AFD_CUSTOM_DOMAIN)(
    reclassify(
        code("BadRequest")
        & message_contains("This resource is still associated with a route")
    )
)
