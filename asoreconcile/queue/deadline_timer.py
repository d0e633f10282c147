"""One timer at a time, set to the earliest requested moment."""

import threading
from collections.abc import Callable
from functools import partial
from math import inf

from asoreconcile.base.clock import Clock, Timer


class DeadlineTimer:
    """A timer that calls a function at the earliest requested time, and is then unset.
    Rules: DQ-4, TH-2.

    Safe from any thread. The call runs on the clock's timer thread, without a lock.
    """

    def __init__(self, clock: Clock, call: Callable[[], None]) -> None:
        self._clock = clock
        self._call = call
        self._lock = threading.Lock()
        self._at = inf
        self._timer: Timer | None = None

    def set(self, at: float) -> None:
        """Call the function at `at` (`Clock.monotonic` seconds), or earlier if an
        earlier time is set.
        """
        with self._lock:
            if at >= self._at:
                return
            # First: if the clock gets no thread for it, nothing has changed.
            timer = self._clock.call_at(at, partial(self._fire, at))
            if self._timer is not None:
                self._timer.cancel()
            self._at, self._timer = at, timer

    def cancel(self) -> None:
        """Cancel the timer; a started call goes on."""
        with self._lock:
            if self._timer is not None:
                self._timer.cancel()
            self._timer = None
            self._at = inf

    def _fire(self, at: float) -> None:
        with self._lock:
            # Otherwise an earlier moment was set before this call ran: it keeps its
            # timer.
            if at == self._at:
                self._timer = None
                self._at = inf
        self._call()
