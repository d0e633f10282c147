"""The keys of a queue, and the state of each.

A plain structure: the queue holds its lock around every call. Invariants between two
calls:

- Each key has one entry, from its first add until a worker is done with it and it was
  not added again. A worker holds the key while `taken_at` is set.
- A READY entry is in `ready`; if it is held, it enters `ready` at `finish`. A WAITING
  entry is in `delayed`, held or not. An UNQUEUED entry is held, and nowhere else.
- An entry leaves a heap at its front. An entry that must leave earlier becomes GONE and
  stays as a stale slot; its replacement takes its place here. So a slot is live if its
  entry is not GONE, and an entry has at most one slot.
"""

import itertools
from collections.abc import Callable, Hashable
from math import inf
from types import MappingProxyType
from typing import Generic

from asoreconcile.observability.metrics import QueueSnapshot
from asoreconcile.queue.entry_heap import EntryHeap
from asoreconcile.queue.priority_queue import MAX_LABELS, PriorityQueue
from asoreconcile.queue.queue_item import Key, QueueItem, State

NEVER = -inf
_UNQUEUED, _WAITING, _READY = State.UNQUEUED, State.WAITING, State.READY


class QueueState(Generic[Key]):
    """Keys that are ready, delayed, or held by workers.

    Times are `Clock.monotonic` seconds. Methods that may make keys ready return how
    many more keys workers can take now.
    """

    def __init__(
        self, group_of: Callable[[Key], Hashable] | None, oldest_every: int
    ) -> None:
        self.entries: dict[Key, QueueItem[Key]] = {}
        self.ready: PriorityQueue[Key] = PriorityQueue(group_of, oldest_every)
        self.delayed: EntryHeap[Key] = EntryHeap()
        """Entries that wait, by the time at which they become ready."""
        self.adds = 0
        """How often keys became ready."""
        self.locked = 0
        """Keys that are ready but held."""
        self._next_order = itertools.count().__next__

    def admit(
        self, key: Key, priority: int, now: float, ready_at: float, not_before: float
    ) -> int:
        """Add a key that is ready at a given time, which may be past.

        A known key keeps the higher priority and the earlier time, but not earlier than
        the end of its holds. not_before: the end of a hold; NEVER if there is no hold.
        Rules: PQ-2, PQ-3, PQ-4.
        """
        new = QueueItem(key, priority, now)
        entry = self.entries.setdefault(key, new)
        ready_at = max(ready_at, not_before)
        if entry is new and ready_at <= now:  # the usual case: each event comes here
            entry.order = self._next_order()
            self.adds += 1
            self.ready.push(entry)
            return 1
        was = entry.state
        if was is _READY:
            # The usual case: many events of one key before a worker takes it.
            if priority <= entry.priority and not_before <= now:
                return 0
            ready_at = now
        elif was is _WAITING:
            ready_at = min(ready_at, entry.ready_at)
            # A hold comes from a server's response: no later call may shorten it.
            not_before = max(not_before, entry.not_before)
        ready_at = max(ready_at, not_before)
        if was is not _UNQUEUED:
            entry = self._dequeue(entry)
        # Otherwise it keeps its place: a key with frequent events would never reach the
        # front.
        if was is _UNQUEUED or priority > entry.priority:
            entry.priority = priority
            entry.order = self._next_order()
        if ready_at > now:
            entry.state = _WAITING
            entry.ready_at, entry.not_before = ready_at, not_before
            self.delayed.push(ready_at, entry)
            return 0
        if was is _READY:
            return self._enqueue(entry)
        return self._make_ready(entry, now)

    def finish(self, key: Key) -> float | None:
        """Record that a worker is done with the key. Returns the time at which the
        worker took it; None if no worker holds it.

        A key that was added meanwhile joins the tail of its priority. Rules: WQ-4,
        WQ-5.
        """
        entry = self.entries.pop(key, None)
        if entry is None:
            return None
        taken_at = entry.taken_at
        if entry.state is not _UNQUEUED:
            # Added again while it was held: it is queued as a new entry.
            self.entries[key] = entry
            entry.taken_at = None
            if taken_at is not None and entry.state is _READY:
                self.locked -= 1
                entry.order = self._next_order()
                self.ready.push(entry)
        return taken_at

    def promote(self, now: float) -> int:
        """Make due entries ready, at the tail of their priority. Rule: PQ-3."""
        available = 0
        while (due := self.delayed.first()) is not None and due <= now:
            entry = self.delayed.pop()
            entry.order = self._next_order()
            available += self._make_ready(entry, now)
        return available

    def drop_waiting(self) -> None:
        """Drop the delayed entries. Rule: DQ-3."""
        while self.delayed.live:
            entry = self.delayed.pop()
            entry.state = _UNQUEUED
            if entry.taken_at is None:
                del self.entries[entry.key]

    def _dequeue(self, entry: QueueItem[Key]) -> QueueItem[Key]:
        """Remove an entry from its line or the heap; returns the entry to use
        instead.
        """
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
            self.ready.push(entry)
            return 1
        # A worker holds it: `finish` queues it, so that no other worker takes it now.
        entry.state = _READY
        self.locked += 1
        self.ready.track_priority(entry.priority)
        return 0


# controller-runtime's label value.
_OTHERS = "exceeded_cardinality_limit"


def snapshot_of(state: QueueState[Key], *, now: float, retries: int) -> QueueSnapshot:
    """Return the state of a queue for a scrape.

    now: `Clock.monotonic` seconds. The caller holds the queue's lock.

    A priority that ever had a ready key stays in the depth, with 0.
    """
    counts = dict.fromkeys(state.ready.priorities, 0)
    others = 0
    ages = []
    for entry in state.entries.values():
        if entry.state is State.READY:
            if entry.priority in counts:
                counts[entry.priority] += 1
            else:
                others += 1
        if entry.taken_at is not None:
            ages.append(max(0.0, now - entry.taken_at))
    depth = {str(priority): count for priority, count in counts.items()}
    if len(depth) == MAX_LABELS:
        depth[_OTHERS] = others
    return QueueSnapshot(
        depth=MappingProxyType(depth),
        adds=state.adds,
        retries=retries,
        unfinished_seconds=sum(ages),
        longest_seconds=max(ages, default=0.0),
    )
