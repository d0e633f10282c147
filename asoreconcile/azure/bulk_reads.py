"""Syncs that go by a list in place of a GET each. Blocking.

A list says one thing only: that a resource is as the last GET of it said. Whatever
it shows otherwise, or does not show, a GET is asked about; where that GET says that
nothing had changed, lists of the type are not believed any more. Rules: Q6-Q8.
"""

from asoreconcile.arm.collection_reads import ListedBody
from asoreconcile.azure.last_look import LastLook
from asoreconcile.azure.reconcile_scope import ReconcileScope
from asoreconcile.objects import JsonObject


def look_at_list(scope: ReconcileScope) -> None:
    """Before the body of a sync's PUT is made: `raw_get` answers by a list from here
    on where that says what the last GET did (`scope.listed_at` is its time then).

    Nothing may be put that was made so. Raises as `CollectionReads.entry`.
    """
    last = scope.memory.last_look
    if last is None or scope.context.has_read:
        return
    listed = _listed(scope, last)
    if listed is None:
        return
    if not last.agrees(listed.body):
        scope.listed_otherwise = last
        return
    scope.listed_at = listed.at
    scope.memory.last_look = last.confirmed(listed.at)
    scope.context.observed(listed.body)


def look_again(scope: ReconcileScope) -> bool:
    """Whether the sync went by a list; then a GET takes its place."""
    if scope.listed_at is None:
        return False
    scope.listed_at = None
    scope.context.read_anew()
    return True


def note_write(scope: ReconcileScope) -> None:
    """No list that was begun before now counts for the object's resource (Q8)."""
    if (reads := scope.operator.collection_reads) is not None:
        reads.wrote(scope.arm_id)


def looked(scope: ReconcileScope, have: JsonObject) -> None:
    """What a sync goes by. After a GET: it is kept, and says what lists are worth."""
    reads = scope.operator.collection_reads
    if reads is None or scope.listed_at is not None:
        return
    note_get(scope, have)
    before, scope.listed_otherwise = scope.listed_otherwise, None
    if before is not None and before.agrees(have):
        # Not the resource is another: the list shows it otherwise.
        reads.distrust(scope.arm_id, scope.version.api_version)


def note_get(scope: ReconcileScope, body: JsonObject) -> None:
    """Keep what a GET answered just now, for later syncs to compare lists with."""
    if scope.operator.collection_reads is not None:
        now = scope.operator.clock.monotonic()
        scope.memory.last_look = LastLook.by_get(body, now, scope.arm_id)


def _listed(scope: ReconcileScope, last: LastLook) -> ListedBody | None:
    reads, period = (
        scope.operator.collection_reads,
        scope.kind.requeue_backoff.sync_period_seconds,
    )
    if reads is None or period is None or not scope.arm_id:
        return None
    if not last.is_listable(scope.operator.clock.monotonic(), period):
        return None
    return reads.entry(
        scope.connection.client,
        scope.arm_id,
        scope.version.api_version,
        credential=scope.connection.source,
        seen_at=last.at,
    )
