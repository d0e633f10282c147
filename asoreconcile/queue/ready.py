"""The order in which ready keys are handed out.

Higher priority first; inside a priority one key of each fairness group in turn
(PQ-11); inside a group by place. And one pick in a few takes the priority whose next
key has been ready for longest, so that a steady stream of urgent keys starves nobody
(PQ-10).

A plain structure: the queue holds its lock around every call.
"""

from bisect import insort
from collections import deque
from collections.abc import Callable, Hashable
from heapq import heapify, heappop, heappush
from typing import Generic

from asoreconcile.queue.entry import Key, Queued, State

_SLACK = 64
_READY, _LOCKED = State.READY, State.LOCKED


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
        self._passed_over = 0
        self.live = 0
        """How many entries are ready."""

    def push(self, entry: Queued[Key]) -> None:
        """Take an entry in; its order must not have been here before."""
        level = self._levels.get(entry.priority)
        if level is None:
            level = self._levels[entry.priority] = _Level()
            insort(self._priorities, -entry.priority)
        entry.state = _READY
        level.push(entry, self._group_of(entry.key) if self._group_of else None)
        self.live += 1

    def remove(self, entry: Queued[Key], *, order: int) -> None:
        """Take an entry out of turn; `order` is its new one."""
        level = self._levels[entry.priority]
        entry.order = order
        level.live -= 1
        self.live -= 1
        if not level.live:
            self._drop(entry.priority)
        elif level.slots > 2 * level.live + _SLACK:
            level.sweep()

    def pop(self) -> Queued[Key] | None:
        """Take out the next entry; None if there is none. Its state becomes LOCKED."""
        if not self.live:
            return None
        priority = -self._priorities[0]
        if len(self._priorities) > 1 and self._is_turn_of_oldest():
            priority = min(self._levels, key=lambda p: self._levels[p].peek().order)
        level = self._levels[priority]
        entry = level.pop()
        entry.state = _LOCKED
        self.live -= 1
        if not level.live:
            self._drop(priority)
        return entry

    def _is_turn_of_oldest(self) -> bool:
        self._passed_over += 1
        if self._passed_over != self._oldest_every:
            return False
        self._passed_over = 0
        return True

    def _drop(self, priority: int) -> None:
        del self._levels[priority]
        self._priorities.remove(-priority)


class _Level(Generic[Key]):
    """The entries of one priority: a heap for each fairness group, served in turn.

    live: its entries. slots: those and the stale slots of entries that were removed.
    """

    __slots__ = ("_heaps", "_turns", "live", "slots")

    def __init__(self) -> None:
        self._heaps: dict[Hashable, list[tuple[int, Queued[Key]]]] = {}
        self._turns: deque[Hashable] = deque()
        self.live = 0
        self.slots = 0

    def push(self, entry: Queued[Key], group: Hashable) -> None:
        heap = self._heaps.get(group)
        if heap is None:
            self._heaps[group] = [(entry.order, entry)]
            self._turns.append(group)
        else:
            heappush(heap, (entry.order, entry))
        self.live += 1
        self.slots += 1

    def peek(self) -> Queued[Key]:
        """The next entry in turn; there must be a live one."""
        while True:
            group = self._turns[0]
            heap = self._heaps[group]
            while heap:
                order, entry = heap[0]
                if entry.order == order and entry.state is _READY:
                    return entry
                heappop(heap)
                self.slots -= 1
            self._drop(group)

    def pop(self) -> Queued[Key]:
        """Take out the next entry in turn, and let the next group have its turn."""
        entry = self.peek()
        group = self._turns[0]
        heap = self._heaps[group]
        heappop(heap)
        self.slots -= 1
        self.live -= 1
        if not heap:
            self._drop(group)
        elif len(self._turns) > 1:
            self._turns.rotate(-1)
        return entry

    def sweep(self) -> None:
        """Drop the stale slots, and the groups left without any (TH-1)."""
        for heap in self._heaps.values():
            heap[:] = [slot for slot in heap if _is_live(slot)]
            heapify(heap)
        self._heaps = {group: heap for group, heap in self._heaps.items() if heap}
        self._turns = deque(group for group in self._turns if group in self._heaps)
        self.slots = self.live

    def _drop(self, group: Hashable) -> None:
        """The first group in turn has nothing left."""
        self._turns.popleft()
        del self._heaps[group]


def _is_live(slot: tuple[int, Queued[Key]]) -> bool:
    order, entry = slot
    return entry.order == order and entry.state is _READY
