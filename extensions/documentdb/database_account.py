"""DatabaseAccount: account keys and endpoint; no write while it is being deleted."""

from asoreconcile.azure.middleware.extension_points import (
    CLASSIFY_ERROR,
    EXPORT_SECRETS,
    PRE_RECONCILE,
)
from asoreconcile.azure.middleware.extension_set import built_in
from asoreconcile.azure.middleware.factories import (
    block_if_state,
    code,
    export_keys,
    export_status,
    message_contains,
    reclassify,
)

EXTENSIONS = built_in("documentdb", "DatabaseAccount")

EXTENSIONS.on(PRE_RECONCILE)(
    block_if_state(
        "status.provisioningState",
        {"deleting"},
        message='Database account is in provisioning state "{state}": '
        "it is created anew once it is gone",
    )
)
EXTENSIONS.on(EXPORT_SECRETS)(
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
EXTENSIONS.on(EXPORT_SECRETS)(
    export_status({"documentEndpoint": "status.documentEndpoint"})
)
# The region has no capacity: a person has to choose another.
EXTENSIONS.on(CLASSIFY_ERROR)(
    reclassify(
        code("ServiceUnavailable")
        & message_contains("currently experiencing high demand"),
        severity="Error",
    )
)
