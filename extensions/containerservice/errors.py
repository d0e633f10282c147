"""What errors of Azure Kubernetes Service mean beyond their code.

Most are dependencies that come late: a Warning, tried again soon.
"""

from asoreconcile.middleware.extension_points import CLASSIFY_ERROR
from asoreconcile.middleware.extension_set import BUILT_IN_ORDER, ExtensionSet
from asoreconcile.middleware.factories import code, reclassify
from asoreconcile.objects import GroupKind

_GROUP = "containerservice.azure.com"
EXTENSIONS = ExtensionSet("containerservice.errors", BUILT_IN_ORDER)

EXTENSIONS.on(CLASSIFY_ERROR, GroupKind(_GROUP, "FleetsMember"))(
    reclassify(code("DependentResourceNotFound"))
)
EXTENSIONS.on(CLASSIFY_ERROR, GroupKind(_GROUP, "ManagedCluster"))(
    reclassify(code("CustomKubeletIdentityMissingPermissionError"))
)
EXTENSIONS.on(CLASSIFY_ERROR, GroupKind(_GROUP, "ManagedClustersAgentPool"))(
    reclassify(code("NodePoolMcVersionIncompatible"))
)
