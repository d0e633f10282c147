"""A controller: events of some sources in, reconciles of one kind's objects out.

    source -> predicates -> handler -> queue -> worker -> reconciler -> outcome -> queue

Events arrive on watch threads and only enqueue. Workers are this controller's own
threads. Rules: CT-*.
"""

import threading
from collections.abc import Hashable
from typing import Any

from asoreconcile.clock import Clock
from asoreconcile.errors import check_seconds
from asoreconcile.metrics import RuntimeMetrics
from asoreconcile.objects import ObjectKey
from asoreconcile.queue.workqueue import WorkQueue
from asoreconcile.runtime.health import CheckResult
from asoreconcile.runtime.options import ControllerOptions
from asoreconcile.runtime.reconciler import Reconcile, Reconciler, reconcile_of
from asoreconcile.runtime.sources import CacheSync, EventSources, Watch
from asoreconcile.runtime.worker import Worker
from asoreconcile.runtime.worker_pool import StartThread, WorkerPool, start_daemon
from asoreconcile.threads import Threads
from asoreconcile.tracing import Tracing

# Slow calls may rightly take minutes, and a restart would only make them again.
_NO_PROGRESS_SECONDS = 900.0
_NO_THREAD_SECONDS = 60.0
# Of a stop's time; the rest is for unwinding.
_SHARE_OF_CALLS = 0.9


