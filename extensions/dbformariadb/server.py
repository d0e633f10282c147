"""Server: exports its host name."""

from asoreconcile.azure.middleware.extension_points import EXPORT_SECRETS
from asoreconcile.azure.middleware.extension_set import built_in
from asoreconcile.azure.middleware.factories import export_status

EXTENSIONS = built_in("dbformariadb", "Server")

EXTENSIONS.on(EXPORT_SECRETS)(
    export_status({"fullyQualifiedDomainName": "status.fullyQualifiedDomainName"})
)
