"""The reconcile that runs on this thread: its id, and how long it may take.

A thread cannot be killed: what takes long asks here whether to go on.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import attrs

from asoreconcile.clock import Clock
from asoreconcile.errors import AsoError, StoppedError


class DeadlineError(AsoError):
    """The reconcile took longer than it may; it is tried again with back-off."""


@attrs.frozen
class _Current:
    reconcile_id: str
    deadline: float | None
    clock: Clock | None = None
    stopping: threading.Event | None = None
    priority: int = 0


_CURRENT: ContextVar[_Current | None] = ContextVar("asoreconcile_current", default=None)


def deadline() -> float | None:
    """The moment (`Clock.monotonic` seconds) by which this reconcile should be over.

    Every blocking call made for it takes its time-out from here; None without a limit,
    and outside a reconcile. Rules: CT-6, TH-9.
    """
    current = _CURRENT.get()
    return current.deadline if current else None


def reconcile_id() -> str:
    """The UUID of this reconcile, also in each of its log records; "" outside one.

    Rule: CT-9.
    """
    current = _CURRENT.get()
    return current.reconcile_id if current else ""


def priority() -> int:
    """What this reconcile was queued with (PQ-7): below 0 for resyncs and initial
    lists, which nobody waits for; 0 outside a reconcile.
    """
    current = _CURRENT.get()
    return current.priority if current else 0


def check() -> None:
    """Raises StoppedError if this reconcile's controller is stopping, DeadlineError if
    its time is over; does nothing outside a reconcile. Rules: CT-6, TH-9.
    """
    current = _CURRENT.get()
    if current is None:
        return
    if current.stopping is not None and current.stopping.is_set():
        raise StoppedError("the controller is stopping")
    if current.deadline is None or current.clock is None:
        return
    if current.clock.monotonic() >= current.deadline:
        raise DeadlineError("the reconcile took longer than it may")


def pause(seconds: float) -> None:
    """Wait so long within a reconcile, and no longer than it makes sense.

    Raises as `check`, at the moment when there is a reason to; RuntimeError outside a
    reconcile. Holds up a worker: for long waits answer
    `Result(requeue_after_seconds=...)` instead.
    """
    current = _CURRENT.get()
    if current is None or current.clock is None or current.stopping is None:
        raise RuntimeError("there is no reconcile on this thread")
    if current.deadline is not None:
        seconds = min(seconds, current.deadline - current.clock.monotonic())
    current.clock.wait(current.stopping, max(0.0, seconds))
    check()


@contextmanager
def running(
    reconcile_id: str,
    *,
    deadline: float | None,
    clock: Clock | None = None,
    stopping: threading.Event | None = None,
    priority: int = 0,
) -> Iterator[None]:
    """Make a reconcile this thread's current one until the block ends.

    clock: of the deadline. stopping: set when it had better end. priority: as
    the queue had it.
    """
    token = _CURRENT.set(_Current(reconcile_id, deadline, clock, stopping, priority))
    try:
        yield
    finally:
        _CURRENT.reset(token)
