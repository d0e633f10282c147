"""Syncs that use one list in place of a GET for each resource. Blocking.

A list can only confirm that a resource is still as its last GET showed it. If the list
shows anything else, or does not show the resource, a GET is sent. If that GET finds no
change after all, lists of this type are no longer used. Resource Graph, if it is to be
asked first, is trusted no further: a row that has not changed since a GET confirms what
that GET answered. Rules: Q6-Q9.
"""

from math import inf

import attrs

from asoreconcile.azure.arm.collection_reads import CollectionReads, ListedBody
from asoreconcile.azure.reconcile.scope.reconcile_scope import ReconcileScope
from asoreconcile.azure.reconcile.state.last_look import LastLook
from asoreconcile.azure.reconcile.state.row_reading import RowReading
from asoreconcile.azure.reconcile.sync.drift import is_moving
from asoreconcile.base.objects import JsonObject

# A row may be older than a list by an unknown time: a GET follows twice as soon.
_WEIGHT_OF_A_ROW = 2


@attrs.frozen
class ListLook:
    """The result of looking at lists before a sync reads.

    is_used: `raw_get` answers from a list; a body built from it must not be PUT.
    differing: the last GET's answer, if a list differs from it. row: the row of
    Resource Graph, if it cannot replace a GET.
    """

    is_used: bool = False
    differing: LastLook | None = None
    row: JsonObject | None = None


NO_LIST = ListLook()


def look_at_list(scope: ReconcileScope) -> ListLook:
    """Call before the body of a sync's PUT is built. If a list equals the last GET,
    `raw_get` answers from the list from here on. Raises as `CollectionReads.entry`.
    """
    last = scope.memory.last_look
    if scope.context.has_read:
        return NO_LIST
    shown = _look_at_row(scope, last)
    if shown is not None or last is None:
        return shown or NO_LIST
    listed = _entry(scope, scope.operator.collection_reads, last)
    if listed is None:
        return NO_LIST
    if not last.agrees(listed.body):
        return ListLook(differing=last)
    return _take(scope, last, listed.body, listed.at)


def note_write(scope: ReconcileScope) -> None:
    """Lists that were started before now are not used for the object's resource
    (Q8).
    """
    if (reads := scope.operator.collection_reads) is not None:
        reads.wrote(scope.patcher.arm_id)
    if (rows := scope.operator.graph_reads) is not None:
        rows.reads.wrote(scope.patcher.arm_id)


def looked(scope: ReconcileScope, look: ListLook, have: JsonObject) -> None:
    """Record what a sync has read. After a GET: keep the answer, and learn whether
    lists of the type are reliable.
    """
    reads = scope.operator.collection_reads
    if reads is None or look.is_used:
        return
    last = scope.memory.last_look
    note_get(scope, have)
    _learn_row(scope, look.row, last, have)
    if look.differing is not None and look.differing.agrees(have):
        # The resource is unchanged, but the list shows it differently.
        reads.distrust(scope.patcher.arm_id, scope.patcher.version.api_version)


def note_get(scope: ReconcileScope, body: JsonObject) -> None:
    """Keep the answer of a GET, so that later syncs can compare lists with it."""
    if scope.operator.collection_reads is not None:
        now = scope.operator.clock.monotonic()
        scope.memory.last_look = LastLook.by_get(body, now, scope.patcher.arm_id)


def _look_at_row(scope: ReconcileScope, last: LastLook | None) -> ListLook | None:
    """The look if Resource Graph shows the resource, else None. If its row equals the
    row seen together with the last GET, the sync uses it; else a GET follows, which
    shows whether rows are reliable.
    """
    rows = scope.operator.graph_reads
    row = None if rows is None else _entry(scope, rows.reads, last)
    if row is None:
        return None
    known = None if last is None else last.row
    body = None if known is None else known.body_of(row.body)
    if last is None or body is None or not last.agrees(body):
        return ListLook(row=row.body)
    _note_row(scope, was_of_use=True)
    return _take(scope, last, body, row.at, weight=_WEIGHT_OF_A_ROW)


def _learn_row(
    scope: ReconcileScope,
    row: JsonObject | None,
    before: LastLook | None,
    have: JsonObject,
) -> None:
    """Learn from a GET how to read the row that could not replace it, or that the row
    does not show everything. before: the last look before this one.
    """
    last = scope.memory.last_look
    if row is None or last is None or is_moving(have):
        return
    reading = RowReading.learnt(row, have)
    # The row changed although the resource did not: such rows save no GET.
    is_restless = before is not None and before.row is not None and before.agrees(have)
    _note_row(scope, was_of_use=reading is not None and not is_restless)
    if reading is not None:
        scope.memory.last_look = attrs.evolve(last, row=reading)


def _note_row(scope: ReconcileScope, *, was_of_use: bool) -> None:
    if (rows := scope.operator.graph_reads) is not None:
        rows.note(
            scope.patcher.arm_id,
            scope.patcher.version.api_version,
            was_of_use=was_of_use,
        )


def _take(
    scope: ReconcileScope,
    last: LastLook,
    body: JsonObject,
    at: float,
    *,
    weight: int = 1,
) -> ListLook:
    """Use a body that equals the last GET's. at: the time of its state."""
    scope.memory.last_look = last.confirmed(at, weight=weight)
    scope.context.observed(body)
    return ListLook(is_used=True)


def _entry(
    scope: ReconcileScope, reads: CollectionReads | None, last: LastLook | None
) -> ListedBody | None:
    period = scope.kind.requeue_backoff.sync_period_seconds
    if reads is None or period is None or not scope.patcher.arm_id:
        return None
    seen_at = -inf if last is None else last.at
    now = scope.operator.clock.monotonic()
    if last is not None and not last.is_listable(now, period):
        return None
    return reads.entry(
        scope.connection.client,
        scope.patcher.arm_id,
        scope.patcher.version.api_version,
        credential=scope.connection.source,
        seen_at=seen_at,
    )
