"""The order in which ready keys are handed out.

Higher priority first; within a priority round-robin over the fairness groups
(PQ-11); within a group first in, first out. Every few picks, one takes the key that has
been ready the longest among the priorities' next keys, so that a steady stream of
urgent keys does not starve the others (PQ-10).

A plain structure: the queue holds its lock around every call.
"""

import heapq
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Iterator
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

# A sweep visits all levels: not worth it for a few that have gone.
_SLACK = 64


class _Level(Generic[Key]):
    """The entries of one priority, by fairness group, with the next group first.

    With one group it has no map: an ordered map takes more memory than the rest.
    """

    __slots__ = ("group", "groups", "heap")

    def __init__(self, group: Hashable) -> None:
        self.group = group
        self.heap: EntryHeap[Key] = EntryHeap()
        """The next group and its entries."""
        self.groups: OrderedDict[Hashable, EntryHeap[Key]] | None = None
        """All groups, if there was more than one."""

    def heap_of(self, group: Hashable) -> EntryHeap[Key]:
        """Return the entries of a group, which is added if it is new."""
        if self.groups is None:
            if group == self.group:
                return self.heap
            self.groups = OrderedDict([(self.group, self.heap)])
        found = self.groups.get(group)
        if found is None:
            found = self.groups[group] = EntryHeap()
        return found

    def has(self, group: Hashable) -> bool:
        """Return whether a group has entries."""
        return group == self.group if self.groups is None else group in self.groups

    def turn(self, group: Hashable) -> EntryHeap[Key]:
        """Return the entries of a group. The group goes to the end; `took` makes
        another one the next.
        """
        if self.groups is None:
            return self.heap
        self.groups.move_to_end(group)
        return self.groups[group]

    def took(self, group: Hashable, heap: EntryHeap[Key]) -> bool:
        """Drop a group without entries. Returns whether the level has no more
        entries.
        """
        if self.groups is None:
            return not heap.live
        if not heap.live:
            del self.groups[group]
            if not self.groups:
                return True
        self.group = next(iter(self.groups))
        self.heap = self.groups[self.group]
        return False


class PriorityQueue(Generic[Key]):
    """The ready entries, by priority and then by fairness group, with the next group
    first.

    Empty priorities and groups are removed. A pick costs the logarithm of the number of
    priorities: two heaps have the highest priority and the oldest entry.
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
        # A lone entry is a level without more memory: most queues have one or none.
        self._levels: dict[int, _Level[Key] | QueueItem[Key]] = {}
        self._highest: list[int] = []
        """Each priority of a level, negated; and of levels that have gone."""
        self._heaped: set[int] = set()
        self._oldest: list[tuple[float, int]] = []
        """Order and priority of the next entry of each level, or of an earlier one."""
        self._changed: set[int] = set()
        """Levels whose next entry may be missing in `_oldest`."""
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
            self._levels[entry.priority] = entry
            self.track_priority(entry.priority)
            if entry.priority not in self._heaped:
                self._heaped.add(entry.priority)
                heapq.heappush(self._highest, -entry.priority)
        else:
            if isinstance(level, QueueItem):
                first, level = level, _Level(self._group_of(level.key))
                level.heap.push(first.order, first)
                self._levels[entry.priority] = level
            level.heap_of(self._group_of(entry.key)).push(entry.order, entry)
        self._changed.add(entry.priority)
        self._live += 1

    def remove(self, entry: QueueItem[Key]) -> QueueItem[Key]:
        """Remove an entry before its turn. Returns the entry that replaces it."""
        level = self._levels[entry.priority]
        if isinstance(level, QueueItem):
            self._removed_one(entry.priority, True)
            return entry.replaced()
        group = self._group_of(entry.key)
        heap = level.heap_of(group)
        replacement = heap.remove(entry)
        self._removed_one(entry.priority, level.took(group, heap))
        return replacement

    def pop(self, group: Hashable = _IN_TURN) -> QueueItem[Key] | None:
        """Remove and return the next entry, which is then unqueued; None if there is
        none.

        group: the group to take the entry from; by default the one whose turn it is.
        """
        if not self._levels:
            return None
        if group is not _IN_TURN:
            priority = next(one for one in self._priorities() if self._has(one, group))
        else:
            priority = self._highest_priority()
            if len(self._levels) > 1 and self._is_oldest_due():
                priority = self._oldest_priority()
        level = self._levels[priority]
        if isinstance(level, QueueItem):
            entry, is_empty = level, True
        else:
            group = level.group if group is _IN_TURN else group
            heap = level.turn(group)
            entry = heap.pop()
            is_empty = level.took(group, heap)
        entry.state = _UNQUEUED
        self._removed_one(priority, is_empty)
        return entry

    def groups(self) -> Iterator[Hashable]:
        """Return the groups with ready keys in the order of their turns, the highest
        priority first; a group comes once for each of its priorities.
        """
        for priority in self._priorities():
            yield from self._groups_of(priority)

    def _priorities(self) -> Iterator[int]:
        """Return the priorities of all levels, the highest first. The first few cost
        little, however many there are.
        """
        slots = self._highest
        following = [(slots[0], 0)] if slots else []
        while following:
            negated, at = heapq.heappop(following)
            if -negated in self._levels:
                yield -negated
            for child in (2 * at + 1, 2 * at + 2):
                if child < len(slots):
                    heapq.heappush(following, (slots[child], child))

    def _groups_of(self, priority: int) -> Iterable[Hashable]:
        level = self._levels[priority]
        if isinstance(level, QueueItem):
            return (self._group_of(level.key),)
        return (level.group,) if level.groups is None else level.groups

    def _has(self, priority: int, group: Hashable) -> bool:
        level = self._levels[priority]
        if isinstance(level, QueueItem):
            return self._group_of(level.key) == group
        return level.has(group)

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

    def _highest_priority(self) -> int:
        while (priority := -self._highest[0]) not in self._levels:
            heapq.heappop(self._highest)
            self._heaped.remove(priority)
        return priority

    def _oldest_priority(self) -> int:
        """Return the priority whose next entry has been ready the longest."""
        for priority in self._changed:
            if priority in self._levels:
                slot = self._next_order(priority), priority
                heapq.heappush(self._oldest, slot)
        self._changed.clear()
        if len(self._oldest) > 2 * len(self._levels) + _SLACK:
            self._oldest = [(self._next_order(one), one) for one in self._levels]
            heapq.heapify(self._oldest)
        while True:
            order, priority = self._oldest[0]
            if priority in self._levels and self._next_order(priority) == order:
                return priority
            heapq.heappop(self._oldest)

    def _next_order(self, priority: int) -> float:
        """Return the order number of the next entry of a priority."""
        level = self._levels[priority]
        if isinstance(level, QueueItem):
            return level.order
        return level.heap.first() or 0

    def _removed_one(self, priority: int, is_empty: bool) -> None:
        self._live -= 1
        if not is_empty:
            self._changed.add(priority)
            return
        del self._levels[priority]
        if len(self._heaped) > 2 * len(self._levels) + _SLACK:
            self._sweep()

    def _sweep(self) -> None:
        """Drop what the heaps have of levels that have gone."""
        self._heaped = set(self._levels)
        self._highest = sorted(-priority for priority in self._levels)
        self._changed &= self._heaped
        self._oldest = [slot for slot in self._oldest if slot[1] in self._heaped]
        heapq.heapify(self._oldest)
