"""Syncs that use one list in place of a GET for each resource. Blocking.

A list can only confirm that a resource is still as its last GET showed it. If the list
shows anything else, or does not show the resource, a GET is sent. If that GET finds no
change after all, lists of this type are no longer used. Rules: Q6-Q8.
"""

import attrs

from asoreconcile.azure.reconcile.scope.reconcile_scope import ReconcileScope
from asoreconcile.azure.reconcile.state.last_look import LastLook
from asoreconcile.base.objects import JsonObject


@attrs.frozen
class ListLook:
    """The result of looking at lists before a sync reads.

    is_used: `raw_get` answers from a list; a body built from it must not be PUT.
    differing: the last GET's answer, if a list differs from it.
    """

    is_used: bool = False
    differing: LastLook | None = None


NO_LIST = ListLook()


def look_at_list(scope: ReconcileScope) -> ListLook:
    """Call before the body of a sync's PUT is built. If a list equals the last GET,
    `raw_get` answers from the list from here on. Raises as `CollectionReads.entry`.
    """
    last, reads = scope.memory.last_look, scope.operator.collection_reads
    period = scope.sync_period_seconds
    if scope.context.has_read or scope.asked:
        return NO_LIST
    if last is None or reads is None or period is None:
        return NO_LIST
    arm_id, now = scope.patcher.arm_id, scope.operator.clock.monotonic()
    if not arm_id or not last.is_listable(now, period):
        return NO_LIST
    listed = reads.entry(
        scope.connection.client,
        arm_id,
        scope.patcher.version.api_version,
        credential=scope.connection.source,
        seen_at=last.at,
    )
    if listed is None:
        return NO_LIST
    if not last.agrees(listed.body):
        return ListLook(differing=last)
    scope.memory.last_look = last.confirmed(listed.at)
    scope.context.observed(listed.body)
    return ListLook(is_used=True)


def note_write(scope: ReconcileScope) -> None:
    """Lists and reads of owners that began before now are not used for the object's
    resource (Q8).
    """
    scope.operator.owner_reads.wrote(scope.patcher.arm_id)
    if (reads := scope.operator.collection_reads) is not None:
        reads.wrote(scope.patcher.arm_id)


def looked(scope: ReconcileScope, look: ListLook, have: JsonObject) -> None:
    """Record what a sync has read. After a GET: keep the answer, and learn whether
    lists of the type are reliable.
    """
    reads = scope.operator.collection_reads
    if reads is None or look.is_used:
        return
    note_get(scope, have)
    if look.differing is not None and look.differing.agrees(have):
        # The resource is unchanged, but the list shows it differently.
        reads.distrust(scope.patcher.arm_id, scope.patcher.version.api_version)


def note_get(scope: ReconcileScope, body: JsonObject) -> None:
    """Keep the answer of a GET, so that later syncs can compare lists with it."""
    if scope.operator.collection_reads is not None:
        now = scope.operator.clock.monotonic()
        scope.memory.last_look = LastLook.by_get(body, now, scope.patcher.arm_id)
