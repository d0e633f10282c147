"""The order in which ready keys are handed out.

Higher priority first; within a priority round-robin over the fairness groups
(PQ-11); within a group first in, first out. Every few picks, one takes the key that has
been ready the longest among the priorities' next keys, so that a steady stream of
urgent keys does not starve the others (PQ-10).

A plain structure: the queue holds its lock around every call. Every reconcile passes
here, so the path of a single key is kept short: the last level, and its last line, are
kept when they are empty, until another one opens.
"""

import heapq
from collections import deque
from collections.abc import Callable, Hashable
from typing import Any, Generic

from asoreconcile.queue.queue_item import Key, QueueItem, State

MAX_LABELS = 25
"""Priorities beyond this number share a label in the metrics."""

# Sweeping visits all entries: not worth it for a few stale slots.
_SLACK = 64
_UNQUEUED, _READY = State.UNQUEUED, State.READY


class PriorityQueue(Generic[Key]):
    """Ready entries by priority. No level is empty, unless it is the only one."""

    def __init__(
        self, group_of: Callable[[Key], Hashable] | None, oldest_every: int
    ) -> None:
        """group_of: the fairness group of a key; must be fast and must not raise.
        oldest_every: number of picks that skip a lower priority before one pick takes
        the oldest entry instead; 0 is never.
        """
        self._group_of = group_of
        self._oldest_every = oldest_every
        self._levels: dict[int, _Level[Key]] = {}
        self._top: _Level[Key] = _NO_LEVEL
        self._skipped = 0
        self.priorities: dict[int, None] = {}
        """The first priorities seen, up to the number that have their own label."""

    def __len__(self) -> int:
        if len(self._levels) == 1:
            return self._top.live
        return sum(level.live for level in self._levels.values())

    def push(self, entry: QueueItem[Key]) -> None:
        """Add an unqueued entry behind all others: its order is the highest."""
        entry.state = _READY
        level = self._levels.get(entry.priority)
        if level is None:
            level = self._open(entry.priority)
        group = None if self._group_of is None else self._group_of(entry.key)
        queue = level.queues.get(group)
        if queue is None:
            queue = level.open(group)
        queue.append(entry)
        level.live += 1

    def push_in_place(self, entry: QueueItem[Key]) -> None:
        """Add an unqueued entry at the place of its order."""
        level = self._levels.get(entry.priority)
        group = None if self._group_of is None else self._group_of(entry.key)
        queue = level.queues.get(group) if level is not None and level.live else None
        if level is None or not queue or queue[-1].order < entry.order:
            self.push(entry)
            return
        entry.state = _READY
        level.insert(group, entry)

    def remove(self, entry: QueueItem[Key]) -> QueueItem[Key]:
        """Remove an entry out of turn; returns the entry that replaces it."""
        level = self._levels[entry.priority]
        level.live -= 1
        level.stale += 1
        replacement = entry.replaced()
        if not level.live and len(self._levels) > 1:
            self._close(entry.priority)
        elif level.stale > level.live + _SLACK:
            level.compact()
        return replacement

    def pop(self) -> QueueItem[Key] | None:
        """Remove and return the next entry, if any; it is unqueued then."""
        level = self._top
        if not level.live:
            return None
        several = len(self._levels) > 1
        if several and self._is_oldest_due():
            level = min(self._levels.values(), key=_Level.next_order)
        entry = level.pop()
        entry.state = _UNQUEUED
        if several and not level.live:
            self._close(entry.priority)
        return entry

    def track_priority(self, priority: int) -> None:
        """Record that a key of this priority is ready."""
        if len(self.priorities) < MAX_LABELS:
            self.priorities[priority] = None

    def _is_oldest_due(self) -> bool:
        # By count and not at random, so that tests see the same order each time.
        self._skipped += 1
        if self._skipped != self._oldest_every:
            return False
        self._skipped = 0
        return True

    def _open(self, priority: int) -> "_Level[Key]":
        if not self._top.live:
            self._levels.clear()
        self.track_priority(priority)
        level = self._levels[priority] = _Level()
        self._top = self._levels[max(self._levels)]
        return level

    def _close(self, priority: int) -> None:
        """Remove a level that became empty; there are others."""
        del self._levels[priority]
        self._top = self._levels[max(self._levels)]


