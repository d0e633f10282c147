"""DataCollectionRule: retried while its workspace does not exist yet."""

from asoreconcile.azure.middleware.extension_points import CLASSIFY_ERROR
from asoreconcile.azure.middleware.extension_set import BUILT_IN_ORDER, ExtensionSet
from asoreconcile.azure.middleware.factories import code, reclassify
from asoreconcile.base.objects import GroupKind

DATA_COLLECTION_RULE = GroupKind("insights.azure.com", "DataCollectionRule")
EXTENSIONS = ExtensionSet("insights.DataCollectionRule", BUILT_IN_ORDER)

EXTENSIONS.on(CLASSIFY_ERROR, DATA_COLLECTION_RULE)(
    reclassify(code("WorkspaceNotFound"))
)
