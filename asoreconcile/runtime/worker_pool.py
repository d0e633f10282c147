"""A controller's worker threads: started when keys wait, ended when idle. Rule: TH-8.

With hundreds of kinds, most of which are quiet, standing threads would cost memory for
nothing.
"""

import threading
from collections.abc import Callable, Hashable
from typing import Any, Generic, Protocol, TypeVar

from asoreconcile.clock import Clock
from asoreconcile.lazy_event import LazyEvent
from asoreconcile.log import Logger
from asoreconcile.queue.deadline_timer import DeadlineTimer
from asoreconcile.queue.workqueue import Item, WorkQueue
from asoreconcile.threads import Threads, begin

_log = Logger(__name__)

# A fixed time: the limiter may be what has failed.
_AGAIN_SECONDS = 30.0
# Nothing says when the machine has threads again.
_RETRY_SECONDS = 1.0

Key = TypeVar("Key", bound=Hashable)


class StartThread(Protocol):
    """Starts a daemon thread (TH-10)."""

    def __call__(self, name: str, target: Callable[[], None]) -> Any: ...


def start_daemon(name: str, target: Callable[[], None]) -> None:
    """Start a thread that does not keep the process alive.

    Raises NoThreadError where the machine starts no more.
    """
    begin(threading.Thread(target=target, name=name, daemon=True))


class WorkerPool(Generic[Key]):
    """Up to `most` threads that take keys from one queue. Safe from any thread.

    A machine that starts no more threads loses nothing: its workers go on, and
    it is tried again each second. Adding a key never fails for it.
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
        start_thread: StartThread = start_daemon,
    ) -> None:
        """work: what to do with a taken key; `done` is called after it, always.
        idle_seconds: a worker that no key needed for so long leaves (at most twice
        that). on_tick: called at that period too while there are workers. threads:
        counts the keys that a worker would have died of.
        """
        self._queue = queue
        self._work = work
        self._clock = clock
        self._most = most
        self._idle_seconds = idle_seconds
        self._on_tick = on_tick
        self._threads = threads or Threads.timed_by(clock)
        self._start_thread = start_thread
        self._lock = threading.Lock()
        self._workers = 0
        self._starting = 0
        self._open = False
        self._closed = False
        self._refused_since: float | None = None
        self._all_left = LazyEvent()
        self._all_left.set()
        self._timer = DeadlineTimer(clock, self._tick)
        self._retry = DeadlineTimer(clock, self.scale_up)

    @property
    def workers(self) -> int:
        """How many threads there are now, idle ones included."""
        return self._workers

    def refused_seconds(self) -> float:
        """For how long the machine has started no worker that was needed; else 0."""
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
        """Start no more workers. Those there are end with the queue."""
        with self._lock:
            self._open, self._closed = False, True
        self._timer.cancel()
        self._retry.cancel()

    def scale_up(self) -> None:
        """Start workers for the ready keys that none is there to take."""
        # Without the lock first: this is called with each key that no idle worker
        # takes.
        if not self._has_room():
            return  # a worker that leaves looks again, after it is out of the count
        with self._lock:
            if not self._has_room():
                return
            # Those that are starting will take some: else each key that comes meanwhile
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
            # What is raised differs by what is short: threads, processes or memory.
            except (RuntimeError, OSError, MemoryError) as error:
                self._give_up(count - started, error)
                break
        if first:
            self._timer.set(self._clock.monotonic() + self._idle_seconds)

    def wait_until_left(self, timeout_seconds: float) -> bool:
        """Block until no worker is left (True) or the time is over."""
        return self._clock.wait(self._all_left, timeout_seconds)

    def _has_room(self) -> bool:
        return self._open and self._workers < self._most

    def _give_up(self, count: int, error: BaseException) -> None:
        """So many workers could not be started: as if they had never been counted."""
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
        """Caller holds the lock."""
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
        """What went wrong beside the reconciler has not reached the queue: without
        this the key would be lost until its next event.
        """
        self._threads.record_crash(f"{self._queue.name}-worker", error)
        self._queue.add_after(item.key, _AGAIN_SECONDS, priority=item.priority)

    def _leave(self) -> None:
        with self._lock:
            self._release_places(1)
        # A key may have come after `get` let this worker go and before it left.
        self.scale_up()

    def _tick(self) -> None:
        self._queue.release_idle()
        self._on_tick()
        with self._lock:
            again = self._workers > 0 and self._open
        if again:
            self._timer.set(self._clock.monotonic() + self._idle_seconds)