class Controller:
    """Reconciles the objects of one kind. Public methods are safe from any thread."""

    def __init__(
        self,
        name: str,
        reconciler: Reconciler | Reconcile,
        options: ControllerOptions | None = None,
        *,
        clock: Clock,
        kind: str = "",
        metrics: RuntimeMetrics | None = None,
        threads: Threads | None = None,
        start_thread: StartThread = start_daemon,
        tracing: Tracing | None = None,
    ) -> None:
        """name: unique in a process; the `controller` label and log field.
        reconciler: an object with `reconcile`, or a plain function of a Request. Raises
        TypeError for anything else.
        kind: the `controllerKind` log field; default the name.
        threads: shared by a process that shows what died of it.
        tracing: makes a span of each reconcile.
        """
        options = options or ControllerOptions()
        self.name = name
        self._clock = clock
        self._max_concurrent = options.max_concurrent_reconciles
        self._metrics = metrics.controller(name) if metrics else None
        self._queue: WorkQueue[ObjectKey] = WorkQueue(
            name,
            clock=clock,
            limiter=options.limiter,
            metrics=metrics.queue(name) if metrics else None,
            # Else one team's thousand objects would be served before another's first.
            fairness=options.fairness or _namespace,
            on_ready=self._scale_up,
        )
        self._sources = EventSources(self._queue)
        self._worker = Worker(
            name,
            reconcile_of(reconciler),
            self._queue,
            clock=clock,
            kind=kind or name,
            metrics=self._metrics,
            deadline_seconds=options.deadline_seconds,
            throttle=options.throttle,
            tracing=tracing,
        )
        self._in_flight = self._worker.in_flight
        self._pool = WorkerPool(
            self._queue,
            self._worker.work,
            clock=clock,
            most=self._max_concurrent,
            idle_seconds=options.idle_seconds,
            on_tick=self._in_flight.report_stuck,
            threads=threads,
            start_thread=start_thread,
        )
        self._cache_sync = CacheSync(
            clock,
            self._pool.open,
            timeout_seconds=options.sync_timeout_seconds,
        )
        self._lock = threading.Lock()
        self._started = False

    def watch(self, watch: Watch) -> None:
        """Reconcile what its events ask for. At any time: CT-8."""
        self._sources.add(watch)

    def enqueue(
        self, key: ObjectKey, *, priority: int = 0, after_seconds: float = 0.0
    ) -> None:
        """Have an object reconciled, whether or not an event says so.

        Raises TypeError or ValueError for what is no time.
        """
        check_seconds("after_seconds", after_seconds)
        self._queue.add_after(key, after_seconds, priority=priority)

    def warm_up(self) -> None:
        """Begin to take in events without reconciling: a standby's part. Idempotent.

        Rule: CT-7.
        """
        self._sources.open()

    def start(self) -> None:
        """Reconcile, as soon as all sources have synced. Does not block.

        Raises RuntimeError if started before. Rules: CT-1, CT-7.
        """
        with self._lock:
            if self._started:
                raise RuntimeError(f"controller {self.name} is started already")
            self._started = True
        if self._metrics:
            self._metrics.max_concurrent = self._max_concurrent
        # First: the wait is for the sources that are registered when it begins.
        self.warm_up()
        self._cache_sync.start(self._sources.registrations)

    def stop(self, timeout_seconds: float) -> list[str]:
        """Begin nothing more and wait for what runs, at most so long.

        Calls of the clients that take more than nine tenths of it are cut off. Returns
        what still runs then, as `controller namespace/name (12.3 s)`. May be called
        again, to wait for longer.
        """
        self.ask_to_stop(timeout_seconds)
        return self.wait_until_ended(timeout_seconds)

    def ask_to_stop(self, timeout_seconds: float) -> None:
        """As `stop`, but for the wait: `wait_until_ended` is to follow, of all that are
        stopped together.
        """
        spent = self._clock.monotonic() + timeout_seconds * _SHARE_OF_CALLS
        self.retire()
        self._worker.stopping.stop(spent)

    def retire(self) -> None:
        """Start nothing more; what runs comes to its own end, undisturbed.

        For a controller that another one follows in the same process: what is cut off
        in the middle of a write would be written again beside it. Idempotent; `stop`
        may follow.
        """
        # The worker first, then along the data flow: nothing begins any more, and
        # nothing is queued that nobody will take.
        self._worker.closed.set()
        self._cache_sync.close()
        self._sources.close()
        self._pool.close()
        self._queue.shut_down()

    def wait_until_ended(self, timeout_seconds: float) -> list[str]:
        """After `retire` or `stop`: wait for what runs, at most so long; as `stop`."""
        if self._pool.wait_until_left(timeout_seconds):
            return []
        return self._in_flight.describe() or [f"{self.name} (a worker that is leaving)"]

    @property
    def has_synced(self) -> bool:
        """Whether all sources have synced, so that reconciles may run."""
        return self._cache_sync.is_open

    @property
    def workers(self) -> int:
        """The number of threads now, busy or idle."""
        return self._pool.workers

    def in_flight(self) -> list[dict[str, Any]]:
        """What is reconciled now, as JSON has it, the longest first."""
        return self._in_flight.states()

    def queue_state(self) -> dict[str, Any]:
        """The queue and its workers in numbers, as JSON has them."""
        snapshot = self._queue.snapshot()
        return {
            "ready": sum(snapshot.depth.values()),
            "readyByPriority": dict(snapshot.depth),
            "unclaimed": self._queue.unclaimed(),
            "adds": snapshot.adds,
            "retries": snapshot.retries,
            "longestSeconds": round(snapshot.longest_seconds, 3),
            "workers": self.workers,
            "maxConcurrent": self._max_concurrent,
            "synced": self.has_synced,
        }

    def liveness(self) -> CheckResult:
        """A liveness check: fails when every worker has been on one object for a
        quarter of an hour while others wait, or none was there and none could be
        started for a minute: a new process may find threads again.
        """
        waiting = self._queue.unclaimed()
        hanging = self._in_flight.longer_than(_NO_PROGRESS_SECONDS)
        details = self._in_flight.describe() if hanging else []
        refused = self._pool.refused_seconds()
        if refused:
            details.append(f"{self.name}: no thread to be had for {refused:.0f} s")
        without_workers = refused >= _NO_THREAD_SECONDS and not self._pool.workers
        # Nothing waits: a worker that hangs holds up nobody, and is logged.
        ok = not waiting or (hanging < self._max_concurrent and not without_workers)
        return CheckResult(ok, tuple(details))

    def _scale_up(self) -> None:
        self._pool.scale_up()


def _namespace(key: ObjectKey) -> Hashable:
    return key.namespace
