"""A stop request that wakes waiting threads at once.

A thread can wait for only one `Event`. A thread that waits for a response, a lock or a
pause would notice a stop only afterwards. So a signal also calls back, and a thread can
wait for several signals together. Rule: TH-9.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

from asoreconcile.base.clock import Clock

# Practically forever: `Clock.wait` needs a number.
_NO_LIMIT_SECONDS = 365 * 86_400.0

SHARE_OF_CALLS = 0.8
"""The share of a stop's time for running calls; the rest is for what ends after them:
status writes, caches, servers, the lease. On a busy machine those take tenths of a
second.
"""


class StopSignal(threading.Event):
    """An event that calls back when it is set. Safe from any thread.

    deadline: when running work should have ended (`Clock.monotonic` seconds); None
    before a stop is requested, or without a limit.
    """

    def __init__(self) -> None:
        super().__init__()
        self.deadline: float | None = None
        # Each request adds and removes one: both are atomic dict operations, as is the
        # copy, and need no lock.
        self._calls: dict[object, Callable[[], None]] = {}
        self._half: StopSignal | None = None

    def stop(self, deadline: float | None = None) -> None:
        """Request the stop. A repeated request can only extend the deadline."""
        if not self.is_set():
            self.deadline = deadline
        elif deadline is None or self.deadline is None:
            self.deadline = None
        else:
            self.deadline = max(self.deadline, deadline)
        self.set()

    def set(self) -> None:
        """Set the event, and run each callback on this thread."""
        super().set()
        for call in self._calls.copy().values():
            call()

    def add(self, key: object, call: Callable[[], None]) -> None:
        """Register a callback until `remove(key)`; it is called when the signal is set,
        or now if it already is.

        It may be called twice, from any thread: it must be short and must not raise.
        """
        self._calls[key] = call
        # After the registration: a concurrent `set` calls it too.
        if self.is_set():
            try:
                call()
            except BaseException:
                self.remove(key)
                raise

    def remove(self, key: object) -> None:
        """Remove the callback of a key; a call that has started goes on."""
        del self._calls[key]

    @contextmanager
    def calling(self, call: Callable[[], None]) -> Iterator[None]:
        """Register a callback for the duration of the block."""
        key = object()
        self.add(key, call)
        try:
            yield
        finally:
            self.remove(key)

    def half(self, clock: Clock) -> "StopSignal":
        """Return a signal that is set together with this one, with a deadline after
        half of the time.

        All calls before the stop return the same signal.
        """
        if self.is_set():
            return self._new_half(clock)
        half = self._half
        if half is None:
            # In a race of two threads, one gets a signal of its own.
            half = self._half = self._new_half(clock)
        return half

    def _new_half(self, clock: Clock) -> "StopSignal":
        half = StopSignal()

        def pass_on() -> None:
            end = self.deadline
            if end is not None:
                now = clock.monotonic()
                end = now + max(0.0, end - now) / 2
            half.stop(end)

        self.add(half, pass_on)
        return half


def wait_for_any(
    clock: Clock, *signals: StopSignal | None, timeout_seconds: float | None = None
) -> bool:
    """Block until one of the signals is set (True) or the timeout has passed (False).

    A None among the signals counts as never set.
    """
    given = [signal for signal in signals if signal is not None]
    if any(signal.is_set() for signal in given):
        return True
    seconds = _NO_LIMIT_SECONDS if timeout_seconds is None else timeout_seconds
    woken = threading.Event()
    with ExitStack() as stack:
        for signal in given:
            stack.enter_context(signal.calling(woken.set))
        return clock.wait(woken, max(0.0, seconds))
