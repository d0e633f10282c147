"""Reads of many resources by one list in place of a GET for each. Blocking.

A new object's resource that a younger list lacks is not there. At a sync, a list can
only confirm that a resource is in order (`sync.look`). Rules: Q6-Q8.
"""

from datetime import datetime

from asoreconcile.azure.arm.collection_reads import CollectionReads, ListedBody
from asoreconcile.azure.reconcile.scope.reconcile_scope import ReconcileScope
from asoreconcile.azure.reconcile.state.sync_schedule import may_list
from asoreconcile.base.objects import metadata


def listed(scope: ReconcileScope) -> ListedBody | None:
    """Return the resource as a list shows it; None if the sync needs a GET. Raises as
    `CollectionReads.entry`.
    """
    operator, read_at = scope.operator, scope.memory.read_at
    reads, period = operator.collection_reads, scope.sync_period_seconds
    if reads is None or read_at is None or period is None or scope.asked:
        return None
    arm_id, connection, clock = scope.patcher.arm_id, scope.connection, operator.clock
    age, now = clock.monotonic() - read_at, clock.now().timestamp()
    if not may_list(arm_id, age, period_seconds=period, now=now):
        return None
    return reads.entry(
        connection.client,
        arm_id,
        scope.patcher.version.api_version,
        credential=connection.source,
        seen_at=read_at,
    )


def said_absent_by_list(scope: ReconcileScope, reads: CollectionReads) -> bool:
    """Return whether a list that is younger than the object lacks its resource; False
    if a GET is needed. Raises as `CollectionReads.says_absent`.
    """
    patcher = scope.patcher
    made = str(metadata(patcher.obj).get("creationTimestamp") or "")
    if scope.context.read is not None or not made:
        return False
    age = scope.operator.clock.now() - datetime.fromisoformat(made)
    return reads.says_absent(
        scope.connection.client,
        patcher.arm_id,
        patcher.version.api_version,
        credential=scope.connection.source,
        # The time stamp has whole seconds.
        since=scope.operator.clock.monotonic() - age.total_seconds() + 1.0,
    )
