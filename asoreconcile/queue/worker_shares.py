"""The share of the workers that each fairness group, such as a namespace, has used.

    shares = WorkerShares(clock)                 # one per process
    WorkQueue(..., shares=shares, workers=4)

A group that keeps workers busy for long is above its share. Together, the groups above
their share leave one worker of each queue to the others, for as long as there are
others. A queue with one worker hands it to the others first.
"""

import threading
from collections.abc import Hashable

from asoreconcile.base.clock import Clock
from asoreconcile.base.recent_use import RecentUse

SHARE_SECONDS = 2.0
"""Recent seconds of worker time that are within the share of any group."""


class WorkerShares:
    """Seconds of worker time by group, over all queues. Safe from any thread.

    Does not block: its lock is held for a moment, also under the lock of a queue.
    """

    def __init__(self, clock: Clock) -> None:
        self._monotonic = clock.monotonic
        self._lock = threading.Lock()
        self._use: RecentUse[Hashable] = RecentUse(SHARE_SECONDS)

    def begin(self, group: Hashable, now: float) -> None:
        """Record that a worker takes a key of a group."""
        with self._lock:
            self._use.begin(group, now)

    def end(self, group: Hashable, began: float, now: float) -> None:
        """Record that the worker is done. began: time that `begin` got."""
        with self._lock:
            self._use.end(group, began, now)

    def seconds(self, group: Hashable, now: float) -> float:
        """Return the recent seconds of a group."""
        with self._lock:
            return self._use.seconds(group, now)

    def is_above(self, group: Hashable, now: float) -> bool:
        """Return whether a group is above its share."""
        with self._lock:
            return self._use.is_above_share(group, now)

    def above(self) -> dict[Hashable, float]:
        """Return the groups above their share now, with their recent seconds."""
        now = self._monotonic()
        with self._lock:
            return self._use.above_share(now)
