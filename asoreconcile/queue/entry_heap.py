"""A heap of a queue's entries, ordered by a number, the least first."""

import heapq
from typing import Generic

from asoreconcile.queue.queue_item import Key, QueueItem, State

# Sweeping visits the whole heap: not worth it for a few stale slots.
_SLACK = 64
_GONE = State.GONE


class EntryHeap(Generic[Key]):
    """A heap of entries. An entry that is removed leaves a stale slot; stale slots are
    skipped, and swept when they outnumber the entries (TH-1).

    live: number of the entries.
    """

    __slots__ = ("_pushes", "_slots", "live")

    def __init__(self) -> None:
        self._slots: list[tuple[float, int, QueueItem[Key]]] = []
        self._pushes = 0
        self.live = 0

    def push(self, place: float, entry: QueueItem[Key]) -> None:
        """Add an entry at a number, behind the entries that already have this number.

        place: the number by which the heap is ordered.
        """
        self._pushes += 1  # so that entries are never compared
        heapq.heappush(self._slots, (place, self._pushes, entry))
        self.live += 1

    def remove(self, entry: QueueItem[Key]) -> QueueItem[Key]:
        """Remove an entry before its turn. Returns the entry that replaces it."""
        replacement = entry.replaced()
        self.live -= 1
        if len(self._slots) > 2 * self.live + _SLACK:
            self._slots = [slot for slot in self._slots if slot[2].state is not _GONE]
            heapq.heapify(self._slots)
        return replacement

    def first(self) -> float | None:
        """Return the number of the first entry, or None if the heap is empty."""
        while self._slots and self._slots[0][2].state is _GONE:
            heapq.heappop(self._slots)
        return self._slots[0][0] if self._slots else None

    def pop(self) -> QueueItem[Key]:
        """Remove and return the first entry; there must be one."""
        self.live -= 1
        while True:
            entry = heapq.heappop(self._slots)[2]
            if entry.state is not _GONE:
                return entry
