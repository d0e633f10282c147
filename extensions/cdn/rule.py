"""Rule: retried while its origins do not exist yet."""

from asoreconcile.azure.extensions.cdn._shared import ORIGINS_ARE_LATE
from asoreconcile.azure.middleware.extension_points import CLASSIFY_ERROR
from asoreconcile.azure.middleware.extension_set import BUILT_IN_ORDER, ExtensionSet
from asoreconcile.base.objects import GroupKind

RULE = GroupKind("cdn.azure.com", "Rule")
EXTENSIONS = ExtensionSet("cdn.Rule", BUILT_IN_ORDER)

EXTENSIONS.on(CLASSIFY_ERROR, RULE)(ORIGINS_ARE_LATE)
