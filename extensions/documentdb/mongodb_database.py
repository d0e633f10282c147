"""MongodbDatabase: retried while its account does not exist yet."""

from asoreconcile.azure.extensions.documentdb._shared import ACCOUNT_IS_LATE
from asoreconcile.azure.middleware.extension_points import CLASSIFY_ERROR
from asoreconcile.azure.middleware.extension_set import built_in

EXTENSIONS = built_in("documentdb", "MongodbDatabase")

EXTENSIONS.on(CLASSIFY_ERROR)(ACCOUNT_IS_LATE)