class _Level(Generic[Key]):
    """The entries of one priority: one line per fairness group, served in turn.

    queues: first come, first served; none is empty while the level has entries.
    early: heaps by group, of entries that became ready late but belong before an entry
    of the line; the last slot of the line is behind all of them.
    live: the entries. stale: slots of entries that are gone.
    """

    __slots__ = ("early", "live", "queues", "round_robin", "stale")

    def __init__(self) -> None:
        self.queues: dict[Hashable, deque[QueueItem[Key]]] = {}
        self.early: dict[Hashable, list[tuple[int, int, QueueItem[Key]]]] = {}
        self.round_robin: deque[tuple[Hashable, deque[QueueItem[Key]]]] = deque()
        self.live = 0
        self.stale = 0

    def open(self, group: Hashable) -> deque[QueueItem[Key]]:
        """Open a group's line, last in turn."""
        if not self.live:
            self.queues.clear()
            self.round_robin.clear()
            self.early.clear()
            self.stale = 0
        queue: deque[QueueItem[Key]] = deque()
        self.queues[group] = queue
        self.round_robin.append((group, queue))
        return queue

    def insert(self, group: Hashable, entry: QueueItem[Key]) -> None:
        """Add an entry that belongs before the last one of its group's line."""
        heap = self.early.setdefault(group, [])
        # An entry and its replacement have the same order: they are not compared.
        heapq.heappush(heap, (entry.order, id(entry), entry))
        self.live += 1

    def pop(self) -> QueueItem[Key]:
        """Remove and return the next entry, and move on to the next group."""
        if self.stale:
            self.skip_stale()
        round_robin = self.round_robin
        group, queue = round_robin[0]
        if self.early and self._first_early(group, queue) is not None:
            entry = self._pop_early(group)
        else:
            entry = queue.popleft()
        self.live -= 1
        if len(round_robin) > 1:
            if queue:
                round_robin.rotate(-1)
            else:
                round_robin.popleft()
                del self.queues[group]
        return entry

    def next_order(self) -> int:
        """Return the order of the entry that `pop` would return."""
        if self.stale:
            self.skip_stale()
        group, queue = self.round_robin[0]
        early = self._first_early(group, queue) if self.early else None
        return queue[0].order if early is None else early.order

    def skip_stale(self) -> None:
        """Drop stale slots until a live entry is first in turn; there must be one."""
        while True:
            group, queue = self.round_robin[0]
            while queue:
                if queue[0].state is _READY:
                    return
                queue.popleft()
                self.stale -= 1
                if not queue and group in self.early:
                    # The line's own entries are gone: the early ones become the line.
                    queue.extend(slot[2] for slot in sorted(self.early.pop(group)))
            self.round_robin.popleft()
            del self.queues[group]

    def compact(self) -> None:
        """Drop the stale slots, and the groups that become empty (TH-1)."""
        round_robin = []
        for group, queue in self.round_robin:
            slots = [entry for entry in queue if entry.state is _READY]
            if heap := self.early.get(group):
                slots += [slot[2] for slot in heap if slot[2].state is _READY]
                slots.sort(key=_order_of)
            if slots:
                round_robin.append((group, deque(slots)))
        self.round_robin = deque(round_robin)
        self.queues = dict(round_robin)
        self.early.clear()
        self.stale = 0

    def _first_early(
        self, group: Hashable, queue: deque[QueueItem[Key]]
    ) -> QueueItem[Key] | None:
        """Return the early entry that precedes its group's line, if any."""
        heap = self.early.get(group)
        while heap and heap[0][2].state is not _READY:
            heapq.heappop(heap)
            self.stale -= 1
        if not heap:
            self.early.pop(group, None)
            return None
        first = heap[0][2]
        return first if first.order < queue[0].order else None

    def _pop_early(self, group: Hashable) -> QueueItem[Key]:
        heap = self.early[group]
        entry = heapq.heappop(heap)[2]
        if not heap:
            del self.early[group]
        return entry


def _order_of(entry: QueueItem[Any]) -> int:
    return entry.order


# Shared by queues that are still empty: with every kind there are hundreds.
_NO_LEVEL: _Level[Any] = _Level()
