"""A controller's worker threads: started when keys wait, ended when idle. Rule: TH-8.

With hundreds of kinds, most of them quiet, permanent threads would waste memory.
"""

import threading
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from asoreconcile.base.clock import Clock, wait_at_most
from asoreconcile.base.log import Logger
from asoreconcile.base.threads import Threads, start_thread
from asoreconcile.queue.deadline_timer import DeadlineTimer
from asoreconcile.queue.workqueue import Item, WorkQueue

_log = Logger(__name__)

# A fixed time: the limiter itself may have failed.
_AGAIN_SECONDS = 30.0
# No event says when the machine has threads again.
_RETRY_SECONDS = 1.0

Key = TypeVar("Key", bound=Hashable)


def start_daemon(name: str, target: Callable[[], None]) -> None:
    """Start a thread that does not keep the process alive.

    Raises NoThreadError if the machine cannot start one.
    """
    start_thread(threading.Thread(target=target, name=name, daemon=True))


class WorkerPool(Generic[Key]):
    """Up to `most` threads that take keys from one queue. Safe from any thread.

    If the machine cannot start more threads, no key is lost: the existing workers go
    on, and the pool retries each second. Adding a key does not fail then.
    """

    def __init__(
        self,
        queue: WorkQueue[Key],
        work: Callable[[Item[Key]], None],
        *,
        clock: Clock,
        most: int,
        idle_seconds: float,
        on_tick: Callable[[], None] = lambda: None,
        threads: Threads | None = None,
    ) -> None:
        """work: called with each taken key; the pool always calls `done` after it.
        idle_seconds: a worker that was not needed for this long ends (after at most
        twice that). on_tick: also called at that period while there are workers.
        threads: the process's threads, which count errors that would have ended a
        worker.
        """
        self._queue = queue
        self._work = work
        self._clock = clock
        self._most = most
        self._idle_seconds = idle_seconds
        self._on_tick = on_tick
        self._threads = threads or Threads(clock)
        self._start_thread = start_daemon
        self._lock = threading.Lock()
        self._workers = 0
        self._starting = 0
        self._open = False
        self._closed = False
        self._refused_since: float | None = None
        self._all_left = threading.Event()
        self._all_left.set()
        self._timer = DeadlineTimer(clock, self._tick)
        self._retry = DeadlineTimer(clock, self.scale_up)

    @property
    def workers(self) -> int:
        """The current number of threads, including idle ones."""
        return self._workers

    def refused_seconds(self) -> float:
        """The seconds since the first failed start of a needed worker; 0 if workers can
        be started.
        """
        with self._lock:
            since = self._refused_since
        return 0.0 if since is None else self._clock.monotonic() - since

    def open(self) -> None:
        """Start workers from now on, unless it was closed meanwhile."""
        with self._lock:
            if self._closed:
                return
            self._open = True
        self.scale_up()

    def close(self) -> None:
        """Start no more workers. Existing ones end when the queue shuts down."""
        with self._lock:
            self._open, self._closed = False, True
        self._timer.cancel()
        self._retry.cancel()

    def scale_up(self) -> None:
        """Start workers for ready keys that no worker will take."""
        # First without the lock: this runs for each key that no idle worker takes.
        if not self._has_room():
            return  # a worker that ends checks again, after it is no longer counted
        with self._lock:
            if not self._has_room():
                return
            # Starting workers will take some keys: otherwise each key added meanwhile
            # would start one more.
            wanted = self._queue.unclaimed() - self._starting
            count = max(0, min(wanted, self._most - self._workers))
            first = count > 0 and self._workers == 0
            self._workers += count
            self._starting += count
            if count:
                self._all_left.clear()
            else:
                self._refused_since = None
        for started in range(count):
            try:
                self._start_thread(f"{self._queue.name}-worker", self._run)
            # The exception depends on the exhausted resource: threads, processes or
            # memory.
            except (RuntimeError, OSError, MemoryError) as error:
                self._give_up(count - started, error)
                break
        if first:
            self._timer.set(self._clock.monotonic() + self._idle_seconds)

    def wait_until_left(self, timeout_seconds: float) -> bool:
        """Block until no worker is left (True) or the time has passed (False)."""
        return wait_at_most(self._clock, self._all_left, timeout_seconds)

    def _has_room(self) -> bool:
        return self._open and self._workers < self._most

    def _give_up(self, count: int, error: BaseException) -> None:
        """Subtract workers from the count that could not be started."""
        now = self._clock.monotonic()
        with self._lock:
            self._starting -= count
            first = self._refused_since is None
            if first:
                self._refused_since = now
            again = self._open
            self._release_places(count)
        if first:
            _log.error(
                "Workers cannot be started; trying again",
                queue=self._queue.name,
                workers=self._workers,
                error=str(error),
            )
        if again:
            self._retry.set(now + _RETRY_SECONDS)

    def _release_places(self, count: int) -> None:
        """Subtract workers from the count, and wake threads that wait for the last one.
        The caller holds the lock.
        """
        self._workers -= count
        if not self._workers:
            self._all_left.set()

    def _run(self) -> None:
        with self._lock:
            self._starting -= 1
            self._refused_since = None
        try:
            while (item := self._queue.get()) is not None:
                try:
                    self._work(item)
                except BaseException as error:  # noqa: BLE001 - one key must not end a worker
                    self._survive(item, error)
                finally:
                    self._queue.done(item.key)
        finally:
            self._leave()

    def _survive(self, item: Item[Key], error: BaseException) -> None:
        """Requeue a key after an error outside the reconciler: otherwise it would be
        lost until its next event.
        """
        self._threads.record_crash(f"{self._queue.name}-worker", error)
        self._queue.add_after(item.key, _AGAIN_SECONDS, priority=item.priority)

    def _leave(self) -> None:
        with self._lock:
            self._release_places(1)
        # A key may have been added after `get` released this worker and before it
        # ended.
        self.scale_up()

    def _tick(self) -> None:
        self._queue.release_idle()
        self._on_tick()
        with self._lock:
            again = self._workers > 0 and self._open
        if again:
            self._timer.set(self._clock.monotonic() + self._idle_seconds)
