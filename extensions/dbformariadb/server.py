"""Server: exports its host name."""

from asoreconcile.azure.middleware.extension_points import EXPORT_SECRETS
from asoreconcile.azure.middleware.extension_set import BUILT_IN_ORDER, ExtensionSet
from asoreconcile.azure.middleware.factories import export_status
from asoreconcile.base.objects import GroupKind

EXTENSIONS = ExtensionSet("dbformariadb.Server", BUILT_IN_ORDER)

EXTENSIONS.on(EXPORT_SECRETS, GroupKind("dbformariadb.azure.com", "Server"))(
    export_status({"fullyQualifiedDomainName": "status.fullyQualifiedDomainName"})
)
