"""DatabaseAccount: account keys and endpoint; no write while it is being deleted."""

from asoreconcile.middleware.extension_points import EXPORT_SECRETS, PRE_RECONCILE
from asoreconcile.middleware.extension_set import BUILT_IN_ORDER, ExtensionSet
from asoreconcile.middleware.factories import (
    block_if_state,
    export_keys,
    export_status,
)
from asoreconcile.objects import GroupKind

DATABASE_ACCOUNT = GroupKind("documentdb.azure.com", "DatabaseAccount")
EXTENSIONS = ExtensionSet("documentdb.DatabaseAccount", BUILT_IN_ORDER)

EXTENSIONS.on(PRE_RECONCILE, DATABASE_ACCOUNT)(
    block_if_state(
        "status.provisioningState",
        {"deleting"},
        message='Database account is in provisioning state "{state}": '
        "it is created anew once it is gone",
    )
)
EXTENSIONS.on(EXPORT_SECRETS, DATABASE_ACCOUNT)(
    export_keys(
        "listKeys",
        "2021-10-15",
        {
            name: name
            for name in (
                "primaryMasterKey",
                "secondaryMasterKey",
                "primaryReadonlyMasterKey",
                "secondaryReadonlyMasterKey",
            )
        },
    )
)
EXTENSIONS.on(EXPORT_SECRETS, DATABASE_ACCOUNT)(
    export_status({"documentEndpoint": "status.documentEndpoint"})
)
