"""A few threads that run the watches of all kinds.

    a watch receives data  ->  it is due  ->  a free thread runs its next steps

Only one thread at a time runs a watch, and steps run in order. A slow handler blocks
one thread and delays only its own watch. If a due watch has not started within a
second, more threads are started as needed; they end once idle. Rules: TH-9, TH-10.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable
from enum import Enum, auto
from functools import partial

from asoreconcile.base.backoff import Pauses
from asoreconcile.base.clock import Clock, Timer
from asoreconcile.base.coroutines import Coroutine
from asoreconcile.base.errors import StoppedError, is_own_stop
from asoreconcile.base.log import Logger
from asoreconcile.base.threads import Threads

_log = Logger(__name__)

WORKERS = 4
"""They only move received data into the cache, and call handlers that enqueue: more
threads would wait for each other.
"""
# A step takes milliseconds, a long list's a second.
_HELD_UP_SECONDS = 1.0
_FIRST_PAUSE_SECONDS = 1.0
_LAST_PAUSE_SECONDS = 30.0

MakeSteps = Callable[[Callable[[], None]], Coroutine[None]]
"""Makes the steps to run, given their wake function."""


class WatchWorkers:
    """Runs watches until they are stopped. Safe from any thread."""

    def __init__(self, *, clock: Clock, threads: Threads) -> None:
        self._clock = clock
        self._threads = threads
        # The lock itself: `with` on the condition costs twice as much, and every watch
        # event passes here.
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        self._due: OrderedDict[WatchTask, None] = OrderedDict()
        self._running: dict[int, tuple[WatchTask, float]] = {}  # by thread
        self._started = 0
        self._workers = 0
        self._idle = self._starting = 0
        self._numbers = 0
        self._timer: Timer | None = None
        self._has_timers = self._is_stopped = False

    def start(
        self, name: str, make_steps: MakeSteps, *, stopping: threading.Event
    ) -> "WatchTask":
        """Run a watch from now on. make_steps: function that makes the steps; called
        again after steps that raised.

        stopping: event that ends the steps; set it and wake the watch. If no worker
        thread can be started, the watch starts later. Raises RuntimeError, with nothing
        started, if the clock's timer thread cannot be started: no pause would ever end.
        """
        self._ensure_timers()
        task = WatchTask(
            name,
            make_steps,
            stopping=stopping,
            workers=self,
            clock=self._clock,
            threads=self._threads,
        )
        task.begin()
        return task

    def stop(self) -> None:
        """End the threads once no watch is due. Idempotent."""
        with self._lock:
            self._is_stopped = True
            self._changed.notify_all()

    def held_up(self) -> dict[str, float]:
        """Return the names of watches with slow handlers, with the seconds so far."""
        now = self._clock.monotonic()
        with self._lock:
            running = list(self._running.values())
        return {
            task.name: now - began
            for task, began in running
            if now - began >= _HELD_UP_SECONDS
        }

    def add(self, task: "WatchTask") -> None:
        """Queue a task for the next free thread."""
        with self._lock:
            self._due[task] = None
            if self._idle:
                self._changed.notify()
            if self._lack():
                if self._workers < WORKERS:
                    self._start_worker()
                self._look_later()

    def withdraw(self, task: "WatchTask") -> None:
        """Remove a due task. Does nothing if a thread has taken it already."""
        with self._lock:
            self._due.pop(task, None)

    def _ensure_timers(self) -> None:
        # A clock's first timer starts its thread, which then stays.
        if not self._has_timers:
            self._clock.call_at(self._clock.monotonic(), lambda: None).cancel()
            self._has_timers = True

    def _lack(self) -> bool:
        """Return whether more tasks are due than threads are idle. The caller holds the
        lock.
        """
        return len(self._due) > self._idle + self._starting

    def _look_later(self) -> None:
        """Check in a second whether all due tasks have started. The caller holds the
        lock.
        """
        if self._timer is None and self._lack():
            deadline = self._clock.monotonic() + _HELD_UP_SECONDS
            look = partial(self._look, self._started)
            self._timer = self._clock.call_at(deadline, look)

    def _look(self, started_before: int) -> None:
        with self._lock:
            self._timer = None
            # While tasks are being started, the threads keep up.
            if self._due and self._started == started_before:
                for _ in range(max(1, min(len(self._due), self._workers))):
                    self._start_worker()
            self._look_later()
        held = self.held_up()
        if held:
            _log.warning(
                "Event handlers block: a handler should only enqueue requests",
                watches=sorted(held),
                threads=self._workers,
            )

    def _start_worker(self) -> None:
        """Start a worker thread; it is not counted if it cannot be started. The caller
        holds the lock.
        """
        self._numbers += 1
        try:
            self._threads.start(f"watch-worker-{self._numbers}", self._work)
        except RuntimeError as error:
            _log.warning("Cannot start a thread", reason=str(error))
        else:
            self._workers += 1
            self._starting += 1

    def _work(self) -> None:
        with self._lock:
            self._starting = max(0, self._starting - 1)
        while (task := self._next()) is not None:
            try:
                task.step()
            except BaseException:
                with self._lock:
                    del self._running[threading.get_ident()]
                raise
            del task  # a thread that waits must not keep an ended watch

    def _next(self) -> "WatchTask | None":
        """Return the next task for this thread; None if the thread should end."""
        this = threading.get_ident()
        with self._lock:
            self._running.pop(this, None)
            while not self._due:
                if self._is_stopped or self._workers > WORKERS:
                    self._workers -= 1
                    return None
                self._idle += 1
                try:
                    self._changed.wait()
                finally:
                    self._idle -= 1
            task, _ = self._due.popitem(last=False)
            self._started += 1
            self._running[this] = (task, self._clock.monotonic())
            return task


class _State(Enum):
    """The states of a watch. `WatchTask` says which state follows which."""

    DUE = auto()
    RUNNING = auto()
    WOKEN = auto()  # running, and due again after this run
    PARKED = auto()  # until a wake
    PAUSED = auto()  # until the pause ends, or a wake that is to stop the watch
    OVER = auto()


class WatchTask:
    """A watch that the workers run.

        due -> running -> parked, paused or due -> running ... -> over

    A wake during a run makes the watch due again. A stopped watch that does not run and
    has no steps to close is over without a further run.
    """

    def __init__(
        self,
        name: str,
        make_steps: MakeSteps,
        *,
        stopping: threading.Event,
        workers: WatchWorkers,
        clock: Clock,
        threads: Threads,
    ) -> None:
        """Create a task; `WatchWorkers.start` does."""
        self.name = name
        self._make_steps = make_steps
        self._stopping = stopping
        self._workers = workers
        self._clock = clock
        self._threads = threads
        self._lock = threading.Lock()
        self._state = _State.DUE
        self._pauses = 0  # so far; a timer ends its own pause and no later one
        self._timer: Timer | None = None
        self._over = threading.Event()
        # Used only by the thread that runs it.
        self._steps: Coroutine[None] | None = None
        self._crash_pauses = Pauses(_FIRST_PAUSE_SECONDS, _LAST_PAUSE_SECONDS)
        self._revived: Callable[[], None] | None = None

    def begin(self) -> None:
        """Make the watch due for the first time."""
        self._workers.add(self)

    def join(self, timeout_seconds: float) -> bool:
        """Wait for the end of the watch. Returns whether it has ended.

        A stopping watch that has not started, or has crashed, ends at once, because a
        thread may never be free for it.
        """
        with self._lock:
            # In these states no thread runs it, so that the steps can be looked at.
            ends_here = (
                self._stopping.is_set()
                and self._state in (_State.DUE, _State.PAUSED)
                and self._steps is None
            )
            if ends_here:
                self._state = _State.OVER
        if ends_here:
            self._workers.withdraw(self)
            self._end()
        return self._over.wait(timeout_seconds)

    def wake(self) -> None:
        """Make the watch due, unless it pauses and is not stopping. Any thread; does
        not block.
        """
        with self._lock:
            state = self._state
            if state is _State.RUNNING:
                self._state = _State.WOKEN
                return
            if state is not _State.PARKED and not (
                state is _State.PAUSED and self._stopping.is_set()
            ):
                return
            self._state = _State.DUE
        self._workers.add(self)

    def step(self) -> None:
        """Run the watch until it waits. One thread at a time; never raises."""
        with self._lock:
            if self._state is _State.OVER:
                return
            self._state = _State.RUNNING
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        try:
            pause = self._advanced()
        except StopIteration:
            self._end()
            return
        except BaseException as error:  # noqa: BLE001 - it ends this watch's steps, and no thread
            if is_own_stop(error, self._stopping):
                self._end()
                return
            pause = self._crashed(error)
        self._wait(pause)

    def _advanced(self) -> float | None:
        if self._revived is not None:
            self._revived()
            self._revived = None
        if self._steps is None:
            if self._stopping.is_set():
                raise StoppedError("the watch is stopping")
            self._steps = self._make_steps(self.wake)
        return next(self._steps)

    def _crashed(self, error: BaseException) -> float:
        """Handle a crash. Returns the seconds until the steps are made again."""
        pause = self._crash_pauses.next()
        self._steps = None
        self._revived = self._threads.fell(self.name, error, starts_again_in=pause)
        return pause

    def _wait(self, pause: float | None) -> None:
        with self._lock:
            if pause is None:
                is_due = self._state is _State.WOKEN
                self._state = _State.DUE if is_due else _State.PARKED
            else:
                is_due = self._stopping.is_set()
                self._state = _State.DUE if is_due else _State.PAUSED
                self._pauses += 1
            number = self._pauses
        if is_due:
            self._workers.add(self)
        elif pause is not None:
            deadline = self._clock.monotonic() + pause
            # The next run may already have started: then the timer finds nothing to do.
            self._timer = self._clock.call_at(deadline, partial(self._resume, number))

    def _resume(self, pause: int) -> None:
        with self._lock:
            if self._state is not _State.PAUSED or self._pauses != pause:
                return
            self._state = _State.DUE
        self._workers.add(self)

    def _end(self) -> None:
        with self._lock:
            self._state = _State.OVER
        # A stopped task is not restarted, and must not be shown as down.
        if self._revived is not None:
            self._revived()
            self._revived = None
        if self._steps is not None:
            self._steps.close()
        self._over.set()
