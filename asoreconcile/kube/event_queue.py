"""The bounded queue of events to write, batched over a short time.

Events are written in batches. Otherwise each event would wake the writer thread and add
a request between the reconciles' own requests.
"""

import threading
from collections import deque
from collections.abc import Callable

from asoreconcile.base.clock import Clock

GATHER_SECONDS = 0.1
# More events are dropped: a reconcile that records one must not wait.
_QUEUED = 1000

EventTask = Callable[[], None]


class EventQueue:
    """A queue of tasks from many threads to one. Safe from any thread; only `next`
    blocks long.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._tasks: deque[EventTask] = deque()
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        self._gathered = False  # whether the queued tasks may be taken now
        self._timed = False
        self._flushes = 0
        self._busy = False
        self._stopping = False
        self._ended = False

    def __len__(self) -> int:
        return len(self._tasks)

    def put(self, task: EventTask, *, always: bool = False) -> bool:
        """Add a task; False, and not added, when the queue is full.

        always: add it even if the queue is full; for the one task that ends the queue.
        """
        with self._lock:
            if len(self._tasks) >= _QUEUED and not always:
                return False
            self._tasks.append(task)
            # Half full: waiting longer could drop events.
            if 2 * len(self._tasks) >= _QUEUED:
                self._gathered = True
                self._changed.notify_all()
            elif not (self._gathered or self._timed):
                self._timed = True
                due = self._clock.monotonic() + GATHER_SECONDS
                self._clock.call_at(due, self._end_gathering)
            return True

    def next(self) -> EventTask | None:
        """Block until a task is due, and return it; None once the queue is stopped and
        empty.

        The call marks the previous task as done.
        """
        with self._lock:
            self._busy = False
            if self._flushes:
                self._changed.notify_all()
            while True:
                if not self._tasks:
                    self._gathered = False
                    if self._stopping:
                        return None
                elif self._gathered or self._flushes or self._stopping:
                    self._busy = True
                    return self._tasks.popleft()
                self._changed.wait()

    def flush(self, timeout_seconds: float) -> bool:
        """Make all tasks due now, and wait for them; False after the timeout."""
        with self._lock:
            # A counter: two threads may flush at once, and the first to finish must not
            # end the other's flush.
            self._flushes += 1
            self._changed.notify_all()
            self._changed.wait_for(
                lambda: self._ended or not self._pending(), timeout_seconds
            )
            self._flushes -= 1
            return not self._pending()

    def stop(self) -> None:
        """Accept no more tasks; `next` returns the remaining ones, then None."""
        with self._lock:
            self._stopping = True
            self._changed.notify_all()

    def end(self) -> None:
        """Release the callers of `flush`, because no thread takes tasks any more."""
        with self._lock:
            self._ended = True
            self._changed.notify_all()

    def _pending(self) -> bool:
        """Return whether tasks are left. The caller holds the lock."""
        return bool(self._tasks) or self._busy

    def _end_gathering(self) -> None:
        with self._lock:
            self._timed = False
            self._gathered = bool(self._tasks)
            self._changed.notify_all()
