"""What a queue has to do: its keys, and the state of each.

A plain structure: the queue holds its lock around every call. What holds between two
calls:

- Each key has one entry here, from its first add until a worker is done with it and it
  was not added again. A worker holds the key while `taken_at` is set.
- A READY entry is in its line, or held, and then it enters the line at `finish`. A
  WAITING one is in the heap, held or not. An UNQUEUED one is held, and nowhere else.
- An entry leaves a line or the heap at its front. One that must leave earlier is GONE
  and stays behind as a stale slot; its successor takes its place here. So a slot is
  live if its entry is not gone, and an entry has at most one.
"""

import itertools
from collections.abc import Callable, Hashable
from math import inf
from typing import Generic

from asoreconcile.queue.delayed import Delayed
from asoreconcile.queue.priority_queue import PriorityQueue
from asoreconcile.queue.queue_item import Key, QueueItem, State

NEVER = -inf
_UNQUEUED, _WAITING, _READY = State.UNQUEUED, State.WAITING, State.READY


class QueueState(Generic[Key]):
    """Keys that are ready, that wait for their time, and that workers hold.

    Moments are `Clock.monotonic` seconds. Methods that may make keys ready return how
    many a worker can take now that it could not take before.
    """

    def __init__(
        self, group_of: Callable[[Key], Hashable] | None, oldest_every: int
    ) -> None:
        self.entries: dict[Key, QueueItem[Key]] = {}
        self.ready: PriorityQueue[Key] = PriorityQueue(group_of, oldest_every)
        self.delayed: Delayed[Key] = Delayed()
        self.adds = 0
        """How often a key became ready."""
        self.locked = 0
        """Keys that are ready but held."""
        self._next_order = itertools.count().__next__

    def add(self, key: Key, priority: int, now: float) -> int:
        """Take in a key that is ready now; of a known one as `admit` says."""
        entry = QueueItem(key, priority, now)
        # One look where most keys are new: this is the way of every event.
        known = self.entries.setdefault(key, entry)
        if known is not entry:
            return self._merge(known, priority, now, now, NEVER)
        entry.order = self._next_order()
        self.adds += 1
        self.ready.push(entry)
        return 1

    def admit(
        self, key: Key, priority: int, now: float, ready_at: float, not_before: float
    ) -> int:
        """Take in a key that is ready at a moment, which may be past.

        Of a known one the higher priority stays, and the earlier moment, but no
        earlier than its holds end. not_before: a hold's end; NEVER is none.
        Rules: PQ-2, PQ-3, PQ-4.
        """
        entry = self.entries.get(key)
        if entry is None:
            entry = self.entries[key] = QueueItem(key, priority, now)
        return self._merge(entry, priority, now, ready_at, not_before)

    def finish(self, key: Key) -> float | None:
        """A worker is done with the key; returns when it took it, None if none did.

        Added meanwhile, it joins the tail of its priority. Rules: WQ-4, WQ-5.
        """
        entry = self.entries.pop(key, None)
        if entry is None:
            return None
        taken_at = entry.taken_at
        if entry.state is not _UNQUEUED:
            # Asked for again while it was held: it goes on as an entry of its own turn.
            self.entries[key] = entry
            entry.taken_at = None
            if taken_at is not None and entry.state is _READY:
                self.locked -= 1
                entry.order = self._next_order()
                self.ready.push(entry)
        return taken_at

    def promote(self, now: float) -> int:
        """Make ready what is due, at the tail of its priority. Rule: PQ-3."""
        available = 0
        for entry in self.delayed.pop_due(now):
            entry.order = self._next_order()
            available += self._make_ready(entry, now)
        return available

    def drop_waiting(self) -> None:
        """Forget what waits for its time. Rule: DQ-3."""
        for entry in self.delayed.clear():
            entry.state = _UNQUEUED
            if entry.taken_at is None:
                del self.entries[entry.key]

    def _merge(
        self,
        entry: QueueItem[Key],
        priority: int,
        now: float,
        ready_at: float,
        not_before: float,
    ) -> int:
        was = entry.state
        if was is _READY:
            # Most often: many events of one key before a worker comes.
            if priority <= entry.priority and not_before <= now:
                return 0
            ready_at = now
        elif was is _WAITING:
            ready_at = min(ready_at, entry.ready_at)
            # A hold is a server's answer: no later call may shorten it.
            not_before = max(not_before, entry.not_before)
        ready_at = max(ready_at, not_before)
        if was is not _UNQUEUED:
            entry = self._dequeue(entry)
        # Its place in line else stays: a key that events keep asking for would never
        # come to the front.
        if was is _UNQUEUED or priority > entry.priority:
            entry.priority = priority
            entry.order = self._next_order()
        if ready_at > now:
            self.delayed.push(entry, ready_at, not_before)
            return 0
        if was is _READY:
            return self._enqueue(entry)
        return self._make_ready(entry, now)

    def _dequeue(self, entry: QueueItem[Key]) -> QueueItem[Key]:
        """Take an entry from where it is queued; returns the one to go on with."""
        if entry.state is _WAITING:
            replacement = self.delayed.remove(entry)
        elif entry.taken_at is None:
            replacement = self.ready.remove(entry)
        else:
            self.locked -= 1
            return entry
        self.entries[entry.key] = replacement
        return replacement

    def _make_ready(self, entry: QueueItem[Key], now: float) -> int:
        entry.ready_since = now
        self.adds += 1
        return self._enqueue(entry)

    def _enqueue(self, entry: QueueItem[Key]) -> int:
        if entry.taken_at is None:
            self.ready.push_in_place(entry)
            return 1
        # A worker has it: `finish` queues it, so that nobody else works on it now.
        entry.state = _READY
        self.locked += 1
        self.ready.track_priority(entry.priority)
        return 0
