"""A controller: events of some sources in, reconciles of one kind's objects out.

    source -> predicates -> handler -> queue -> worker -> reconciler -> outcome -> queue

Events arrive on watch threads and only enqueue. Workers are this controller's own
threads. Rules: CT-*.
"""

import threading
import uuid
from collections.abc import Callable, Hashable, Sequence

from asoreconcile.backoff import RateLimiter
from asoreconcile.cache.events import Event
from asoreconcile.clock import Clock
from asoreconcile.log import Logger, bound
from asoreconcile.metrics import RuntimeMetrics
from asoreconcile.objects import ObjectKey
from asoreconcile.queue.workqueue import Item, WorkQueue
from asoreconcile.runtime.current import running
from asoreconcile.runtime.handlers import Handler, enqueue_self, priority_of
from asoreconcile.runtime.health import Verdict
from asoreconcile.runtime.outcome import (
    Finished,
    GiveUp,
    Outcome,
    Retry,
    Stopped,
    judge,
    label_of,
)
from asoreconcile.runtime.passes import Passes
from asoreconcile.runtime.predicates import Predicate
from asoreconcile.runtime.reconciler import Reconciler, Request, Result
from asoreconcile.runtime.source import Registration, Source
from asoreconcile.runtime.syncing import SyncGate
from asoreconcile.runtime.throttle import Throttle
from asoreconcile.runtime.workforce import StartThread, Workforce, start_daemon

_log = Logger(__name__)

_STUCK_AFTER_SECONDS = 300.0
_NO_PROGRESS_SECONDS = 900.0


