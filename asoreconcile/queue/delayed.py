"""Entries that wait for their time, earliest first.

A plain structure: the queue holds its lock around every call.
"""

import heapq
from typing import Generic

from asoreconcile.queue.entry import Key, Queued, State

_SLACK = 64


class Delayed(Generic[Key]):
    """A heap of moments with lazy deletion.

    A slot is live while its entry waits for exactly that slot's moment; others are
    skipped, and swept out when they outnumber the live ones (TH-1).
    """

    def __init__(self) -> None:
        self._heap: list[tuple[float, int, Queued[Key]]] = []
        self._live = 0
        self._pushes = 0

    def __len__(self) -> int:
        return self._live

    def push(self, entry: Queued[Key], ready_at: float) -> None:
        """Let the entry wait until `ready_at`; it waits already or is new here."""
        if not (entry.state is State.WAITING and entry.ready_at):
            self._live += 1
        entry.state = State.WAITING
        entry.ready_at = ready_at
        self._pushes += 1
        heapq.heappush(self._heap, (ready_at, self._pushes, entry))
        if len(self._heap) > 2 * self._live + _SLACK:
            self._heap = [slot for slot in self._heap if _is_live(slot)]
            heapq.heapify(self._heap)

    def remove(self, entry: Queued[Key]) -> None:
        """The entry stops waiting; the caller gives it its next state."""
        entry.ready_at = 0.0
        self._live -= 1

    def earliest(self) -> float | None:
        """When the next entry is due; None if nothing waits."""
        while self._heap and not _is_live(self._heap[0]):
            heapq.heappop(self._heap)
        return self._heap[0][0] if self._heap else None

    def pop_due(self, now: float) -> list[Queued[Key]]:
        """Take out all entries whose time has come, earliest first."""
        due = []
        while (ready_at := self.earliest()) is not None and ready_at <= now:
            entry = heapq.heappop(self._heap)[2]
            self.remove(entry)
            due.append(entry)
        return due

    def clear(self) -> list[Queued[Key]]:
        """Drop all; returns what waited."""
        waiting = [slot[2] for slot in self._heap if _is_live(slot)]
        self._heap.clear()
        self._live = 0
        return waiting


def _is_live(slot: tuple[float, int, Queued[Key]]) -> bool:
    ready_at, _, entry = slot
    return entry.state is State.WAITING and entry.ready_at == ready_at
