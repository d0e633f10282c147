"""Shares a number of slots for work among callers. Safe from any thread."""

import threading
from collections import OrderedDict, deque
from collections.abc import Iterator
from contextlib import contextmanager

from asoreconcile.base.errors import AsoreconcileError


class NoSlotError(AsoreconcileError):
    """There was no free slot in time, or the caller already waits for too many."""


class FairSlots:
    """Slots that go to one caller after the other, whatever number each waits for."""

    def __init__(self, at_once: int, *, most_waiting: int | None = None) -> None:
        """at_once: number of slots. most_waiting: limit for each
        caller.
        """
        self._lock = threading.Lock()
        self._free = at_once
        self._most_waiting = most_waiting
        self._waiting: OrderedDict[str, deque[threading.Event]] = OrderedDict()

    @contextmanager
    def slot(self, caller: str, timeout_seconds: float) -> Iterator[None]:
        """Wait for a slot, which the block holds. Raises NoSlotError."""
        self._take(caller, timeout_seconds)
        try:
            yield
        finally:
            with self._lock:
                self._pass_on()

    def _take(self, caller: str, timeout_seconds: float) -> None:
        with self._lock:
            if self._free and not self._waiting:
                self._free -= 1
                return
            own = self._waiting.setdefault(caller, deque())
            if self._most_waiting is not None and len(own) >= self._most_waiting:
                raise NoSlotError("too many requests of this caller wait")
            granted = threading.Event()
            own.append(granted)
        if granted.wait(max(0.0, timeout_seconds)):
            return
        with self._lock:
            if granted.is_set():
                return
            own.remove(granted)
            if not own:
                del self._waiting[caller]
        raise NoSlotError("no slot came free in time")

    def _pass_on(self) -> None:
        """Give the slot to the next caller. The caller holds the lock."""
        if not self._waiting:
            self._free += 1
            return
        caller, own = self._waiting.popitem(last=False)
        own.popleft().set()
        if own:
            self._waiting[caller] = own
