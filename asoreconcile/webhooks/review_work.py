"""Limits the processor time and memory of reviews, for all callers.

Reviews are parsed in pieces: a whole admission review, or one object of a conversion.
Pieces that may become large in memory are parsed one at a time, after their size was
measured, and with a pause after each. So the lease's renewal and other reviews never
wait for longer than one piece takes. Rule: TH-7.
"""

import threading
from collections import OrderedDict, deque
from collections.abc import Iterator
from contextlib import contextmanager

from asoreconcile.base import json_size
from asoreconcile.base.clock import Clock
from asoreconcile.base.errors import AsoreconcileError
from asoreconcile.base.json_size import JsonSizeError, NoJsonError
from asoreconcile.webhooks.reviews import ReviewError


class NoSlotError(AsoreconcileError):
    """There was no free slot in time, or the caller already waits for too many."""


class FairSlots:
    """Slots that are given to waiting callers in turn, however many each caller waits
    for.
    """

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


_MIB = 1 << 20
# A typical object of 400 kB, or five of 80 kB.
_LIGHT_BYTES = 8 * _MIB
# Each waiting piece holds its text.
_MOST_WAITING = 16
_LEAST_REST_SECONDS, _MOST_REST_SECONDS = 0.005, 1.0


class ReviewWork:
    """The lanes of a server's reviews. Safe from any thread."""

    def __init__(self, clock: Clock, *, conversions: int, admissions: int) -> None:
        """conversions, admissions: how many of them run concurrently."""
        self._clock = clock
        self._conversions = FairSlots(conversions)
        self._light = FairSlots(admissions)
        self._heavy = FairSlots(1, most_waiting=_MOST_WAITING)

    def is_heavy(self, text: bytes) -> bool:
        """Return whether the text's values may take much memory."""
        return json_size.most_value_bytes(text) > _LIGHT_BYTES

    @contextmanager
    def converting(self, caller: str, deadline: float) -> Iterator[None]:
        """Wait for a slot for light objects of a conversion. Raises ReviewError."""
        with self._slot(self._conversions, caller, deadline):
            yield

    @contextmanager
    def parsing(
        self, text: bytes, caller: str, deadline: float, *, is_measured: bool = False
    ) -> Iterator[None]:
        """Wait for the lane if the text is heavy, and else for a slot of an admission,
        until its values are dropped. Callers take turns.

        is_measured: if true, the size of the text was checked already.

        Raises ReviewError for text that is too large, and if the lane is not free in
        time.
        """
        if not self.is_heavy(text):
            with self._slot(self._light, caller, deadline):
                yield
            return
        with self._slot(self._heavy, caller, deadline):
            began = self._clock.monotonic()
            try:
                if not is_measured:
                    json_size.check_size(text)
                yield
            except (JsonSizeError, NoJsonError) as error:
                raise refusal(error) from error
            finally:
                self._rest(self._clock.monotonic() - began)

    def check(self, deadline: float) -> None:
        """Check the deadline. Raises ReviewError after the deadline."""
        if self._clock.monotonic() >= deadline:
            raise ReviewError("the conversion took too long", code=504)

    @contextmanager
    def _slot(self, slots: FairSlots, caller: str, deadline: float) -> Iterator[None]:
        remaining = deadline - self._clock.monotonic()
        try:
            with slots.slot(caller, remaining):
                yield
        except NoSlotError as error:
            raise ReviewError(f"too many reviews at once: {error}", code=503) from error

    def _rest(self, seconds: float) -> None:
        """Keep the lane closed for as long as the piece took."""
        if seconds >= _LEAST_REST_SECONDS:
            self._clock.wait(threading.Event(), min(seconds, _MOST_REST_SECONDS))


def refusal(error: JsonSizeError | NoJsonError) -> ReviewError:
    """Return the error that refuses a review."""
    code = 413 if isinstance(error, JsonSizeError) else 400
    return ReviewError(f"the review cannot be read: {error}", code=code)
