"""Kusto clusters and their databases: no write while the cluster is in transition.

A database is reached through its running cluster alone: one that is stopped, or being
started or updated, gives no access to it. The cluster itself may be written then.
"""

from asoreconcile.middleware.extension_points import PRE_RECONCILE, PRE_RECONCILE_OWNER
from asoreconcile.middleware.extension_set import BUILT_IN_ORDER, ExtensionSet
from asoreconcile.middleware.factories import (
    block_unless_owner_state,
    block_unless_state,
)
from asoreconcile.objects import GroupKind

CLUSTER = GroupKind("kusto.azure.com", "Cluster")
DATABASE = GroupKind("kusto.azure.com", "Database")
EXTENSIONS = ExtensionSet("kusto.Cluster", BUILT_IN_ORDER)

EXTENSIONS.on(PRE_RECONCILE, CLUSTER)(
    block_unless_state(
        "status.provisioningState",
        message='Cluster is in provisioning state "{state}"',
    )
)
EXTENSIONS.on(PRE_RECONCILE_OWNER, DATABASE)(
    block_unless_owner_state(
        CLUSTER,
        "status.provisioningState",
        message='Owning cluster is in provisioning state "{state}"',
    )
)
EXTENSIONS.on(PRE_RECONCILE_OWNER, DATABASE)(
    block_unless_owner_state(
        CLUSTER,
        "status.state",
        {"running"},
        message='Owning cluster gives no access to its databases: it is "{state}"',
    )
)
