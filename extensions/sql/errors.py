"""What errors of Azure SQL mean beyond their code."""

from asoreconcile.middleware.extension_points import CLASSIFY_ERROR
from asoreconcile.middleware.extension_set import BUILT_IN_ORDER, ExtensionSet
from asoreconcile.middleware.factories import code, reclassify
from asoreconcile.objects import GroupKind

_GROUP = "sql.azure.com"
EXTENSIONS = ExtensionSet("sql.errors", BUILT_IN_ORDER)

# Only another password helps.
EXTENSIONS.on(CLASSIFY_ERROR, GroupKind(_GROUP, "Server"))(
    reclassify(code("PasswordNotComplex"), severity="Error")
)
EXTENSIONS.on(CLASSIFY_ERROR, GroupKind(_GROUP, "ServersVulnerabilityAssessment"))(
    reclassify(code("VulnerabilityAssessmentADSIsDisabled"))
)
