"""FlexibleServer: no write while it is not ready; exports its host name."""

from asoreconcile.azure.extensions.dbforpostgresql._shared import SERVER, WRITABLE
from asoreconcile.azure.middleware.extension_points import EXPORT_SECRETS, PRE_RECONCILE
from asoreconcile.azure.middleware.extension_set import BUILT_IN_ORDER, ExtensionSet
from asoreconcile.azure.middleware.factories import block_unless_state, export_status

EXTENSIONS = ExtensionSet("dbforpostgresql.FlexibleServer", BUILT_IN_ORDER)

EXTENSIONS.on(PRE_RECONCILE, SERVER)(
    block_unless_state(
        "status.state", WRITABLE, message='Flexible server is in state "{state}"'
    )
)
EXTENSIONS.on(EXPORT_SECRETS, SERVER)(
    export_status({"fullyQualifiedDomainName": "status.fullyQualifiedDomainName"})
)
