"""What errors of Azure Monitor mean beyond their code.

Most are dependencies that come late: a Warning, tried again soon.
"""

from asoreconcile.middleware.extension_points import CLASSIFY_ERROR
from asoreconcile.middleware.extension_set import BUILT_IN_ORDER, ExtensionSet
from asoreconcile.middleware.factories import code, message_contains, reclassify
from asoreconcile.objects import GroupKind

_GROUP = "insights.azure.com"
EXTENSIONS = ExtensionSet("insights.errors", BUILT_IN_ORDER)

EXTENSIONS.on(CLASSIFY_ERROR, GroupKind(_GROUP, "DataCollectionRule"))(
    reclassify(code("WorkspaceNotFound"))
)
EXTENSIONS.on(CLASSIFY_ERROR, GroupKind(_GROUP, "ScheduledQueryRule"))(
    reclassify(
        code("BadRequest")
        & (message_contains("does not exist") | message_contains("insufficient access"))
    )
)
