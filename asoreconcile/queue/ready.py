"""The order in which ready keys are handed out.

Higher priority first; inside a priority one key of each fairness group in turn
(PQ-11); inside a group who came first. And one pick in a few takes the priority whose
next key has been ready for longest, so that a steady stream of urgent keys starves
nobody (PQ-10).

A plain structure: the queue holds its lock around every call. Every reconcile passes
here, so the way of a key that meets no other is kept short: the last level, and in it
the last line, stay when they are empty, until another one opens.
"""

from collections import deque
from collections.abc import Callable, Hashable
from typing import Any, Generic

from asoreconcile.queue.entry import Key, Queued, State

MAX_LABELS = 25
"""More distinct priorities than these share a label in the metrics."""

_SLACK = 64
_UNQUEUED, _READY = State.UNQUEUED, State.READY


class ReadyOrder(Generic[Key]):
    """Ready entries by priority. Each level has some; the only one may have none."""

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
        self._top: _Level[Key] = _NO_LEVEL
        self._passed_over = 0
        self.priorities: dict[int, None] = {}
        """The first that came, up to the number that have a label of their own."""

    def __len__(self) -> int:
        if len(self._levels) == 1:
            return self._top.live
        return sum(level.live for level in self._levels.values())

    def push(self, entry: Queued[Key]) -> None:
        """Take in an unqueued entry, behind all that are here: its order is highest."""
        entry.state = _READY
        level = self._levels.get(entry.priority)
        if level is None:
            level = self._open(entry.priority)
        group = None if self._group_of is None else self._group_of(entry.key)
        line = level.lines.get(group)
        if line is None:
            line = level.open(group)
        line.append(entry)
        level.live += 1

    def push_in_place(self, entry: Queued[Key]) -> None:
        """Take in an unqueued entry where its order says."""
        self.push(entry)
        group = None if self._group_of is None else self._group_of(entry.key)
        line = self._levels[entry.priority].lines[group]
        place = len(line) - 1
        while place and line[place - 1].order > entry.order:
            place -= 1
        line.insert(place, line.pop())

    def remove(self, entry: Queued[Key]) -> Queued[Key]:
        """Take an entry out of turn; returns the one that goes on in its place."""
        level = self._levels[entry.priority]
        level.live -= 1
        level.stale += 1
        successor = entry.replaced()
        if not level.live and len(self._levels) > 1:
            self._close(entry.priority)
        elif level.stale > level.live + _SLACK:
            level.sweep()
        return successor

    def pop(self) -> Queued[Key] | None:
        """Take out the next entry, if there is one; it is unqueued then."""
        level = self._top
        if not level.live:
            return None
        several = len(self._levels) > 1
        if several and self._is_turn_of_oldest():
            level = min(self._levels.values(), key=_order_of_next)
        entry = level.pop()
        entry.state = _UNQUEUED
        if several and not level.live:
            self._close(entry.priority)
        return entry

    def note(self, priority: int) -> None:
        """A key of this priority is ready."""
        if len(self.priorities) < MAX_LABELS:
            self.priorities[priority] = None

    def _is_turn_of_oldest(self) -> bool:
        self._passed_over += 1
        if self._passed_over != self._oldest_every:
            return False
        self._passed_over = 0
        return True

    def _open(self, priority: int) -> "_Level[Key]":
        if not self._top.live:
            self._levels.clear()
        self.note(priority)
        level = self._levels[priority] = _Level()
        self._top = self._levels[max(self._levels)]
        return level

    def _close(self, priority: int) -> None:
        """A level has become empty, and there are others."""
        del self._levels[priority]
        self._top = self._levels[max(self._levels)]


class _Level(Generic[Key]):
    """The entries of one priority: a line for each fairness group, served in turn.

    lines: first come, first served; none is empty while the level has entries.
    live: the entries. stale: slots in the lines of entries that are gone.
    """

    __slots__ = ("lines", "live", "stale", "turns")

    def __init__(self) -> None:
        self.lines: dict[Hashable, deque[Queued[Key]]] = {}
        self.turns: deque[tuple[Hashable, deque[Queued[Key]]]] = deque()
        self.live = 0
        self.stale = 0

    def open(self, group: Hashable) -> deque[Queued[Key]]:
        """A new line, last in turn."""
        if not self.live:
            self.lines.clear()
            self.turns.clear()
            self.stale = 0
        line: deque[Queued[Key]] = deque()
        self.lines[group] = line
        self.turns.append((group, line))
        return line

    def pop(self) -> Queued[Key]:
        """Take out the next entry in turn, and let the next group have its turn."""
        if self.stale:
            self.skip_stale()
        turns = self.turns
        group, line = turns[0]
        entry = line.popleft()
        self.live -= 1
        if len(turns) > 1:
            if line:
                turns.rotate(-1)
            else:
                turns.popleft()
                del self.lines[group]
        return entry

    def skip_stale(self) -> None:
        """Let a live entry be the first in turn; there must be one."""
        while True:
            group, line = self.turns[0]
            while line:
                if line[0].state is _READY:
                    return
                line.popleft()
                self.stale -= 1
            self.turns.popleft()
            del self.lines[group]

    def sweep(self) -> None:
        """Drop the stale slots, and the groups left without any (TH-1)."""
        turns = [
            (group, deque(entry for entry in line if entry.state is _READY))
            for group, line in self.turns
        ]
        self.turns = deque((group, line) for group, line in turns if line)
        self.lines = dict(self.turns)
        self.stale = 0


# Of a queue that nothing was added to yet: with every kind there are hundreds.
_NO_LEVEL: _Level[Any] = _Level()


def _order_of_next(level: _Level[Key]) -> int:
    if level.stale:
        level.skip_stale()
    return level.turns[0][1][0].order
