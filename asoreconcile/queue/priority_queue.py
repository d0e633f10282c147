"""The order in which ready keys are handed out.

Higher priority first; within a priority round-robin over the fairness groups
(PQ-11); within a group first in, first out. Every few picks, one takes the key that has
been ready the longest among the priorities' next keys, so that a steady stream of
urgent keys does not starve the others (PQ-10).

A plain structure: the queue holds its lock around every call.
"""

from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from enum import Enum
from typing import Final, Generic

from asoreconcile.queue.entry_heap import EntryHeap
from asoreconcile.queue.queue_item import Key, QueueItem, State

_UNQUEUED, _READY = State.UNQUEUED, State.READY


class _Next(Enum):
    """Stands for the group whose turn it is: any value may be a group."""

    IN_TURN = 1


_IN_TURN: Final = _Next.IN_TURN
MAX_LABELS = 25
"""Priorities beyond this number share a label in the metrics."""

_Level = OrderedDict[Hashable, EntryHeap[Key]]


class PriorityQueue(Generic[Key]):
    """The ready entries, by priority and then by fairness group, with the next group
    first.

    Empty priorities and groups are removed.
    """

    def __init__(
        self, group_of: Callable[[Key], Hashable] | None, oldest_every: int
    ) -> None:
        """group_of: the fairness group of a key; must be fast and must not raise.
        oldest_every: number of picks that skip a lower priority before one pick takes
        the oldest entry instead; 0 is never.
        """
        self._group_of = group_of or (lambda _: None)
        self._oldest_every = oldest_every
        self._levels: dict[int, _Level[Key]] = {}
        self._live = 0
        self._skipped = 0
        self.priorities: dict[int, None] = {}
        """The first priorities seen, up to the number that have their own label."""

    def __len__(self) -> int:
        return self._live

    def push(self, entry: QueueItem[Key]) -> None:
        """Add an unqueued entry at the place of its order."""
        entry.state = _READY
        level = self._levels.get(entry.priority)
        if level is None:
            level = self._levels[entry.priority] = OrderedDict()
            self.track_priority(entry.priority)
        group = self._group_of(entry.key)
        heap = level.get(group)
        if heap is None:
            heap = level[group] = EntryHeap()
        heap.push(entry.order, entry)
        self._live += 1

    def remove(self, entry: QueueItem[Key]) -> QueueItem[Key]:
        """Remove an entry before its turn. Returns the entry that replaces it."""
        level, group = self._levels[entry.priority], self._group_of(entry.key)
        replacement = level[group].remove(entry)
        self._removed_one(entry.priority, level, group)
        return replacement

    def pop(self, group: Hashable = _IN_TURN) -> QueueItem[Key] | None:
        """Remove and return the next entry, which is then unqueued; None if there is
        none.

        group: the group to take the entry from; by default the one whose turn it is.
        """
        if not self._levels:
            return None
        if group is not _IN_TURN:
            levels = self._levels
            priority = max(each for each in levels if group in levels[each])
        else:
            priority = max(self._levels)
            if len(self._levels) > 1 and self._is_oldest_due():
                priority = min(self._levels, key=self._next_order)
            group = next(iter(self._levels[priority]))
        level = self._levels[priority]
        level.move_to_end(group)
        entry = level[group].pop()
        entry.state = _UNQUEUED
        self._removed_one(priority, level, group)
        return entry

    def groups(self) -> Iterator[Hashable]:
        """Return the groups with ready keys in the order of their turns, the highest
        priority first; a group comes once for each of its priorities.
        """
        for priority in sorted(self._levels, reverse=True):
            yield from self._levels[priority]

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

    def _next_order(self, priority: int) -> float:
        """Return the order number of the next entry of a priority."""
        return next(iter(self._levels[priority].values())).first() or 0

    def _removed_one(
        self, priority: int, level: "_Level[Key]", group: Hashable
    ) -> None:
        self._live -= 1
        if not level[group].live:
            del level[group]
            if not level:
                del self._levels[priority]
