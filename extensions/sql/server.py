"""Server: a password that is too simple is not retried."""

from asoreconcile.azure.middleware.extension_points import CLASSIFY_ERROR
from asoreconcile.azure.middleware.extension_set import BUILT_IN_ORDER, ExtensionSet
from asoreconcile.azure.middleware.factories import code, reclassify
from asoreconcile.base.objects import GroupKind

SERVER = GroupKind("sql.azure.com", "Server")
EXTENSIONS = ExtensionSet("sql.Server", BUILT_IN_ORDER)

# Only another password helps.
EXTENSIONS.on(CLASSIFY_ERROR, SERVER)(
    reclassify(code("PasswordNotComplex"), severity="Error")
)
