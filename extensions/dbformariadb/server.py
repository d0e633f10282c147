"""Server: exports its host name."""

from asoreconcile.middleware.extension_points import EXPORT_SECRETS
from asoreconcile.middleware.extension_set import BUILT_IN_ORDER, ExtensionSet
from asoreconcile.middleware.factories import export_status
from asoreconcile.objects import GroupKind

EXTENSIONS = ExtensionSet("dbformariadb.Server", BUILT_IN_ORDER)

EXTENSIONS.on(EXPORT_SECRETS, GroupKind("dbformariadb.azure.com", "Server"))(
    export_status({"fullyQualifiedDomainName": "status.fullyQualifiedDomainName"})
)
