"""The context of this thread's reconcile: deadline, stop, id, priority, log fields.

A thread cannot be killed, so long operations check here how long they may take and
whether to go on. Both clients do so in every call, and `single_flight` in every wait.
Rules: CT-6, CT-9, TH-9.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from typing import Any

import attrs

from asoreconcile.base.clock import Clock
from asoreconcile.base.errors import AsoreconcileError, StoppedError
from asoreconcile.base.log import bind, unbind
from asoreconcile.base.stop_signal import StopSignal, wait_for_any
from asoreconcile.base.tracing import ReconcileTrace


class DeadlineError(AsoreconcileError):
    """The reconcile exceeded its deadline; it is retried with back-off."""


@attrs.frozen
class Context:
    """A reconcile's limits and identity.

    reconcile_id: a UUID. deadline: time at which the reconcile should end
    (`clock.monotonic` seconds); None without a limit. stop: signal that is set when the
    controller stops; the reconcile may then run until the signal's deadline. priority:
    priority of the reconcile in the queue. log_fields: fields of each of its log
    records. heeds_stop: whether a stop ends waits at once; otherwise they may last
    until the stop's deadline. trace: span of the reconcile, if tracing is on.
    why_taken_last: returns why the object is reconciled after all others of its
    controller, a sentence without its full stop; "" if it is not.
    """

    clock: Clock
    reconcile_id: str = ""
    deadline: float | None = None
    stop: StopSignal | None = None
    priority: int = 0
    log_fields: Mapping[str, Any] = attrs.field(factory=dict)
    heeds_stop: bool = True
    trace: ReconcileTrace | None = None
    why_taken_last: Callable[[], str] = str

    def but(
        self,
        *,
        deadline: float | None = None,
        stop: StopSignal | None = None,
        heeds_stop: bool = True,
    ) -> "Context":
        """Return a copy with another deadline, signal or heeds_stop."""
        # Positional, without `evolve`, which takes twice as long: each write makes two.
        return Context(
            self.clock,
            self.reconcile_id,
            self.deadline if deadline is None else deadline,
            stop or self.stop,
            self.priority,
            self.log_fields,
            heeds_stop and self.heeds_stop,
            self.trace,
            self.why_taken_last,
        )

    @property
    def is_stopping(self) -> bool:
        """Return whether a stop was requested and must be obeyed at once."""
        return self.heeds_stop and self._is_stopped

    @property
    def end(self) -> float | None:
        """The deadline, or the stop's if that is earlier; None without either."""
        stop = self.stop
        stop_end = stop.deadline if stop is not None and stop.is_set() else None
        if stop_end is None or self.deadline is None:
            return self.deadline if stop_end is None else stop_end
        return min(self.deadline, stop_end)

    @property
    def _is_stopped(self) -> bool:
        return _is_set(self.stop)

    @property
    def seconds_left(self) -> float | None:
        """Seconds until the deadline, at least 0; None without one."""
        end = self.end
        return None if end is None else max(0.0, end - self.clock.monotonic())

    @property
    def is_over(self) -> bool:
        """Return whether `check` raises."""
        return self.is_stopping or self.seconds_left == 0

    def check(self) -> None:
        """Raises StoppedError if the controller is stopping, DeadlineError after the
        deadline.
        """
        is_late = self.seconds_left == 0
        if self.is_stopping or (is_late and self._is_stopped):
            raise StoppedError("the controller is stopping")
        if is_late:
            raise DeadlineError(
                "the reconcile reached its deadline_seconds: it is tried again"
            )


_CURRENT: ContextVar[Context | None] = ContextVar("asoreconcile_context", default=None)


def current() -> Context | None:
    """Return the context of the reconcile on this thread; None outside one."""
    return _CURRENT.get()


def deadline() -> float | None:
    """Return the time (`Clock.monotonic` seconds) by which this reconcile should end.

    None without a limit, and outside a reconcile. Rules: CT-6, TH-9.
    """
    context = _CURRENT.get()
    return context.deadline if context else None


def seconds_left() -> float | None:
    """Return how long a call of this reconcile may block: until its deadline, or the
    deadline of a stop in progress. 0 when no time is left; None without a limit, and
    outside a reconcile.
    """
    context = _CURRENT.get()
    return context.seconds_left if context else None


def reconcile_id() -> str:
    """Return the UUID of this reconcile, also in each of its log records; "" outside
    one.

    Rule: CT-9.
    """
    context = _CURRENT.get()
    return context.reconcile_id if context else ""


