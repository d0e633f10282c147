"""The delayed entries, earliest first.

A plain structure: the queue holds its lock around every call.
"""

import heapq
from typing import Generic

from asoreconcile.queue.queue_item import Key, QueueItem, State

# Sweeping visits the whole heap: not worth it for a few stale slots.
_SLACK = 64
_WAITING = State.WAITING


class Delayed(Generic[Key]):
    """A heap by time. Stale slots of removed entries are skipped, and swept when they
    outnumber the live ones (TH-1).
    """

    def __init__(self) -> None:
        self._heap: list[tuple[float, int, QueueItem[Key]]] = []
        self._stale = 0
        self._pushes = 0

    def push(self, entry: QueueItem[Key], ready_at: float, not_before: float) -> None:
        """Add an unqueued entry, which waits until `ready_at`."""
        entry.state = _WAITING
        entry.ready_at = ready_at
        entry.not_before = not_before
        # Equal times keep their order of arrival, and entries are never compared.
        self._pushes += 1
        heapq.heappush(self._heap, (ready_at, self._pushes, entry))

    def remove(self, entry: QueueItem[Key]) -> QueueItem[Key]:
        """Remove an entry early; returns the entry that replaces it."""
        replacement = entry.replaced()
        self._stale += 1
        # Only when half of them are stale, so removal stays cheap on average.
        if 2 * self._stale > len(self._heap) + _SLACK:
            self._heap = [slot for slot in self._heap if slot[2].state is _WAITING]
            heapq.heapify(self._heap)
            self._stale = 0
        return replacement

    def earliest(self) -> float | None:
        """Return when the next entry is due, or None if no entry waits."""
        while self._heap and self._heap[0][2].state is not _WAITING:
            heapq.heappop(self._heap)
            self._stale -= 1
        return self._heap[0][0] if self._heap else None

    def pop_due(self, now: float) -> list[QueueItem[Key]]:
        """Remove and return all due entries, earliest first."""
        due = []
        while (ready_at := self.earliest()) is not None and ready_at <= now:
            due.append(heapq.heappop(self._heap)[2])
        return due

    def clear(self) -> list[QueueItem[Key]]:
        """Remove and return all entries, so that the caller can drop their keys."""
        waiting = [slot[2] for slot in self._heap if slot[2].state is _WAITING]
        self._heap.clear()
        self._stale = 0
        return waiting
