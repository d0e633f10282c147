"""One reconcile of one object, on a worker thread: reconcile, classify, requeue.

    item -> (throttle) -> reconciler -> outcome -> queue, metrics, log

`InFlightReconciles` records running reconciles, and reports those that do not end: a
thread cannot be killed, so people need to know the place at which it hangs.

Rules: CT-3 - CT-6, CT-9, PQ-7.
"""

import sys
import threading
import time
import traceback
from functools import partial
from typing import Any

import attrs

from asoreconcile.base.backoff import TokenBucket
from asoreconcile.base.clock import Clock
from asoreconcile.base.log import Logger
from asoreconcile.base.objects import ObjectKey
from asoreconcile.base.random_id import random_id
from asoreconcile.base.reconcile_context import Context, running
from asoreconcile.base.stop_signal import StopSignal
from asoreconcile.base.tracing import Tracing
from asoreconcile.observability.reconcile_metrics import ControllerMetrics, FailureCount
from asoreconcile.queue.workqueue import LOW_PRIORITY, Item, WorkQueue
from asoreconcile.runtime.flight_record import FlightRecord
from asoreconcile.runtime.reconciler import (
    Done,
    Outcome,
    Reconcile,
    Request,
    Result,
    Retry,
    Stopped,
    Terminal,
    classify,
    label_of,
)
from asoreconcile.runtime.taken_last import TakenLast

_log = Logger(__name__)
# For reconciles without a deadline: longer than any healthy client call takes.
_STUCK_AFTER_SECONDS = 300.0
# For how long an object that is taken last lets others go first, each time.
_YIELD_SECONDS = 2.0


class Throttle:
    """Limits the rate of reconciles. Controllers may share one; safe from any
    thread.
    """

    def __init__(self, qps: float, burst: int, *, clock: Clock) -> None:
        """qps: reconciles per second after the first `burst`."""
        self._bucket = TokenBucket(qps, burst, clock=clock)
        self._clock = clock

    def wait(self, stopped: threading.Event) -> bool:
        """Block until the caller may go on; False if `stopped` was set first."""
        delay_seconds = self._bucket.delay(None)
        if delay_seconds <= 0:
            return not stopped.is_set()
        return not self._clock.wait(stopped, delay_seconds)


@attrs.define(eq=False)
class InFlightReconcile:
    """One running reconcile: its object, start time and thread."""

    key: ObjectKey
    reconcile_id: str
    since: float
    # To find its stack if it never ends.
    thread: int = attrs.field(init=False, factory=threading.get_ident)
    reported: bool = attrs.field(init=False, default=False)
    cpu_at_begin: float = attrs.field(init=False, factory=time.thread_time)
    _cpu_at_end: float | None = attrs.field(init=False, default=None)
    # The thread's own, which other threads may read, also after it has ended.
    _cpu_clock: int | None = attrs.field(init=False)

    @_cpu_clock.default
    def _own_clock(self) -> int | None:
        if not hasattr(time, "pthread_getcpuclockid"):  # macOS
            return None
        return time.pthread_getcpuclockid(self.thread)

    @property
    def has_ended(self) -> bool:
        """Return whether the reconcile has ended."""
        return self._cpu_at_end is not None

    def end(self) -> None:
        """Record its end; call on the thread that ran it."""
        self._cpu_at_end = time.thread_time()

    def cpu_seconds(self) -> float:
        """Return the CPU time of its thread now, or at its end. From any thread."""
        if self._cpu_at_end is not None:
            return self._cpu_at_end
        if self._cpu_clock is None:
            return self.cpu_at_begin
        try:
            return time.clock_gettime(self._cpu_clock)
        except OSError:  # the thread is gone
            return self.cpu_at_begin


