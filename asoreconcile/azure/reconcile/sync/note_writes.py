"""Writes the annotation `OBSERVED`: with other metadata, or after Ready.

See `deferred_note`. Blocking: writes to the cluster.
"""

import attrs

from asoreconcile.azure.reconcile.model.decisions import ReconcileOutcome, Requeue, Stop
from asoreconcile.azure.reconcile.model.drift_baseline import OBSERVED
from asoreconcile.azure.reconcile.scope.reconcile_scope import ReconcileScope
from asoreconcile.azure.reconcile.state.deferred_note import (
    NOTE_PRIORITY,
    DeferredNote,
    deferrable,
)
from asoreconcile.base import reconcile_context
from asoreconcile.base.objects import annotations
from asoreconcile.queue.workqueue import LOW_PRIORITY
from asoreconcile.runtime.reconciler import Result

# Long enough for dependents that waited for Ready to be claimed first.
_DEFERRED_SECONDS = 1.0


def write_or_defer(scope: ReconcileScope) -> None:
    """Write the collected metadata of a successful reconcile, or keep it in memory if
    the note is all of it, so that Ready does not wait for it. Raises GoneError,
    ApiError.
    """
    patcher = scope.patcher
    # A note of an earlier reconcile is among the collected metadata.
    scope.memory.deferred_note = None
    text = deferrable(patcher.stored, patcher.unwritten)
    if text is None:
        patcher.flush()
        return
    patcher.withhold()
    before = annotations(patcher.stored).get(OBSERVED) or ""
    scope.memory.deferred_note = DeferredNote(text, before, patcher.generation)


def after_ready(scope: ReconcileScope, result: Result) -> Result:
    """The requeue of a Ready object: soon if its note is deferred.
    result: the requeue without that.
    """
    note, after = scope.memory.deferred_note, result.requeue_after_seconds
    if note is None:
        return result
    due = None if after is None else scope.operator.clock.monotonic() + after
    scope.memory.deferred_note = attrs.evolve(note, due=due)
    wait = _DEFERRED_SECONDS + scope.operator.note_pace.delay(scope.patcher.key)
    return Result(requeue_after_seconds=wait, priority=NOTE_PRIORITY)


def write_deferred(scope: ReconcileScope) -> ReconcileOutcome | None:
    """Write a deferred note, if the reconcile is for that alone. None if there is more
    to do: its writes include the note. Raises GoneError, ApiError.
    """
    memory, note = scope.memory, scope.memory.deferred_note
    if note is None:
        return None
    if not note.is_awaited(scope.patcher.obj):
        memory.deferred_note = None
        return None
    scope.patcher.annotate({OBSERVED: note.text})
    if not note.is_all(scope.patcher.obj, priority=reconcile_context.priority()):
        return None
    scope.patcher.flush()
    memory.deferred_note = None
    if note.due is None:
        return Stop()
    left = max(note.due - scope.operator.clock.monotonic(), 0.0)
    return Requeue(left, priority=LOW_PRIORITY)
