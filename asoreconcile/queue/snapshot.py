"""A queue's numbers, computed on each scrape."""

from collections.abc import Hashable
from types import MappingProxyType
from typing import TypeVar

from asoreconcile.observability.metrics import QueueSnapshot
from asoreconcile.queue.priority_queue import MAX_LABELS
from asoreconcile.queue.queue_item import State
from asoreconcile.queue.queue_state import QueueState

Key = TypeVar("Key", bound=Hashable)

# controller-runtime's label value.
_OTHERS = "exceeded_cardinality_limit"


def snapshot_of(state: QueueState[Key], *, now: float, retries: int) -> QueueSnapshot:
    """Return the state of a queue for a scrape.

    now: `Clock.monotonic` seconds. The caller holds the queue's lock.

    A priority that ever had a ready key stays in the depth, with 0.
    """
    counts = dict.fromkeys(state.ready.priorities, 0)
    others = 0
    ages = []
    for entry in state.entries.values():
        if entry.state is State.READY:
            if entry.priority in counts:
                counts[entry.priority] += 1
            else:
                others += 1
        if entry.taken_at is not None:
            ages.append(max(0.0, now - entry.taken_at))
    depth = {str(priority): count for priority, count in counts.items()}
    if len(depth) == MAX_LABELS:
        depth[_OTHERS] = others
    return QueueSnapshot(
        depth=MappingProxyType(depth),
        adds=state.adds,
        retries=retries,
        unfinished_seconds=sum(ages),
        longest_seconds=max(ages, default=0.0),
    )
