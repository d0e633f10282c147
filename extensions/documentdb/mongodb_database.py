"""MongodbDatabase: retried while its account does not exist yet."""

from asoreconcile.azure.extensions.documentdb._shared import ACCOUNT_IS_LATE
from asoreconcile.azure.middleware.extension_points import CLASSIFY_ERROR
from asoreconcile.azure.middleware.extension_set import BUILT_IN_ORDER, ExtensionSet
from asoreconcile.base.objects import GroupKind

MONGODB_DATABASE = GroupKind("documentdb.azure.com", "MongodbDatabase")
EXTENSIONS = ExtensionSet("documentdb.MongodbDatabase", BUILT_IN_ORDER)

EXTENSIONS.on(CLASSIFY_ERROR, MONGODB_DATABASE)(ACCOUNT_IS_LATE)
