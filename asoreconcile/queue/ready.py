"""The order in which ready keys are handed out.

Higher priority first; inside a priority one key of each fairness group in turn
(PQ-11); inside a group by place. And one pick in a few takes whatever has been ready
for longest, so that a steady stream of urgent keys starves nobody (PQ-10).

A plain structure: the queue holds its lock around every call.
"""

import heapq
from bisect import insort
from collections import deque
from collections.abc import Callable, Hashable
from typing import Generic

from asoreconcile.queue.entry import Key, Queued, State

_SLACK = 64


class ReadyOrder(Generic[Key]):
    """Ready entries. An entry's priority and order may change only outside of it."""

    def __init__(
        self, group_of: Callable[[Key], Hashable] | None, oldest_every: int
    ) -> None:
        """group_of: the fairness group of a key; must be fast and must not raise.
        oldest_every: of so many picks that pass over a lower priority, one takes the
        oldest entry instead; 0 is never.
        """
        self._group_of = group_of
        self._oldest_every = oldest_every
        self._levels: dict[int, _Level[Key]] = {}
        self._priorities: list[int] = []  # of the levels, negated: highest first
        self._ages: deque[tuple[int, Queued[Key]]] = deque()
        self._passed_over = 0
        self._live = 0

    def __len__(self) -> int:
        return self._live

    def push(self, entry: Queued[Key]) -> None:
        """Take an entry in; its order must not have been here before."""
        level = self._levels.get(entry.priority)
        if level is None:
            level = self._levels[entry.priority] = _Level()
            insort(self._priorities, -entry.priority)
        entry.state = State.READY
        group = self._group_of(entry.key) if self._group_of else None
        level.push(entry, group)
        self._live += 1
        if self._oldest_every:
            self._ages.append((entry.order, entry))
            if len(self._ages) > 2 * self._live + _SLACK:
                self._ages = deque(slot for slot in self._ages if is_live(slot))

    def remove(self, entry: Queued[Key], *, order: int) -> None:
        """Take an entry out of turn; `order` is its new one."""
        entry.order = order
        self._left(entry)

    def pop(self) -> Queued[Key] | None:
        """Take out the next entry; None if there is none. Its state becomes LOCKED."""
        if not self._live:
            return None
        entry = self._oldest() if self._is_turn_of_oldest() else None
        if entry is None:
            entry = self._levels[-self._priorities[0]].pop()
        entry.state = State.LOCKED
        self._left(entry)
        ages = self._ages
        while ages and not is_live(ages[0]):
            ages.popleft()
        return entry

    def _is_turn_of_oldest(self) -> bool:
        if len(self._priorities) < 2 or not self._oldest_every:
            return False
        self._passed_over += 1
        if self._passed_over < self._oldest_every:
            return False
        self._passed_over = 0
        return True

    def _oldest(self) -> Queued[Key] | None:
        return next((slot[1] for slot in self._ages if is_live(slot)), None)

    def _left(self, entry: Queued[Key]) -> None:
        self._live -= 1
        level = self._levels[entry.priority]
        level.live -= 1
        if not level.live:
            del self._levels[entry.priority]
            self._priorities.remove(-entry.priority)
        elif level.slots > 2 * level.live + _SLACK:
            level.sweep()


class _Level(Generic[Key]):
    """The entries of one priority: a heap for each fairness group, served in turn."""

    __slots__ = ("_heaps", "_turns", "live", "slots")

    def __init__(self) -> None:
        self._heaps: dict[Hashable, list[tuple[int, Queued[Key]]]] = {}
        self._turns: deque[Hashable] = deque()
        self.live = 0
        self.slots = 0

    def push(self, entry: Queued[Key], group: Hashable) -> None:
        heap = self._heaps.get(group)
        if heap is None:
            heap = self._heaps[group] = []
            self._turns.append(group)
        heapq.heappush(heap, (entry.order, entry))
        self.live += 1
        self.slots += 1

    def pop(self) -> Queued[Key]:
        """The next entry in turn; there must be a live one."""
        while True:
            group = self._turns[0]
            heap = self._heaps[group]
            while heap:
                slot = heapq.heappop(heap)
                self.slots -= 1
                if is_live(slot):
                    if heap:
                        self._turns.rotate(-1)
                    else:
                        self._drop_first(group)
                    return slot[1]
            self._drop_first(group)

    def sweep(self) -> None:
        """Drop the stale slots, and the groups left without any."""
        for heap in self._heaps.values():
            heap[:] = [slot for slot in heap if is_live(slot)]
            heapq.heapify(heap)
        self._heaps = {group: heap for group, heap in self._heaps.items() if heap}
        self._turns = deque(group for group in self._turns if group in self._heaps)
        self.slots = self.live

    def _drop_first(self, group: Hashable) -> None:
        self._turns.popleft()
        del self._heaps[group]


def is_live(slot: tuple[int, Queued[Key]]) -> bool:
    order, entry = slot
    return entry.order == order and entry.state is State.READY
