"""Database: waits until its cluster runs, and is not in transition.

A database can be accessed only through its running cluster, not while the cluster is
stopped, starting or updating.
"""

from asoreconcile.azure.extensions.kusto.cluster import CLUSTER
from asoreconcile.azure.middleware.extension_points import PRE_RECONCILE_OWNER
from asoreconcile.azure.middleware.extension_set import built_in
from asoreconcile.azure.middleware.factories import block_unless_owner_state

EXTENSIONS = built_in("kusto", "Database")

EXTENSIONS.on(PRE_RECONCILE_OWNER)(
    block_unless_owner_state(
        CLUSTER,
        "status.provisioningState",
        message='Owning cluster is in provisioning state "{state}"',
    )
)
EXTENSIONS.on(PRE_RECONCILE_OWNER)(
    block_unless_owner_state(
        CLUSTER,
        "status.state",
        {"running"},
        message='Owning cluster gives no access to its databases: it is "{state}"',
    )
)
