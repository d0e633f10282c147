"""A controller: takes events from its sources and reconciles the objects of one kind.

    source -> predicates -> handler -> queue -> worker -> reconciler -> outcome -> queue

Event handlers run on watch threads and only enqueue. Each controller has its own worker
threads. Rules: CT-*.
"""

import threading
from collections.abc import Hashable
from typing import Any

from asoreconcile.base.clock import Clock
from asoreconcile.base.errors import check_is, check_seconds
from asoreconcile.base.log import Logger
from asoreconcile.base.objects import ObjectKey
from asoreconcile.base.stop_signal import SHARE_OF_CALLS
from asoreconcile.base.threads import Threads
from asoreconcile.base.tracing import Tracing
from asoreconcile.observability.metrics import RuntimeMetrics
from asoreconcile.queue.worker_shares import WorkerShares
from asoreconcile.queue.workqueue import LOW_PRIORITY, WorkQueue
from asoreconcile.runtime.flight_record import FlightRecord
from asoreconcile.runtime.health import CheckResult
from asoreconcile.runtime.options import ControllerOptions
from asoreconcile.runtime.reconciler import Reconcile, Reconciler, reconcile_of
from asoreconcile.runtime.sources import CacheSync, EventSources, Source, Watch
from asoreconcile.runtime.worker import InFlightReconciles, Worker
from asoreconcile.runtime.worker_pool import WorkerPool

