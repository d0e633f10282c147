"""The work queue: keys in, each held by one worker at a time, in a fair order.

Watch threads and workers add keys; workers `get` a key, work on it, and call `done`. A
key added many times is queued once; a key added while a worker holds it is handed out
again after `done`. The rules are client-go's dirty/processing contract (WQ-*, DQ-*) and
controller-runtime's priority queue (PQ-*), with their defects left out: adds are
synchronous, and shutting down twice is harmless.

    queue_state.py     each key's item from add to done, and the invariants
    entry_heap.py      entries in an order, without those that are gone
    priority_queue.py  the order in which ready keys are taken
    fair_pick.py       which key a worker takes while one group keeps many workers busy
    worker_shares.py   the worker time that each group has used, in all queues

One lock guards a queue's whole state. Nothing else runs under it: no logging, no
timers, no metrics, and no caller's code but the fairness function and reading the clock
(TH-1). Values that only a scrape needs are computed by the scrape.
"""

import threading
from collections.abc import Callable, Hashable
from typing import Generic, NamedTuple, TypeVar

from asoreconcile.base.backoff import ItemExponential, RateLimiter
from asoreconcile.base.clock import Clock
from asoreconcile.base.errors import check_number
from asoreconcile.base.signatures import check_takes
from asoreconcile.observability.metrics import QueueMetrics, QueueSnapshot
from asoreconcile.queue.deadline_timer import DeadlineTimer
from asoreconcile.queue.fair_pick import FairPick
from asoreconcile.queue.queue_item import QueueItem
from asoreconcile.queue.queue_state import NEVER, QueueState, snapshot_of
from asoreconcile.queue.worker_shares import WorkerShares

LOW_PRIORITY = -100
"""For work that is not urgent: initial lists and resyncs. Rule: PQ-1."""

Key = TypeVar("Key", bound=Hashable)

# client-go's values: the first retry comes at once, the last ones cost almost nothing.
_BASE_SECONDS = 0.005
_MAX_SECONDS = 1000.0
# A sixteenth of the picks takes the longest-waiting key: its wait is bounded, and
# urgent keys are hardly delayed.
_OLDEST_EVERY = 16


class Item(NamedTuple, Generic[Key]):
    """A key handed to a worker, and the priority it was queued with."""

    key: Key
    priority: int


