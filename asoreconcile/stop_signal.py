"""A requested stop, which wakes those that wait at once.

An `Event` can be waited for alone. A thread that waits for an answer, a lock or a pause
would notice a stop only afterwards; so a signal also calls back, and several can be
waited for together. Rule: TH-9.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

from asoreconcile.clock import Clock
from asoreconcile.lazy_event import LazyEvent

# As good as for ever: `Clock.wait` wants a number.
_NO_LIMIT_SECONDS = 365 * 86_400.0


class StopSignal(LazyEvent):
    """An event that calls back when it is set. Safe from any thread.

    deadline: by when what still runs should be over (`Clock.monotonic` seconds); None
    while nobody has asked for a stop, or where it may take as long as it likes.
    """

    def __init__(self) -> None:
        super().__init__()
        self.deadline: float | None = None
        # Each request adds one and takes it out again: both are one step of the dict,
        # as its copy is, and need no lock.
        self._calls: dict[object, Callable[[], None]] = {}
        self._half: StopSignal | None = None

    def stop(self, deadline: float | None = None) -> None:
        """Ask for the stop. Asking again may only give more time."""
        if not self.is_set():
            self.deadline = deadline
        elif deadline is None or self.deadline is None:
            self.deadline = None
        else:
            self.deadline = max(self.deadline, deadline)
        self.set()

    def set(self) -> None:
        """As `Event.set`, and each callback runs on this thread."""
        super().set()
        for call in self._calls.copy().values():
            call()

    def add(self, key: object, call: Callable[[], None]) -> None:
        """Until `remove(key)`: what to call when the signal is set, or now if it is.

        It may be called twice, from any thread: it must be short and must not raise.
        """
        self._calls[key] = call
        # After that: who sets it meanwhile calls as well.
        if self._is_set:
            try:
                call()
            except BaseException:
                self.remove(key)
                raise

    def remove(self, key: object) -> None:
        """Call what was added under the key no more, but for a call that has begun."""
        del self._calls[key]

    @contextmanager
    def calling(self, call: Callable[[], None]) -> Iterator[None]:
        """Within the block as by `add`."""
        key = object()
        self.add(key, call)
        try:
            yield
        finally:
            self.remove(key)

    def half(self, clock: Clock) -> "StopSignal":
        """A signal that is set with this one, and has half of the time that is left
        then; the same for all who ask before the stop.
        """
        if self.is_set():
            return self._new_half(clock)
        half = self._half
        if half is None:
            # Of two that come here at once one is used by its thread alone.
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
    """Block until one of the signals is set (True) or the time is over (False).

    None among the signals is never set.
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
