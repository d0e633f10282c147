"""ScheduledQueryRule: retried while its data or the access to it is missing."""

from asoreconcile.azure.middleware.extension_points import CLASSIFY_ERROR
from asoreconcile.azure.middleware.extension_set import BUILT_IN_ORDER, ExtensionSet
from asoreconcile.azure.middleware.factories import code, message_contains, reclassify
from asoreconcile.base.objects import GroupKind

SCHEDULED_QUERY_RULE = GroupKind("insights.azure.com", "ScheduledQueryRule")
EXTENSIONS = ExtensionSet("insights.ScheduledQueryRule", BUILT_IN_ORDER)

EXTENSIONS.on(CLASSIFY_ERROR, SCHEDULED_QUERY_RULE)(
    reclassify(
        code("BadRequest")
        & (message_contains("does not exist") | message_contains("insufficient access"))
    )
)
