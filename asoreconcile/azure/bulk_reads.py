"""Syncs that go by a list in place of a GET each. Blocking.

A list says one thing only: that a resource is as the last GET of it said. Whatever
it shows otherwise, or does not show, a GET is asked about; where that GET says that
nothing had changed, lists of the type are not believed any more. Resource Graph, where
it is to be asked first, says no more than that either: a row that is as it was when a
GET showed the same stands for what that GET answered. Rules: Q6-Q9.
"""

from math import inf

import attrs

from asoreconcile.arm.collection_reads import CollectionReads, ListedBody
from asoreconcile.azure.drift import is_moving
from asoreconcile.azure.last_look import LastLook
from asoreconcile.azure.reconcile_scope import ReconcileScope
from asoreconcile.azure.row_reading import RowReading
from asoreconcile.objects import JsonObject

# A row says less of how late it is than a list: a GET comes twice as soon.
_WEIGHT_OF_A_ROW = 2


def look_at_list(scope: ReconcileScope) -> None:
    """Before the body of a sync's PUT is made: `raw_get` answers by a list from here
    on where that says what the last GET did (`scope.listed_at` is its time then).

    Nothing may be put that was made so. Raises as `CollectionReads.entry`.
    """
    last = scope.memory.last_look
    if scope.context.has_read or _look_at_row(scope, last) or last is None:
        return
    listed = _entry(scope, scope.operator.collection_reads, last)
    if listed is None:
        return
    if not last.agrees(listed.body):
        scope.listed_otherwise = last
        return
    _take(scope, last, listed.body, listed.at)


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
    if (rows := scope.operator.graph_reads) is not None:
        rows.reads.wrote(scope.arm_id)


def looked(scope: ReconcileScope, have: JsonObject) -> None:
    """What a sync goes by. After a GET: it is kept, and says what lists are worth."""
    reads = scope.operator.collection_reads
    if reads is None or scope.listed_at is not None:
        return
    before, scope.listed_otherwise = scope.listed_otherwise, None
    last = scope.memory.last_look
    note_get(scope, have)
    _learn_row(scope, last, have)
    if before is not None and before.agrees(have):
        # Not the resource is another: the list shows it otherwise.
        reads.distrust(scope.arm_id, scope.version.api_version)


def note_get(scope: ReconcileScope, body: JsonObject) -> None:
    """Keep what a GET answered just now, for later syncs to compare lists with."""
    if scope.operator.collection_reads is not None:
        now = scope.operator.clock.monotonic()
        scope.memory.last_look = LastLook.by_get(body, now, scope.arm_id)


def _look_at_row(scope: ReconcileScope, last: LastLook | None) -> bool:
    """Whether Resource Graph shows the resource. Where that is what it showed beside
    the last GET the sync goes by it; else by a GET, which says what the row is worth.
    """
    rows = scope.operator.graph_reads
    row = None if rows is None else _entry(scope, rows.reads, last)
    if row is None:
        return False
    known = None if last is None else last.row
    body = None if known is None else known.body_of(row.body)
    if last is None or body is None or not last.agrees(body):
        scope.undecided_row = row.body
    else:
        _take(scope, last, body, row.at, weight=_WEIGHT_OF_A_ROW)
        _note_row(scope, was_of_use=True)
    return True


def _learn_row(
    scope: ReconcileScope, before: LastLook | None, have: JsonObject
) -> None:
    """What a GET says of the row that was no answer: what it shows, or that it does
    not show all. before: the look before this one.
    """
    row, scope.undecided_row = scope.undecided_row, None
    last = scope.memory.last_look
    if row is None or last is None or is_moving(have):
        return
    reading = RowReading.learnt(row, have)
    # Another row of a resource that is as it was: such rows spare nothing.
    is_restless = before is not None and before.row is not None and before.agrees(have)
    _note_row(scope, was_of_use=reading is not None and not is_restless)
    if reading is not None:
        scope.memory.last_look = attrs.evolve(last, row=reading)


def _note_row(scope: ReconcileScope, *, was_of_use: bool) -> None:
    if (rows := scope.operator.graph_reads) is not None:
        rows.note(scope.arm_id, scope.version.api_version, was_of_use=was_of_use)


def _take(
    scope: ReconcileScope,
    last: LastLook,
    body: JsonObject,
    at: float,
    *,
    weight: int = 1,
) -> None:
    """Go by a body that says what the last GET did. at: when it was so."""
    scope.listed_at = at
    scope.memory.last_look = last.confirmed(at, weight=weight)
    scope.context.observed(body)


def _entry(
    scope: ReconcileScope, reads: CollectionReads | None, last: LastLook | None
) -> ListedBody | None:
    period = scope.kind.requeue_backoff.sync_period_seconds
    if reads is None or period is None or not scope.arm_id:
        return None
    seen_at = -inf if last is None else last.at
    now = scope.operator.clock.monotonic()
    if last is not None and not last.is_listable(now, period):
        return None
    return reads.entry(
        scope.connection.client,
        scope.arm_id,
        scope.version.api_version,
        credential=scope.connection.source,
        seen_at=seen_at,
    )