class WorkQueue(Generic[Key]):
    """A work queue of keys. All methods are safe from any thread; only `get` blocks."""

    def __init__(
        self,
        name: str,
        *,
        clock: Clock,
        limiter: RateLimiter | None = None,
        metrics: QueueMetrics | None = None,
        fairness: Callable[[Key], Hashable] | None = None,
        on_ready: Callable[[], None] | None = None,
        oldest_every: int = _OLDEST_EVERY,
        shares: WorkerShares | None = None,
        workers: int = 1,
    ) -> None:
        """limiter: default 5 ms doubling to 1000 s per key.
        fairness: the group of a key, such as its namespace; groups of one priority are
        served in turn (PQ-11). Called under the lock: fast, and must not raise.
        on_ready: called, without the lock, after keys became ready that no worker
        waiting in `get` will take; it may start a worker.
        oldest_every: each such number of picks, one takes the key that has been ready
        the longest, whatever its priority (PQ-10); 0 keeps priorities strict.
        shares: the use of workers by the groups of `fairness`, over all queues; with
        them, groups above their share leave one worker to the others (PQ-12).
        workers: the most threads that call `get`, for the same.
        """
        if fairness is not None:
            check_takes(fairness, "key", what="group of a key")
        check_number("oldest_every", oldest_every, least=0)
        self.name = name
        self._clock = clock
        self._monotonic = clock.monotonic
        if limiter is None:
            limiter = ItemExponential(_BASE_SECONDS, _MAX_SECONDS, clock=clock)
        self._limiter = limiter
        self._metrics = metrics
        self._on_ready = on_ready
        self._lock = threading.Lock()
        self._available = threading.Condition(self._lock)
        self._state: QueueState[Key] = QueueState(fairness, oldest_every)
        self._ready = self._state.ready
        self._pick = FairPick(self._ready, fairness, shares, workers)
        self._retries = 0
        self._waiting = 0
        self._min_waiting = 0
        self._released = 0
        self._shutting_down = False
        self._timer = DeadlineTimer(clock, self._promote)
        if metrics is not None:
            metrics.expose(self.snapshot)

    def add(self, key: Key, *, priority: int = 0) -> None:
        """Add a key now, or as soon as a hold on it ends.

        Ignored while shutting down. A key that is already queued keeps the higher
        priority and the earlier time. Rules: WQ-2, WQ-5, PQ-2, PQ-3, PQ-4.
        """
        self._admit(key, 0.0, priority)

    def add_after(
        self,
        key: Key,
        delay_seconds: float,
        *,
        priority: int = 0,
        not_before: bool = False,
    ) -> None:
        """Add a key after `delay_seconds`; at once if not positive.

        not_before: also hold it for this long: another add does not make it ready
        earlier, and a key that is already ready goes back to waiting. Rules: DQ-1,
        DQ-2, DQ-3.
        """
        hold_seconds = delay_seconds if not_before else 0.0
        self._admit(key, delay_seconds, priority, hold_seconds)

    def add_rate_limited(
        self,
        key: Key,
        *,
        priority: int = 0,
        error: BaseException | None = None,
        hold_seconds: float = 0.0,
    ) -> float:
        """Add a key after the limiter's delay for one more failure. Rule: RL-1.

        error: the failure; the limiter may read a lower bound from it.
        hold_seconds: time in which no other add makes the key ready earlier, as in
        `add_after`. Returns the delay in seconds.
        """
        delay_seconds = self._limiter.delay(key, error)
        self._admit(key, delay_seconds, priority, hold_seconds)
        return delay_seconds

    def forget(self, key: Key) -> None:
        """Clear the key's failures; a queued key stays queued. Rule: CT-4."""
        self._limiter.forget(key)

    def retries(self, key: Key) -> int:
        """Return the key's failures since the last `forget`."""
        return self._limiter.retries(key)

    def get(self) -> Item[Key] | None:
        """Block until a key is ready and take it; call `done` after the work.

        Returns None if the worker should end, because the queue is shut down and
        nothing is ready, or because `release_idle` chose it. Rules: WQ-3, PQ-3, PQ-5.
        """
        with self._lock:
            taken_at = self._monotonic()
            while (entry := self._take(taken_at)) is None:
                if self._shutting_down or self._released:
                    self._released = max(0, self._released - 1)
                    return None
                self._wait()
                taken_at = self._monotonic()
            entry.taken_at = taken_at
            # Copied now: a later add changes the entry.
            key, priority, ready_since = entry.key, entry.priority, entry.ready_since
        if self._metrics is not None:
            self._metrics.queue_seconds.observe(taken_at - ready_since)
        return Item(key, priority)

    def done(self, key: Key) -> None:
        """Mark the key as done. Rules: WQ-4, WQ-5.

        If it was added meanwhile, it joins the tail of its priority. A key that no
        worker
        holds is ignored.
        """
        now = self._monotonic()
        with self._lock:
            taken_at = self._state.finish(key)
            if taken_at is None:
                return
            self._pick.done(key, taken_at, now)
            # A key that was added while it was held becomes ready only now.
            if self._waiting and self._ready:
                self._available.notify()
        if self._metrics is not None:
            self._metrics.work_seconds.observe(now - taken_at)

    def shut_down(self) -> None:
        """Refuse adds, drop delayed keys, and make every `get` return.

        Ready keys are still handed out. Does not wait. Idempotent. Rules: WQ-8, DQ-3,
        PQ-8.
        """
        with self._lock:
            self._shutting_down = True
            self._state.drop_waiting()
            self._available.notify_all()
        self._timer.cancel()

    def __len__(self) -> int:
        """Return the number of ready keys, including those a worker still holds,
        without delayed keys. Rule: PQ-6.
        """
        with self._lock:
            return len(self._ready) + self._state.locked

    @property
    def has_ready(self) -> bool:
        """Return whether a key is ready that no worker holds. Takes no lock."""
        return bool(self._ready)

    def unclaimed(self) -> int:
        """Return the number of ready keys that no worker waiting in `get` will take."""
        with self._lock:
            return max(0, len(self._ready) - self._waiting)

    def release_idle(self) -> int:
        """Release the workers that were never needed since the last call (TH-8).

        Their `get` returns None. Returns how many. Call it once per period.
        """
        with self._lock:
            # This many were idle for the whole period: workers that a burst needs stay.
            count = min(self._min_waiting, self._waiting)
            self._released = min(self._released + count, self._waiting)
            self._min_waiting = self._waiting - count
            # Also a worker that was kept free: it may not be needed for others by now.
            self._available.notify(count or (1 if self._ready else 0))
            return count

    def snapshot(self) -> QueueSnapshot:
        """Return the queue's current numbers, for each scrape."""
        now = self._monotonic()
        with self._lock:
            return snapshot_of(self._state, now=now, retries=self._retries)

    def _admit(
        self,
        key: Key,
        delay_seconds: float,
        priority: int,
        hold_seconds: float = 0.0,
    ) -> None:
        now = self._monotonic()
        ready_at = now + delay_seconds if delay_seconds > 0 else now
        not_before = now + hold_seconds if hold_seconds > 0 else NEVER
        with self._lock:
            if self._shutting_down:
                return
            if delay_seconds > 0:
                self._retries += 1
            unclaimed = self._notify(
                self._state.admit(key, priority, now, ready_at, not_before)
            )
            # The add may have brought forward what waits, to the end of its hold.
            delayed = self._state.delayed
            deadline = delayed.first() if delayed.live else None
        # Without the lock: a timer may have to start a thread, and `on_ready` starts
        # workers.
        if deadline is not None:
            self._timer.set(deadline)
        if unclaimed and self._on_ready is not None:
            self._on_ready()

    def _promote(self) -> None:
        """Make due keys ready; runs on the timer thread."""
        now = self._monotonic()
        with self._lock:
            unclaimed = self._notify(self._state.promote(now))
            deadline = self._state.delayed.first()
        if deadline is not None:
            self._timer.set(deadline)
        if unclaimed and self._on_ready is not None:
            self._on_ready()

    def _notify(self, available: int) -> bool:
        """Wake workers for keys that became ready. Caller holds the lock.

        Returns whether there are ready keys that no worker in `get` will take.
        """
        if not available:
            return False
        if not self._waiting:
            return True
        self._available.notify(available)
        return len(self._ready) > self._waiting

    def _take(self, now: float) -> QueueItem[Key] | None:
        return self._pick.take(now, all_ready=self._shutting_down)

    def _wait(self) -> None:
        """Wait for a key. The caller holds the lock, and holds it again afterwards."""
        self._waiting += 1
        try:
            self._available.wait()
        finally:
            self._waiting -= 1
            self._min_waiting = min(self._min_waiting, self._waiting)