@attrs.define(eq=False)
class InFlightReconciles:
    """One controller's running reconciles. Safe from any thread."""

    _controller: str
    _clock: Clock
    _stuck_after_seconds: float
    _lock: threading.Lock = attrs.field(init=False, factory=threading.Lock)
    _running: dict[int, InFlightReconcile] = attrs.field(init=False, factory=dict)
    _ended: dict[int, InFlightReconcile] = attrs.field(init=False, factory=dict)
    """The last one of each thread, since `running` was called."""

    def begin(self, key: ObjectKey, reconcile_id: str) -> InFlightReconcile:
        """Record that this thread starts a reconcile; call `end` after it."""
        in_flight = InFlightReconcile(key, reconcile_id, self._clock.monotonic())
        with self._lock:
            self._running[in_flight.thread] = in_flight
        return in_flight

    def end(self, ended: InFlightReconcile) -> None:
        """Forget a reconcile that has ended; call on the thread that ran it."""
        ended.end()
        with self._lock:
            self._running.pop(ended.thread, None)
            self._ended[ended.thread] = ended

    def running(self) -> list[InFlightReconcile]:
        """Return the running reconciles, and forget those that have ended."""
        if not self._running and not self._ended:
            return []  # most controllers are idle
        with self._lock:
            self._ended.clear()
            return list(self._running.values())

    def running_or_ended(self) -> list[InFlightReconcile]:
        """Return the running reconciles, and the last one of each thread that has ended
        since `running` was called.
        """
        with self._lock:
            return [*self._running.values(), *self._ended.values()]

    def describe(self) -> list[str]:
        """Return a text for each reconcile, `controller namespace/name (12.3 s)`, the
        longest first.
        """
        now = self._clock.monotonic()
        return [
            f"{self._controller} {one.key} ({now - one.since:.1f} s)"
            for one in self._by_age()
        ]

    def states(self) -> list[dict[str, Any]]:
        """Return each reconcile as a JSON value, the longest first."""
        now = self._clock.monotonic()
        return [
            {
                "namespace": one.key.namespace,
                "name": one.key.name,
                "reconcileID": one.reconcile_id,
                "seconds": round(now - one.since, 3),
                "thread": one.thread,
            }
            for one in self._by_age()
        ]

    def longer_than(self, seconds: float) -> int:
        """Return how many reconciles have run for longer than `seconds`."""
        now = self._clock.monotonic()
        return sum(now - one.since > seconds for one in self._by_age())

    def report_stuck(self) -> None:
        """Log each reconcile that is past its deadline, once, with its thread's
        stack.
        """
        now = self._clock.monotonic()
        for one in self._by_age():
            age = now - one.since
            if one.reported or age < self._stuck_after_seconds:
                continue
            one.reported = True
            _log.warning(
                "Reconcile does not end",
                controller=self._controller,
                namespace=one.key.namespace,
                name=one.key.name,
                reconcileID=one.reconcile_id,
                seconds=round(age, 1),
                stack=stack_of(one.thread),
            )

    def _by_age(self) -> list[InFlightReconcile]:
        with self._lock:
            return sorted(self._running.values(), key=lambda one: one.since)


def stack_of(thread: int) -> str:
    """Return the stack of a thread, as text; "" if it is gone."""
    frame = sys._current_frames().get(thread)  # noqa: SLF001 - the only way to see it
    return "".join(traceback.format_stack(frame)) if frame else ""


