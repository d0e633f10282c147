"""Record what Azure has, after Ready is shown. Pure.

The record saves a read at later syncs and in the next process. Nobody waits for it, but
many wait for Ready. So a separate reconcile of the lowest priority writes it. A crash
before that costs one read.
"""

from collections.abc import Mapping

import attrs

from asoreconcile.azure.reconcile.model.conditions import find_ready
from asoreconcile.azure.reconcile.model.drift_baseline import OBSERVED
from asoreconcile.base.objects import (
    JsonObject,
    annotations,
    generation,
    is_deleting,
    status,
)
from asoreconcile.queue.workqueue import LOW_PRIORITY

# Lower than every other priority, resyncs included. The queue keeps the highest
# priority of a key (PQ-7), so a reconcile of this priority is for the note alone.
NOTE_PRIORITY = LOW_PRIORITY - 1
# For all kinds together: the rate of writes that Azure sustains for a principal, so
# that notes keep up with new resources and hardly delay other reconciles.
NOTES_PER_SECOND = 10.0


@attrs.frozen
class DeferredNote:
    """text: of the annotation `OBSERVED`; replaces: the text in the cluster.
    generation: of the spec that is Ready. due: the object's next reconcile
    (`Clock.monotonic` seconds); None: only on an event.
    """

    text: str
    replaces: str
    generation: int
    due: float | None = None

    def is_awaited(self, obj: JsonObject) -> bool:
        """Return whether the note must still be written: no other one was written
        since, and the object is not being deleted.
        """
        before = annotations(obj).get(OBSERVED) or ""
        return before == self.replaces and not is_deleting(obj)

    def is_all(self, obj: JsonObject, *, priority: int) -> bool:
        """Return whether a reconcile is for the note alone. priority: of
        the reconcile.
        """
        return priority <= NOTE_PRIORITY and generation(obj) == self.generation


def deferrable(
    stored: JsonObject, unwritten: Mapping[str, Mapping[str, str | None]]
) -> str | None:
    """The note's text, if it is the only change of metadata; None if there are others,
    which must be written before Ready.

    stored: the object in the cluster. unwritten: annotations and labels to write.
    """
    ready = find_ready(status(stored).get("conditions")) or {}
    if ready.get("status") == "True":
        return None
    notes = unwritten.get("annotations", {})
    news = {n: text for n, text in notes.items() if text != annotations(stored).get(n)}
    if unwritten.keys() != {"annotations"} or news.keys() != {OBSERVED}:
        return None
    return news[OBSERVED]