_log = Logger(__name__)
# Slow calls may legitimately take minutes, and a restart would only repeat them.
_NO_PROGRESS_SECONDS = 900.0
_NO_THREAD_SECONDS = 60.0


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
        tracing: Tracing | None = None,
        shares: WorkerShares | None = None,
        record: FlightRecord | None = None,
    ) -> None:
        """name: unique in a process; the `controller` label and log field.
        reconciler: an object with `reconcile`, or a plain function of a Request. Raises
        TypeError for anything else.
        kind: the `controllerKind` log field; default the name.
        threads: starts the threads; share one per process to report threads that died.
        tracing: records a span for each reconcile.
        shares: the worker time of each namespace; share one per process, so that a
        namespace above its share leaves one worker of each controller to the others.
        record: record of the objects in flight, for the process that comes next.
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
            # Otherwise a thousand objects of one namespace would delay the first of
            # another.
            fairness=options.fairness or _namespace,
            on_ready=self._scale_up,
            shares=shares,
            workers=self._max_concurrent,
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
            record=record,
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
        )
        self._cache_sync = CacheSync(
            clock,
            self._opened,
            timeout_seconds=options.sync_timeout_seconds,
        )
        self._lock = threading.Lock()
        self._started = self._is_warming_up = False

    def watch(self, watch: Watch) -> None:
        """Add a source: its events enqueue requests. Callable at any time: CT-8.

        Raises TypeError for a source without `add_handler`.
        """
        check_is("watch", watch, Watch)
        source: object = watch.source
        if not callable(getattr(source, "add_handler", None)):
            raise TypeError(
                f"source is {source!r:.80}: give an informer, or an object with "
                "add_handler"
            )
        self._sources.add(watch)

    def enqueue(
        self, key: ObjectKey, *, priority: int = 0, after_seconds: float = 0.0
    ) -> None:
        """Enqueue an object for a reconcile without an event; not in a replica that
        waits for the lease.

        Raises TypeError or ValueError for an invalid delay.
        """
        check_seconds("after_seconds", after_seconds)
        if self._is_warming_up:
            return
        self._queue.add_after(key, after_seconds, priority=priority)

    def warm_up(self) -> None:
        """Enqueue no keys until `start`, because the queue of a standby would only
        grow.

        The caches are filled meanwhile, and `start` enqueues the objects in them. Rule:
        CT-7.
        """
        self._is_warming_up = True

    def start(self) -> None:
        """Start the workers as soon as all sources have synced. Does not block.

        Raises RuntimeError if started before. Rules: CT-1, CT-7.
        """
        with self._lock:
            if self._started:
                raise RuntimeError(f"controller {self.name} is started already")
            self._started, self._is_warming_up = True, False
        if self._metrics:
            self._metrics.max_concurrent.set(self._max_concurrent)
        # First: the cache sync covers the sources that are registered when it begins.
        self._sources.open()
        self._cache_sync.start(self._sources.registrations)

    def stop(self, timeout_seconds: float) -> list[str]:
        """Start no more reconciles and wait for those in flight, at most this long.

        After four fifths of the time, their client calls are cut off. Returns the
        reconciles still in flight then, as `controller namespace/name (12.3 s)`. May be
        called again, to wait longer.
        """
        self.ask_to_stop(timeout_seconds)
        return self.wait_until_ended(timeout_seconds)

    def ask_to_stop(self, timeout_seconds: float) -> None:
        """Like `stop`, without the wait: call `wait_until_ended` next. Use it to stop
        several controllers together.
        """
        spent = self._clock.monotonic() + timeout_seconds * SHARE_OF_CALLS
        self.retire()
        self._worker.stopping.stop(spent)

    def retire(self) -> None:
        """Start no more reconciles; those in flight end undisturbed.

        For a controller that another one replaces in the same process: if a write were
        cut off, the replacement would repeat it while the first may still take effect.
        Idempotent; `stop` may follow.
        """
        # The worker first, then along the data flow: no reconcile starts any more, and
        # nothing is queued that no worker will take.
        self._worker.closed.set()
        self._cache_sync.close()
        self._sources.close()
        self._pool.close()
        self._queue.shut_down()

    def wait_until_ended(self, timeout_seconds: float) -> list[str]:
        """Wait for reconciles in flight, after `retire` or `stop`. Returns the same as
        `stop`.
        """
        if self._pool.wait_until_left(timeout_seconds):
            return []
        return self._in_flight.describe() or [f"{self.name} (a worker that is leaving)"]

    @property
    def sources(self) -> tuple[Source, ...]:
        """Return the sources that the controller watches."""
        return tuple(self._sources.sources)

    @property
    def has_synced(self) -> bool:
        """Return whether all sources have synced, so that reconciles may run."""
        return self._cache_sync.is_open

    def check_synced(self) -> bool:
        """Check for cache sync now, not at the next poll; if all sources have synced,
        reconciles begin. Returns `has_synced`.
        """
        with self._lock:
            started = self._started
        if started:
            self._cache_sync.check()
        return self.has_synced

    @property
    def workers(self) -> int:
        """The current number of worker threads, busy or idle."""
        return self._pool.workers

    def in_flight(self) -> list[dict[str, Any]]:
        """Return the reconciles in flight, as JSON values, the longest first."""
        return self._in_flight.states()

    @property
    def in_flight_reconciles(self) -> InFlightReconciles:
        """The reconciles in flight, for the watchdog."""
        return self._in_flight

    def take_last(self, key: ObjectKey, held_seconds: float) -> None:
        """Reconcile an object after all others from now on, because a reconcile of it
        held the process for that long; and not for ten times as long.
        """
        rest_seconds = self._worker.taken_last.held(key, held_seconds)
        self._queue.add_after(key, rest_seconds, priority=LOW_PRIORITY, not_before=True)

    def queue_state(self) -> dict[str, Any]:
        """Return numbers about the queue and its workers, as JSON values."""
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
        """Return a liveness check.

        It fails if every worker has been busy with one object for 15 minutes while
        other keys wait, or if there was no worker for a minute because none could be
        started: a new process may get threads again.
        """
        waiting = self._queue.unclaimed()
        hanging = self._in_flight.longer_than(_NO_PROGRESS_SECONDS)
        details = self._in_flight.describe() if hanging else []
        refused = self._pool.refused_seconds()
        if refused:
            details.append(f"{self.name}: no thread to be had for {refused:.0f} s")
        without_workers = refused >= _NO_THREAD_SECONDS and not self._pool.workers
        # Nothing waits: a hanging worker delays no object, and is logged.
        ok = not waiting or (hanging < self._max_concurrent and not without_workers)
        return CheckResult(ok, tuple(details))

    def _opened(self, seconds: float) -> None:
        """Start to reconcile the queued keys, because all sources have synced."""
        _log.info(
            "Watching",
            controller=self.name,
            kinds=self._sources.kinds,
            queued=len(self._queue),
            syncedInSeconds=round(seconds, 3),
        )
        self._pool.open()

    def _scale_up(self) -> None:
        self._pool.scale_up()


def _namespace(key: ObjectKey) -> Hashable:
    return key.namespace
