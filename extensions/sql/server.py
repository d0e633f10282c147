"""Server: a password that is too simple is not retried."""

from asoreconcile.azure.middleware.extension_points import CLASSIFY_ERROR
from asoreconcile.azure.middleware.extension_set import built_in
from asoreconcile.azure.middleware.factories import code, reclassify

EXTENSIONS = built_in("sql", "Server")

# Only another password helps.
EXTENSIONS.on(CLASSIFY_ERROR)(reclassify(code("PasswordNotComplex"), severity="Error"))
