"""Records until when this process may act as the leader, by its own clock. Rule:
LE-5.
"""

import threading
from collections.abc import Callable
from math import inf

from asoreconcile.base.clock import Clock, Timer
from asoreconcile.base.errors import StoppedError


class NotLeadingError(StoppedError):
    """The process led and no longer does: another one may be writing."""


class LeaseFence:
    """The right to write, which starts once, is extended by renewals, and ends once.
    Safe from any thread.

    Another process may take over soon after the end, even if this process hangs. So a
    timer ends the right, and each write checks it.
    """

    def __init__(self, clock: Clock, on_expiry: Callable[[], None]) -> None:
        """on_expiry: function called on the timer thread if the right expires."""
        self._clock = clock
        self._on_expiry = on_expiry
        self._lock = threading.Lock()
        self._until: float | None = None
        self._ended = False
        self._guard: Timer | None = None

    def extend(self, until: float) -> bool:
        """Start or extend the right to write. Return False if it has ended, because it
        never starts again.
        """
        with self._lock:
            # A late response extends nothing: another process may lead by then.
            if self._ended or self._is_over():
                return False
            self._until = until
            if self._guard is None:
                self._guard = self._clock.call_at(until, self._ring)
            return True

    def end(self) -> bool:
        """End the right to write now; returns whether it was held."""
        with self._lock:
            running = self._until is not None and not self._ended
            self._ended = True
            if self._guard is not None:
                self._guard.cancel()
            return running

    @property
    def holds(self) -> bool:
        """Return whether this process may write now."""
        return self._until is not None and not self._ended and not self._is_over()

    @property
    def late_seconds(self) -> float:
        """Return the seconds since the right expired; negative before that, and if it
        never started.
        """
        return -inf if self._until is None else self._clock.monotonic() - self._until

    def check(self) -> None:
        """Check that writes are allowed. Raises NotLeadingError once the right has
        ended; before it starts, writes are allowed.
        """
        # Without the lock: this runs before each part of each write.
        if self._ended or self._is_over():
            raise NotLeadingError("this process leads no more")

    def _is_over(self) -> bool:
        return self._until is not None and self._clock.monotonic() >= self._until

    def _ring(self) -> None:
        with self._lock:
            if self._ended or self._until is None:
                return
            if not self._is_over():
                # It was extended. Renewals do not reset the timer, as they happen every
                # two seconds.
                self._guard = self._clock.call_at(self._until, self._ring)
                return
            self._ended = True
        self._on_expiry()
