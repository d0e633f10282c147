"""Reads of many resources by one list in place of a GET for each. Blocking.

A new object's resource that a younger list lacks is not there. At a sync, a list can
only confirm that a resource is in order, as its last GET showed it. If the list shows
anything else, or does not show the resource, a GET is sent. If that GET finds no change
after all, lists of this type are no longer used. Rules: Q6-Q8.
"""

from datetime import datetime

import attrs

from asoreconcile.azure.arm.collection_reads import CollectionReads
from asoreconcile.azure.reconcile.scope.reconcile_scope import ReconcileScope
from asoreconcile.azure.reconcile.state.memory import LastLook
from asoreconcile.base.objects import JsonObject, metadata


def listed_in_order(scope: ReconcileScope) -> JsonObject | None:
    """Return the resource as a list shows it if that equals the last GET, which found
    it in order; `raw_get` answers from the list from here on. None: a GET is needed.

    Raises as `CollectionReads.entry`.
    """
    memory, reads = scope.memory, scope.operator.collection_reads
    last, period = memory.last_look, scope.sync_period_seconds
    if scope.context.read is not None or scope.asked:
        return None
    if last is None or reads is None or period is None:
        return None
    arm_id, now = scope.patcher.arm_id, scope.operator.clock.monotonic()
    if not arm_id or not last.is_listable(now, period):
        return None
    listed = reads.entry(
        scope.connection.client,
        arm_id,
        scope.patcher.version.api_version,
        credential=scope.connection.source,
        seen_at=last.at,
    )
    if listed is None:
        return None
    if not last.agrees(listed.body):
        memory.last_look = attrs.evolve(last, is_doubted=True)
        return None
    memory.last_look = last.confirmed(listed.at)
    scope.context.observed(listed.body)
    return listed.body


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


def note_write(scope: ReconcileScope) -> None:
    """Lists and reads of owners that began before now are not used for the object's
    resource (Q8).
    """
    scope.operator.owner_reads.wrote(scope.patcher.arm_id)
    if (reads := scope.operator.collection_reads) is not None:
        reads.wrote(scope.patcher.arm_id)


def note_get(
    scope: ReconcileScope, body: JsonObject, *, is_in_order: bool = True
) -> None:
    """Keep the answer of a GET, so that later syncs can compare lists with it, and
    learn whether lists of the type are reliable.

    is_in_order: False if the next sync must use a GET.
    """
    reads, last = scope.operator.collection_reads, scope.memory.last_look
    if reads is None:
        return
    arm_id = scope.patcher.arm_id
    if last is not None and last.is_doubted and last.agrees(body):
        # The resource is unchanged, but the list shows it differently.
        reads.distrust(arm_id, scope.patcher.version.api_version)
    now = scope.operator.clock.monotonic()
    scope.memory.last_look = LastLook.by_get(body, now, arm_id) if is_in_order else None
