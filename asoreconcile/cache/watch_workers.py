"""A few threads that run all watches: each whichever has something to do.

    something came for a watch  ->  it is due  ->  a free thread runs its next steps

One thread at a time runs a watch, in the order in which things came. A handler that
takes its time holds a thread, and so its own watch alone: what is due and not begun
within a second gets further threads, as many as it takes, which end once idle. Rules:
TH-9, TH-10.
"""

import threading
from collections import deque
from collections.abc import Callable
from functools import partial

from asoreconcile.clock import Clock, Timer
from asoreconcile.errors import StoppedError
from asoreconcile.lazy_event import LazyEvent
from asoreconcile.log import Logger
from asoreconcile.steps import Stepwise
from asoreconcile.threads import Threads

_log = Logger(__name__)

WORKERS = 4
"""They only move what came into the cache, and call handlers that enqueue: more of them
would wait for each other."""
# A step takes milliseconds, a long list's a second.
_HELD_UP_SECONDS = 1.0
_FIRST_PAUSE_SECONDS = 1.0
_LAST_PAUSE_SECONDS = 30.0

MakeSteps = Callable[[Callable[[], None]], Stepwise[None]]
"""What to run, given what wakes it."""


class WatchWorkers:
    """Runs watches until they are stopped. Safe from any thread."""

    def __init__(self, *, clock: Clock, threads: Threads) -> None:
        self._clock = clock
        self._threads = threads
        # Taken as it is: `with` on the condition costs twice as much, and each event of
        # each watch comes by here.
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        self._due: deque[WatchTask] = deque()
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
        """Run a watch from now on. make_steps: called again after one that raised.

        stopping: set, and the watch woken, once its steps are to end. Where the machine
        gives no thread it begins later. Raises RuntimeError, with nothing begun, where
        it gives none for the clock's timers: no pause would ever end.
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
        """End the threads once nothing is due. Idempotent."""
        with self._lock:
            self._is_stopped = True
            self._changed.notify_all()

    def held_up(self) -> dict[str, float]:
        """The names of watches whose handlers take their time, and for how many seconds
        by now.
        """
        now = self._clock.monotonic()
        with self._lock:
            running = list(self._running.values())
        return {
            task.name: now - began
            for task, began in running
            if now - began >= _HELD_UP_SECONDS
        }

    def add(self, task: "WatchTask") -> None:
        """Have a task run as soon as a thread is free."""
        with self._lock:
            self._due.append(task)
            if self._idle:
                self._changed.notify()
            if self._lack():
                if self._workers < WORKERS:
                    self._start_worker()
                self._look_later()

    def withdraw(self, task: "WatchTask") -> bool:
        """Have a task not run that is due; whether it was."""
        with self._lock:
            try:
                self._due.remove(task)
            except ValueError:
                return False
        return True

    def _ensure_timers(self) -> None:
        # The first one of a clock starts its thread, which then stays.
        if not self._has_timers:
            self._clock.call_at(self._clock.monotonic(), _nothing).cancel()
            self._has_timers = True

    def _lack(self) -> bool:
        """Whether more is due than there are threads without work. The caller holds the
        lock.
        """
        return len(self._due) > self._idle + self._starting

    def _look_later(self) -> None:
        """See in a second whether all that is due was begun. The caller holds the
        lock.
        """
        if self._timer is None and self._lack():
            deadline = self._clock.monotonic() + _HELD_UP_SECONDS
            look = partial(self._look, self._started)
            self._timer = self._clock.call_at(deadline, look)

    def _look(self, started_before: int) -> None:
        with self._lock:
            self._timer = None
            # As long as something is begun they get through it.
            if self._due and self._started == started_before:
                for _ in range(max(1, min(len(self._due), self._workers))):
                    self._start_worker()
            self._look_later()
        held = self.held_up()
        if held:
            _log.warning(
                "Handlers take long: they are to enqueue, and return",
                watches=sorted(held),
                threads=self._workers,
            )

    def _start_worker(self) -> None:
        """The caller holds the lock. Not counted where the machine gives none."""
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
        task = self._next()
        while task is not None:
            try:
                task.step()
            except BaseException:
                with self._lock:
                    del self._running[threading.get_ident()]
                raise
            task = self._next()

    def _next(self) -> "WatchTask | None":
        """What this thread is to run now, in place of what it ran; None: it ends."""
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
            task = self._due.popleft()
            self._started += 1
            self._running[this] = (task, self._clock.monotonic())
            return task


def _nothing() -> None:
    """What a timer calls that is only there to be had."""


class WatchTask:
    """One watch as the workers run it.

        parked -> due -> running -> parked, due again or paused; over

    A wake while it runs makes it due again.
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
        """`WatchWorkers.start` makes them."""
        self.name = name
        self._make_steps = make_steps
        self._stopping = stopping
        self._workers = workers
        self._clock = clock
        self._threads = threads
        self._lock = threading.Lock()
        self._is_parked = False
        self._pause: object | None = None
        self._was_woken = False
        self._timer: Timer | None = None
        self._over = LazyEvent()
        # Of whoever runs it.
        self._steps: Stepwise[None] | None = None
        self._crash_pause = _FIRST_PAUSE_SECONDS
        self._revived: Callable[[], None] | None = None

    def begin(self) -> None:
        """Make it due for the first time."""
        self._workers.add(self)

    def join(self, timeout_seconds: float) -> bool:
        """Whether it is over, within the time. One that is to stop, and that no thread
        has begun, is over at once: there may never be a thread for it.
        """
        if (
            self._stopping.is_set()
            and self._steps is None
            and self._workers.withdraw(self)
        ):
            self._over.set()
        return self._over.wait(timeout_seconds)

    def wake(self) -> None:
        """Run it, unless it pauses and is not to stop. Any thread; does not block."""
        with self._lock:
            if self._pause is not None and self._stopping.is_set():
                self._pause = None
            elif self._is_parked:
                self._is_parked = False
            else:
                self._was_woken = True
                return
        self._workers.add(self)

    def step(self) -> None:
        """Run it to where it waits. One thread at a time; raises nothing."""
        with self._lock:
            self._was_woken = False
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        try:
            pause = self._advanced()
        except (StopIteration, StoppedError):
            self._end()
            return
        except BaseException as error:  # noqa: BLE001 - it ends this watch's steps, and no thread
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
        """Seconds until it is made anew."""
        pause = self._crash_pause
        self._steps = None
        self._revived = self._threads.fell(self.name, error, starts_again_in=pause)
        self._crash_pause = min(2 * pause, _LAST_PAUSE_SECONDS)
        return pause

    def _wait(self, pause: float | None) -> None:
        this = object()
        with self._lock:
            if pause is None:
                self._is_parked = not self._was_woken
                is_due = self._was_woken
            else:
                is_due = self._stopping.is_set()
                self._pause = None if is_due else this
                self._was_woken = False
        if is_due:
            self._workers.add(self)
        elif pause is not None:
            deadline = self._clock.monotonic() + pause
            # Who runs it next may have begun: then the timer finds nothing to do.
            self._timer = self._clock.call_at(deadline, partial(self._resume, this))

    def _resume(self, pause: object) -> None:
        with self._lock:
            if self._pause is not pause:
                return
            self._pause = None
        self._workers.add(self)

    def _end(self) -> None:
        if self._steps is not None:
            self._steps.close()
        self._over.set()
