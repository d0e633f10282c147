"""How long this process may go on as the leader, by its own clock. Rule: LE-5."""

import threading
from collections.abc import Callable
from math import inf

from asoreconcile.clock import Clock, Timer
from asoreconcile.errors import StoppedError


class NotLeadingError(StoppedError):
    """The process led, and does no more: another one may be writing."""


class LeaseFence:
    """Begins once, is extended, and ends once. Safe from any thread.

    Others may take over soon after its end, whatever hangs in this process then. So its
    end is called by a timer, and looked up before each write.
    """

    def __init__(self, clock: Clock, on_expiry: Callable[[], None]) -> None:
        """on_expiry: called on the timer thread if it ends because time is over."""
        self._clock = clock
        self._on_expiry = on_expiry
        self._lock = threading.Lock()
        self._until: float | None = None
        self._ended = False
        self._guard: Timer | None = None

    def extend(self, until: float) -> bool:
        """Begin it, or go on with it; False if it has ended, which is for good."""
        with self._lock:
            # An answer that comes late extends nothing: another process may lead by
            # then.
            if self._ended or self._is_over():
                return False
            self._until = until
            if self._guard is None:
                self._guard = self._clock.call_at(until, self._ring)
            return True

    def end(self) -> bool:
        """End the right to write now; returns whether it was there."""
        with self._lock:
            running = self._until is not None and not self._ended
            self._ended = True
            if self._guard is not None:
                self._guard.cancel()
            return running

    @property
    def holds(self) -> bool:
        """Whether this process may write now."""
        return self._until is not None and not self._ended and not self._is_over()

    @property
    def late_seconds(self) -> float:
        """How long ago it ran out; negative before, and if it never began."""
        return -inf if self._until is None else self._clock.monotonic() - self._until

    def check(self) -> None:
        """Raises NotLeadingError once it has ended; before it began all may write."""
        # Without the lock: this is asked before each piece of each write.
        if self._ended or self._is_over():
            raise NotLeadingError("this process leads no more")

    def _is_over(self) -> bool:
        return self._until is not None and self._clock.monotonic() >= self._until

    def _ring(self) -> None:
        with self._lock:
            if self._ended or self._until is None:
                return
            if not self._is_over():
                # It was extended. Renewals leave the timer alone, as they come every
                # two seconds.
                self._guard = self._clock.call_at(self._until, self._ring)
                return
            self._ended = True
        self._on_expiry()