class Controller:
    """Reconciles the objects of one kind. Public methods are safe from any thread."""

    def __init__(
        self,
        name: str,
        reconciler: Reconciler,
        *,
        clock: Clock,
        kind: str = "",
        max_concurrent_reconciles: int = 1,
        limiter: RateLimiter | None = None,
        metrics: RuntimeMetrics | None = None,
        fairness: Callable[[ObjectKey], Hashable] | None = None,
        reconcile_deadline_seconds: float | None = None,
        throttle: Throttle | None = None,
        sync_timeout_seconds: float = 120.0,
        idle_seconds: float = 30.0,
        start_thread: StartThread = start_daemon,
    ) -> None:
        """name: unique in a process; the `controller` label and log field.
        kind: the `controllerKind` log field; default the name.
        fairness: the group of a key for round-robin (PQ-11); default its namespace.
        reconcile_deadline_seconds: what `current.deadline()` says; nothing is killed.
        throttle: whose turns reconciles wait for, before their time begins to count.
        sync_timeout_seconds: when to warn about sources that do not sync.
        idle_seconds: how long an unneeded worker stays.
        """
        self.name = name
        self._kind = kind or name
        self._reconciler = reconciler
        self._clock = clock
        self._deadline_seconds = reconcile_deadline_seconds
        self._throttle = throttle
        self._max_concurrent = max_concurrent_reconciles
        self._metrics = metrics.controller(name) if metrics else None
        self._queue: WorkQueue[ObjectKey] = WorkQueue(
            name,
            clock=clock,
            limiter=limiter,
            metrics=metrics.queue(name) if metrics else None,
            fairness=fairness or _namespace,
            on_ready=self._hire,
        )
        self._passes = Passes(
            name,
            clock=clock,
            stuck_after_seconds=reconcile_deadline_seconds or _STUCK_AFTER_SECONDS,
        )
        self._workforce = Workforce(
            self._queue,
            self._work,
            clock=clock,
            most=max_concurrent_reconciles,
            idle_seconds=idle_seconds,
            on_tick=self._passes.report_stuck,
            start_thread=start_thread,
        )
        self._gate = SyncGate(
            clock, self._workforce.open, timeout_seconds=sync_timeout_seconds
        )
        self._lock = threading.Lock()
        self._watches: list[Callable[[], Registration]] = []
        self._registrations: list[Registration] = []
        self._warm = False
        self._started = False
        self._stopping = threading.Event()

    def watch(
        self,
        source: Source,
        *,
        handler: Handler = enqueue_self,
        predicates: Sequence[Predicate] = (),
        resync_seconds: float = 0.0,
    ) -> None:
        """Let a source's events enqueue requests; before or after `start` (CT-2).

        predicates: all must say yes for an event to count. They and the handler run on
        the watch thread: short, and never blocking.
        resync_seconds: how often the source tells everything again; 0 is never.
        """

        def begin() -> Registration:
            return source.add_handler(on_event, resync_seconds=resync_seconds)

        def on_event(event: Event) -> None:
            if all(predicate(event) for predicate in predicates):
                priority = priority_of(event)
                for request in handler(event):
                    self._queue.add(request.key, priority=priority)

        with self._lock:
            if not self._warm:
                self._watches.append(begin)
                return
        self._registrations.append(begin())

    def enqueue(
        self, key: ObjectKey, *, priority: int = 0, after_seconds: float = 0.0
    ) -> None:
        """Have an object reconciled, whether or not an event says so."""
        self._queue.add_after(key, after_seconds, priority=priority)

    def warm_up(self) -> None:
        """Begin to take in events without reconciling: a standby's part. Idempotent.

        Rule: CT-7.
        """
        with self._lock:
            if self._warm:
                return
            self._warm = True
            watches, self._watches = self._watches, []
        # Without the lock: a source delivers what it holds before it returns.
        for begin in watches:
            self._registrations.append(begin())

    def start(self) -> None:
        """Reconcile, as soon as all sources have synced. Does not block.

        Raises RuntimeError if started before. Rules: CT-1, CT-7.
        """
        with self._lock:
            if self._started:
                raise RuntimeError(f"controller {self.name} is started already")
            self._started = True
        if self._metrics:
            self._metrics.max_concurrent.set(self._max_concurrent)
        self.warm_up()
        self._gate.start(self._registrations)

    def stop(self, timeout_seconds: float) -> list[str]:
        """Begin nothing more and wait for what runs, at most so long.

        Returns what still runs then, as `controller namespace/name (12.3 s)`. May be
        called again, to wait for longer.
        """
        self._stopping.set()
        self._gate.close()
        with self._lock:
            registrations = tuple(self._registrations)
            self._registrations.clear()
        for registration in registrations:
            registration.remove()
        self._workforce.close()
        self._queue.shut_down()
        if self._workforce.wait_until_left(timeout_seconds):
            return []
        return self._passes.describe() or [f"{self.name} (a worker that is leaving)"]

    @property
    def has_synced(self) -> bool:
        """Whether reconciles may run."""
        return self._gate.is_open

    @property
    def workers(self) -> int:
        """Threads now, busy or idle."""
        return self._workforce.workers

    def progress(self) -> Verdict:
        """A liveness check: fails when every worker has been on one object for a
        quarter of an hour while others wait.
        """
        waiting = self._queue.unattended()
        hanging = self._passes.longer_than(_NO_PROGRESS_SECONDS)
        ok = hanging < self._max_concurrent or not waiting
        details = self._passes.describe() if hanging else []
        return Verdict(ok, tuple(details))

    def _hire(self) -> None:
        self._workforce.hire()

    def _work(self, item: Item[ObjectKey]) -> None:
        if self._throttle is not None and not self._throttle.wait(self._stopping):
            return
        if self._stopping.is_set():
            return
        reconcile_id = str(uuid.uuid4())
        begun = self._passes.begin(item.key, reconcile_id)
        deadline = (
            begun.since + self._deadline_seconds if self._deadline_seconds else None
        )
        if self._metrics:
            self._metrics.active_workers.inc()
        try:
            with (
                bound(
                    controller=self.name,
                    controllerKind=self._kind,
                    namespace=item.key.namespace,
                    name=item.key.name,
                    reconcileID=reconcile_id,
                ),
                running(
                    reconcile_id,
                    deadline=deadline,
                    clock=self._clock,
                    stopping=self._stopping,
                ),
            ):
                outcome = self._reconcile(item.key)
                self._settle(item, outcome)
        finally:
            self._passes.end(begun)
            if self._metrics:
                self._metrics.active_workers.dec()
        self._measure(outcome, begun.since, deadline)

    def _reconcile(self, key: ObjectKey) -> Outcome:
        try:
            return Finished(self._reconciler.reconcile(Request(key)))
        except Exception as error:  # noqa: BLE001 - one object's failure stays its own
            outcome = judge(error)
            _log_failure(outcome)
            return outcome

    def _settle(self, item: Item[ObjectKey], outcome: Outcome) -> None:
        """Tell the queue. Rules: CT-3, CT-4, PQ-7."""
        key, queue = item.key, self._queue
        match outcome:
            case Retry(error=error, hold_seconds=hold_seconds):
                queue.add_rate_limited(
                    key,
                    priority=item.priority,
                    error=error,
                    hold_seconds=hold_seconds,
                )
            case GiveUp():
                queue.forget(key)
            case Stopped():
                # Refused while stopping; else the object would be lost.
                queue.add_rate_limited(key, priority=item.priority)
            case Finished(result=result):
                queue.forget(key)
                self._requeue(item, result)

    def _requeue(self, item: Item[ObjectKey], result: Result) -> None:
        if result.requeue_after_seconds is None:
            return
        self._queue.add_after(
            item.key,
            result.requeue_after_seconds,
            priority=item.priority if result.priority is None else result.priority,
            not_before=result.not_before,
        )

    def _measure(self, outcome: Outcome, since: float, deadline: float | None) -> None:
        metrics, now = self._metrics, self._clock.monotonic()
        label = label_of(outcome)
        if metrics is None or label is None:
            return
        metrics.results[label].inc()
        metrics.seconds.observe(now - since)
        if deadline is not None and now >= deadline:
            metrics.timeouts.inc()
        match outcome:
            case Retry(unexpected=unexpected):
                metrics.errors.inc()
                if unexpected:
                    metrics.panics.inc()
            case GiveUp():
                metrics.errors.inc()
                metrics.terminal_errors.inc()


def _namespace(key: ObjectKey) -> Hashable:
    return key.namespace


def _log_failure(outcome: Outcome) -> None:
    """Called while the exception is being handled."""
    match outcome:
        case Retry(unexpected=True):
            _log.exception("Reconcile failed unexpectedly")
        case Retry(error=error):
            _log.error("Reconcile failed", error=f"{type(error).__name__}: {error}")
        case GiveUp(error=error):
            _log.error(
                "Reconcile failed for good", error=f"{type(error).__name__}: {error}"
            )
