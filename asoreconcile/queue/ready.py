"""The order in which ready keys are handed out.

Higher priority first; inside a priority one key of each fairness group in turn
(PQ-11); inside a group who came first. And one pick in a few takes the priority whose
next key has been ready for longest, so that a steady stream of urgent keys starves
nobody (PQ-10).

A plain structure: the queue holds its lock around every call. Every reconcile passes
here, so the way of a key that meets no other is kept short.
"""

from bisect import insort
from collections import deque
from collections.abc import Callable, Hashable
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
        """Take an entry in, behind all that are here: its order is the highest."""
        entry.state = _READY
        self.live += 1
        level = self._levels.get(entry.priority)
        if level is None:
            level = self._open(entry.priority)
        group = None if self._group_of is None else self._group_of(entry.key)
        level.live += 1
        level.slots += 1
        line = level.lines.get(group)
        if line is None:
            level.open(group, entry)
        else:
            line.append((entry.order, entry))

    def push_in_place(self, entry: Queued[Key]) -> None:
        """Take an entry in where its order says; it must not have been here before."""
        self.push(entry)
        group = None if self._group_of is None else self._group_of(entry.key)
        self._levels[entry.priority].sort_last(group)

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
        if not level.live and len(self._levels) > 1:
            self._drop(priority)
        return entry

    def _is_turn_of_oldest(self) -> bool:
        self._passed_over += 1
        if self._passed_over != self._oldest_every:
            return False
        self._passed_over = 0
        return True

    def _open(self, priority: int) -> "_Level[Key]":
        """A new level. The last one stays when it is empty, until another comes."""
        for other, level in list(self._levels.items()):
            if not level.live:
                self._drop(other)
        insort(self._priorities, -priority)
        level = self._levels[priority] = _Level()
        return level

    def _drop(self, priority: int) -> None:
        del self._levels[priority]
        self._priorities.remove(-priority)


class _Level(Generic[Key]):
    """The entries of one priority: a line for each fairness group, served in turn.

    lines: first come, first served; a slot of an entry that was removed is stale.
    live: the level's entries. slots: those and the stale slots.
    """

    __slots__ = ("_turns", "lines", "live", "slots")

    def __init__(self) -> None:
        self.lines: dict[Hashable, deque[tuple[int, Queued[Key]]]] = {}
        self._turns: deque[Hashable] = deque()
        self.live = 0
        self.slots = 0

    def open(self, group: Hashable, entry: Queued[Key]) -> None:
        """Begin a group's line with its first entry."""
        self.lines[group] = deque(((entry.order, entry),))
        self._turns.append(group)

    def sort_last(self, group: Hashable) -> None:
        """Move a line's last entry up to where its order says."""
        line = self.lines[group]
        slot = line.pop()
        place = len(line)
        while place and line[place - 1][0] > slot[0]:
            place -= 1
        line.insert(place, slot)

    def peek(self) -> Queued[Key]:
        """The next entry in turn; there must be a live one."""
        while True:
            line = self.lines[self._turns[0]]
            while line:
                order, entry = line[0]
                if entry.order == order and entry.state is _READY:
                    return entry
                line.popleft()
                self.slots -= 1
            self._drop()

    def pop(self) -> Queued[Key]:
        """Take out the next entry in turn, and let the next group have its turn."""
        entry = self.peek()
        turns = self._turns
        line = self.lines[turns[0]]
        line.popleft()
        self.slots -= 1
        self.live -= 1
        if len(turns) > 1:
            if line:
                turns.rotate(-1)
            else:
                self._drop()
        return entry

    def sweep(self) -> None:
        """Drop the stale slots, and the groups left without any (TH-1)."""
        lines = {
            group: deque(slot for slot in line if _is_live(slot))
            for group, line in self.lines.items()
        }
        self.lines = {group: line for group, line in lines.items() if line}
        self._turns = deque(group for group in self._turns if group in self.lines)
        self.slots = self.live

    def _drop(self) -> None:
        """The first group in turn has nothing left."""
        del self.lines[self._turns.popleft()]


def _is_live(slot: tuple[int, Queued[Key]]) -> bool:
    order, entry = slot
    return entry.order == order and entry.state is _READY
