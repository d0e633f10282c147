"""Reads of whole lists, in place of one GET for each resource.

Blocking: may read a list. A list can only confirm that a resource is in order, or is
not there. Rules: Q7, Q8.
"""

from datetime import datetime

from asoreconcile.azure.arm.collection_reads import CollectionReads, ListedBody
from asoreconcile.azure.middleware.extension_points import GET
from asoreconcile.azure.reconcile.scope.reconcile_scope import ReconcileScope
from asoreconcile.azure.reconcile.state.sync_schedule import may_list
from asoreconcile.base.objects import metadata


def listed_resource(scope: ReconcileScope) -> ListedBody | None:
    """Return the resource as a list shows it; None if the sync needs a GET. Raises as
    `CollectionReads.entry`.
    """
    operator, read_at = scope.operator, scope.memory.read_at
    reads, period = _lists(scope), scope.sync_period_seconds
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


def is_said_absent(scope: ReconcileScope) -> bool:
    """Return whether a list from after the object's creation does not contain its
    resource; False if a GET is needed. Raises as `CollectionReads.says_absent`.
    """
    patcher, reads = scope.patcher, _lists(scope)
    made = str(metadata(patcher.obj).get("creationTimestamp") or "")
    if reads is None or scope.context.read is not None or not made:
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


def _lists(scope: ReconcileScope) -> CollectionReads | None:
    """Return the reads of lists; None if extensions change what a GET returns."""
    operator = scope.operator
    is_changed = operator.extensions.has(GET, scope.patcher.version.group_kind)
    return None if is_changed else operator.collection_reads


def distrust_list(scope: ReconcileScope) -> None:
    """Stop using the list of a resource's type, because a GET has shown otherwise."""
    reads, patcher = scope.operator.collection_reads, scope.patcher
    if reads is not None:
        reads.distrust(patcher.arm_id, patcher.version.api_version)