@attrs.define(eq=False)
class Worker:
    """Processes the keys of a controller's queue. Safe from any thread.

    closed: set it to start no more reconciles. stopping: set it to cancel the
    reconciles in flight. The arguments are those of `Controller`.
    """

    _name: str
    _call: Reconcile
    _queue: WorkQueue[ObjectKey]
    _clock: Clock
    _kind: str
    _metrics: ControllerMetrics | None
    _deadline_seconds: float | None
    _throttle: Throttle | None
    _tracing: Tracing | None = None
    _record: FlightRecord | None = None
    taken_last: TakenLast = attrs.field(init=False)
    in_flight: InFlightReconciles = attrs.field(init=False)
    closed: threading.Event = attrs.field(init=False, factory=threading.Event)
    stopping: StopSignal = attrs.field(init=False, factory=StopSignal)

    @taken_last.default
    def _none_taken_last(self) -> TakenLast:
        taken_last = TakenLast(self._clock)
        if self._record is not None:
            taken_last.died(self._record.left(self._name))
        return taken_last

    @in_flight.default
    def _none_in_flight(self) -> InFlightReconciles:
        stuck_after_seconds = self._deadline_seconds or _STUCK_AFTER_SECONDS
        return InFlightReconciles(self._name, self._clock, stuck_after_seconds)

    def work(self, item: Item[ObjectKey]) -> None:
        """Reconcile the object of a queue item once, and requeue or forget its key.
        Blocks as long as the reconciler does.
        """
        # Before the deadline starts: a throttled reconcile has not begun.
        if self._throttle is not None and not self._throttle.wait(self.closed):
            return
        # Taken from the queue before it was shut down. Nothing is lost: the next
        # process or controller lists everything again.
        if self.closed.is_set():
            return
        if self.taken_last.why(item.key) and self._queue.has_ready:
            # The others first.
            self._queue.add_after(
                item.key, _YIELD_SECONDS, priority=LOW_PRIORITY, not_before=True
            )
            return
        # A new id for each reconcile, not each object: logs and traces of two tries
        # must be distinguishable.
        reconcile_id = random_id()
        in_flight = self.in_flight.begin(item.key, reconcile_id)
        deadline = (
            in_flight.since + self._deadline_seconds if self._deadline_seconds else None
        )
        if self._metrics:
            self._metrics.active.inc()
        slot = self._record.begin(self._name, item.key) if self._record else None
        try:
            context = self._context(item, reconcile_id, deadline)
            if self._tracing is None:
                outcome = self._run(item, context)
            else:
                outcome = self._trace(self._tracing, item, context)
        finally:
            self.in_flight.end(in_flight)
            if self._record:
                self._record.end(slot)
            if self._metrics:
                self._metrics.active.dec()
        self._measure(outcome, in_flight.since, deadline)

    def _run(self, item: Item[ObjectKey], context: Context) -> Outcome:
        with running(context):
            # Update the queue within the context too: its log lines belong to the
            # reconcile.
            return self._reconcile(item)

    def _trace(
        self, tracing: Tracing, item: Item[ObjectKey], context: Context
    ) -> Outcome:
        """Run the reconciler as `_run` does, within a span."""
        with tracing.reconcile(self._name, context.log_fields) as trace:
            fields = {**context.log_fields, **trace.log_fields}
            # Each log line gets the trace's ids, to find one from the other.
            context = attrs.evolve(context, log_fields=fields, trace=trace)
            outcome = self._run(item, context)
            error = getattr(outcome, "error", None)
            trace.ended(label_of(outcome) or "stopped", error)
        return outcome

    def _context(
        self, item: Item[ObjectKey], reconcile_id: str, deadline: float | None
    ) -> Context:
        return Context(
            self._clock,
            reconcile_id,
            deadline=deadline,
            stop=self.stopping,
            priority=item.priority,
            why_taken_last=partial(self.taken_last.why, item.key),
            log_fields={
                "controller": self._name,
                "controllerKind": self._kind,
                "namespace": item.key.namespace,
                "name": item.key.name,
                "reconcileID": reconcile_id,
            },
        )

    def _reconcile(self, item: Item[ObjectKey]) -> Outcome:
        outcome: Outcome
        try:
            outcome = Done(_checked(self._call(Request(item.key))))
        except BaseException as error:  # noqa: BLE001 - one object's failure stays its own
            # Also SystemExit and the like: on a thread they would end only the thread.
            outcome = classify(error, self.closed, self.stopping)
            # Inside the handler: the log shows the stack.
            self._finish(item, outcome)
        else:
            self._finish(item, outcome)
        return outcome

    def _finish(self, item: Item[ObjectKey], outcome: Outcome) -> None:
        """Requeue or forget the key, and log it. Rules: CT-3, CT-4, PQ-7."""
        key, queue = item.key, self._queue
        match outcome:
            case Retry(error=error, hold_seconds=hold_seconds):
                delay_seconds = queue.add_rate_limited(
                    key,
                    priority=item.priority,
                    error=error,
                    hold_seconds=hold_seconds,
                )
                say, what = _log.error, "Reconcile failed"
                if outcome.unexpected:
                    say, what = _log.exception, "Reconcile failed unexpectedly"
                say(
                    what,
                    error=_text(error),
                    attempt=queue.retries(key),
                    retryInSeconds=round(max(delay_seconds, hold_seconds), 3),
                )
            case Terminal(error=error):
                attempt = queue.retries(key) + 1
                queue.forget(key)
                _log.error(
                    "Reconcile failed for good: it is tried again after a change",
                    error=_text(error),
                    attempt=attempt,
                )
            case Stopped():
                # The queue refuses it while stopping; otherwise the object would be
                # lost.
                queue.add_rate_limited(key, priority=item.priority)
            case Done(result=result):
                queue.forget(key)
                self._requeue(item, result)
                _log.debug("Reconciled", requeueAfter=result.requeue_after_seconds)

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
        metrics.seconds.observe(now - since)
        failures: list[FailureCount] = []
        if deadline is not None and now >= deadline:
            failures.append("timeouts")
        match outcome:
            case Retry(unexpected=unexpected):
                failures += ("errors", "panics") if unexpected else ("errors",)
            case Terminal():
                failures += ("errors", "terminal_errors")
        metrics.count(label, *failures)


def _checked(result: object) -> Result:
    if not isinstance(result, Result):
        raise TypeError(
            f"reconcile returned {result!r:.80}: return Result(), also if nothing is "
            "left to do"
        )
    return result


def _text(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"
