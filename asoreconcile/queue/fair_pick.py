"""Choose the next key so that a busy group leaves a worker to the others.

    ready keys -> normal order (priority_queue.py)
                  unless groups above their share hold all workers but one:
                  then the group that has used the least lately

A plain structure: the queue holds its lock around every call. Rule: PQ-12.
"""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic

from asoreconcile.queue.priority_queue import PriorityQueue
from asoreconcile.queue.queue_item import Key, QueueItem
from asoreconcile.queue.worker_shares import WorkerShares

# For how long a worker is kept free for a group without ready keys: between two steps
# of one object, such as the polls of an operation.
_EXPECTED_SECONDS = 60.0
# With one worker, the groups above their share still get one of so many picks.
_BUSY_EVERY = 16
# Bounds on the groups that one pick looks at.
_MOST_GROUPS, _MOST_LIGHT, _MOST_EXPECTED = 256, 16, 1024


class FairPick(Generic[Key]):
    """Takes keys from the ready ones, and counts what each group holds."""

    def __init__(
        self,
        ready: PriorityQueue[Key],
        group_of: Callable[[Key], Hashable] | None,
        shares: WorkerShares | None,
        workers: int,
    ) -> None:
        """shares: the use of all groups; None takes keys in the normal order. workers:
        the most workers that take keys.
        """
        self._ready = ready
        self._group_of = group_of or (lambda _: None)
        self._shares = shares
        self._workers = workers
        self._held: dict[Hashable, int] = {}
        self._holding = 0
        # Groups that were served lately, the latest last, and when.
        self._served: OrderedDict[Hashable, float] = OrderedDict()
        self._passed_over = 0

    def take(self, now: float, *, all_ready: bool = False) -> QueueItem[Key] | None:
        """Take the next key for a worker; None if no key may be taken now.

        all_ready: ignore shares, to drain the queue. Call `done` after the work.
        """
        shares = self._shares
        if shares is None:
            return self._ready.pop()
        if all_ready or not self._ready or not self._is_last_free(shares, now):
            entry = self._ready.pop()
        else:
            entry = self._next_of_others(shares, now)
        if entry is not None:
            group = self._group_of(entry.key)
            self._held[group] = self._held.get(group, 0) + 1
            self._holding += 1
            self._served[group] = now
            self._served.move_to_end(group)
            if len(self._served) > _MOST_EXPECTED:
                self._served.popitem(last=False)
            shares.begin(group, now)
        return entry

    def done(self, key: Key, taken_at: float, now: float) -> None:
        """Record that a worker is done with a key. taken_at: the time that `take`
        got.
        """
        if self._shares is None:
            return
        group = self._group_of(key)
        count = self._held[group] - 1
        if count:
            self._held[group] = count
        else:
            del self._held[group]
        self._holding -= 1
        self._shares.end(group, taken_at, now)

    def _is_last_free(self, shares: WorkerShares, now: float) -> bool:
        """Return whether groups above their share hold all workers but this one."""
        others = self._workers - 1
        if self._holding < others:
            return False
        above = (n for group, n in self._held.items() if shares.is_above(group, now))
        return sum(above) >= others

    def _next_of_others(
        self, shares: WorkerShares, now: float
    ) -> QueueItem[Key] | None:
        """Take a key of the group that has used the least, if it is within its share.

        Without such a group, a key is taken only if no other group is expected.
        """
        light: list[Hashable] = []
        for seen, group in enumerate(self._ready.groups()):
            if seen >= _MOST_GROUPS or len(light) >= _MOST_LIGHT:
                break
            if not shares.is_above(group, now):
                light.append(group)
        if not light:
            if self._workers > 1 and self._expects_others(shares, now):
                return None
            return self._ready.pop()
        if self._workers == 1:
            self._passed_over += 1
            if self._passed_over >= _BUSY_EVERY:
                self._passed_over = 0
                return self._ready.pop()
        least = min(light, key=lambda group: shares.seconds(group, now))
        return self._ready.pop(least)

    def _expects_others(self, shares: WorkerShares, now: float) -> bool:
        """Return whether a group within its share was served lately."""
        while self._served:
            group, at = next(iter(self._served.items()))
            if now - at <= _EXPECTED_SECONDS:
                break
            del self._served[group]
        groups = reversed(self._served)
        seen = (group for group, _ in zip(groups, range(_MOST_GROUPS), strict=False))
        return any(not shares.is_above(group, now) for group in seen)
