"""What Azure has, noted after Ready was shown and not before it. Pure.

The note spares syncs and the next process a read. Nobody waits for it, and many wait
for Ready, so it is written by a look of its own, of the lowest priority. A crash in
between costs the read.
"""

from collections.abc import Mapping

import attrs

from asoreconcile.azure.conditions import find_ready
from asoreconcile.azure.drift_baseline import OBSERVED
from asoreconcile.objects import (
    JsonObject,
    annotations,
    generation,
    is_deleting,
    status,
)
from asoreconcile.queue.workqueue import LOW_PRIORITY

# Below all that asks for a look, resyncs too: a look of this priority is for the note
# alone, as the queue keeps the highest of those that a key was queued with (PQ-7).
NOTE_PRIORITY = LOW_PRIORITY - 1
# Of all kinds: as fast as Azure takes the writes of a principal for long, so that notes
# keep up with what is made, and hardly disturb what somebody waits for.
NOTES_PER_SECOND = 10.0


@attrs.frozen
class DeferredNote:
    """text: of the annotation `OBSERVED`; replaces: the one that the cluster has.
    generation: of the spec that is Ready. due: when the object is looked at next
    (`Clock.monotonic` seconds); None is only on an event.
    """

    text: str
    replaces: str
    generation: int
    due: float | None = None

    def is_awaited(self, obj: JsonObject) -> bool:
        """Whether it is still to be written: nobody wrote another one since, and the
        object is not about to go.
        """
        before = annotations(obj).get(OBSERVED) or ""
        return before == self.replaces and not is_deleting(obj)

    def is_all(self, obj: JsonObject, *, priority: int) -> bool:
        """Whether a look at the object is for the note alone. priority: of the look."""
        return priority <= NOTE_PRIORITY and generation(obj) == self.generation


def deferrable(
    stored: JsonObject, unwritten: Mapping[str, Mapping[str, str | None]]
) -> str | None:
    """The note's text, if it is all the news there is beside Ready; None where metadata
    goes first.

    stored: the object as the cluster has it. unwritten: annotations and labels to
    write.
    """
    ready = find_ready(status(stored).get("conditions")) or {}
    if ready.get("status") == "True":
        return None
    notes = unwritten.get("annotations", {})
    news = {n: text for n, text in notes.items() if text != annotations(stored).get(n)}
    if unwritten.keys() != {"annotations"} or news.keys() != {OBSERVED}:
        return None
    return news[OBSERVED]
