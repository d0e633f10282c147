"""The reconcile that runs on this thread: its id, and how long it may take."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import attrs


@attrs.frozen
class _Current:
    reconcile_id: str
    deadline: float | None


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


@contextmanager
def running(reconcile_id: str, *, deadline: float | None) -> Iterator[None]:
    """Make a reconcile this thread's current one until the block ends."""
    token = _CURRENT.set(_Current(reconcile_id, deadline))
    try:
        yield
    finally:
        _CURRENT.reset(token)