def trace() -> ReconcileTrace | None:
    """Return the span of this reconcile, for its requests; None without tracing and
    outside a reconcile.
    """
    context = _CURRENT.get()
    return context.trace if context else None


def priority() -> int:
    """Return the queue priority of this reconcile (PQ-7): below 0 for resyncs and
    initial lists, which are not urgent; 0 outside a reconcile.
    """
    context = _CURRENT.get()
    return context.priority if context else 0


def check() -> None:
    """Check whether this reconcile may go on. Raises StoppedError if this
    reconcile's controller is stopping, DeadlineError after its deadline; does
    nothing outside a reconcile. Rules: CT-6, TH-9.
    """
    context = _CURRENT.get()
    if context is not None:
        context.check()


def is_stop_requested() -> bool:
    """Return whether the controller of this reconcile stops; False outside one."""
    context = _CURRENT.get()
    return context is not None and _is_set(context.stop)


def pause(seconds: float) -> None:
    """Sleep within a reconcile, and wake early if it must end.

    Raises as `check` does, as soon as its condition holds; RuntimeError outside a
    reconcile. Blocks a worker: for long waits return
    `Result(requeue_after_seconds=...)` instead.
    """
    context = _CURRENT.get()
    if context is None:
        raise RuntimeError("there is no reconcile on this thread")
    left = context.seconds_left
    seconds = seconds if left is None else min(seconds, left)
    wait_for_any(context.clock, context.stop, timeout_seconds=seconds)
    context.check()


def wait(signal: StopSignal, at_most_seconds: float | None = None) -> bool:
    """Block until a signal is set, but not longer than this reconcile may take.

    Returns whether it is set: False after at_most_seconds. Raises as `check` if that
    happens first; outside a reconcile it only waits.
    """
    if signal.is_set() or at_most_seconds == 0:
        return signal.is_set()
    context = _CURRENT.get()
    if context is None:
        return signal.wait(at_most_seconds)
    clock = context.clock
    until = None if at_most_seconds is None else clock.monotonic() + at_most_seconds
    while True:
        limits = [] if until is None else [until - clock.monotonic()]
        if (left := context.seconds_left) is not None:
            limits.append(left)
        # A stop that is not obeyed at once still wakes the wait once, to shorten its
        # time.
        stop = context.stop if context.heeds_stop or not _is_set(context.stop) else None
        wait_for_any(clock, signal, stop, timeout_seconds=min(limits, default=None))
        if signal.is_set():
            return True
        context.check()
        if until is not None and clock.monotonic() >= until:
            return False


def _is_set(signal: StopSignal | None) -> bool:
    return signal is not None and signal.is_set()


def finishing() -> AbstractContextManager[None]:
    """Return a context in which waits go on after a stop was requested, until the end
    of the stop.

    Use it for a write: without the response the result of the write is unknown.
    """
    context = _CURRENT.get()
    return _made_current(context and context.but(heeds_stop=False))


def half_of_stop() -> AbstractContextManager[None]:
    """Return a context in which calls may use only half of a stop's time.

    Use it for the first of two tries of a required write: if its connection is silently
    dead, the second try, on another connection, needs time too.
    """
    context = _CURRENT.get()
    if context is not None and context.stop is not None:
        context = context.but(stop=context.stop.half(context.clock))
    return _made_current(context)


def allowance(seconds: float) -> AbstractContextManager[None]:
    """Return a context in which calls may take at least so many seconds, even after the
    deadline.

    Use it to record what a reconcile has done, which must not be lost for lack of time.
    The end of a stop still applies.
    """
    context = _CURRENT.get()
    if context is not None and context.deadline is not None:
        later = context.clock.monotonic() + seconds
        context = context.but(deadline=max(context.deadline, later))
    return _made_current(context)


@contextmanager
def running(context: Context | None) -> Iterator[None]:
    """Make a context this thread's current one until the block ends.

    Use it also to pass a context to another thread. If the context is None, the block
    does not belong to a reconcile.
    """
    fields = bind(context.log_fields if context else {})
    token = _CURRENT.set(context)
    try:
        yield
    finally:
        _CURRENT.reset(token)
        unbind(fields)


@contextmanager
def _made_current(context: Context | None) -> Iterator[None]:
    """Make a context the current one as `running` does, with the log fields
    unchanged.
    """
    token = _CURRENT.set(context)
    try:
        yield
    finally:
        _CURRENT.reset(token)
