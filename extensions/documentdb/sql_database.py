"""SqlDatabase: retried while its account does not exist yet."""

from asoreconcile.azure.extensions.documentdb._shared import ACCOUNT_IS_LATE
from asoreconcile.azure.middleware.extension_points import CLASSIFY_ERROR
from asoreconcile.azure.middleware.extension_set import BUILT_IN_ORDER, ExtensionSet
from asoreconcile.base.objects import GroupKind

SQL_DATABASE = GroupKind("documentdb.azure.com", "SqlDatabase")
EXTENSIONS = ExtensionSet("documentdb.SqlDatabase", BUILT_IN_ORDER)

EXTENSIONS.on(CLASSIFY_ERROR, SQL_DATABASE)(ACCOUNT_IS_LATE)
