"""A rate of reconciles for a whole process, whatever queued them.

A limiter of a queue sees only what failed; events and resyncs pass it by (D8). This one
is between the queue and the reconciler: a worker that has a key waits for its turn.
Keys that nobody holds keep their order of priority meanwhile.
"""

import threading

from asoreconcile.backoff import TokenBucket
from asoreconcile.clock import Clock


class Throttle:
    """Turns, handed out at a rate. One for all controllers; safe from any thread."""

    def __init__(self, qps: float, burst: int, *, clock: Clock) -> None:
        """qps: reconciles a second, after the first `burst`."""
        self._bucket = TokenBucket(qps, burst, clock=clock)
        self._clock = clock

    def wait(self, stopped: threading.Event) -> bool:
        """Block until it is the caller's turn; False if `stopped` was set first."""
        delay_seconds = self._bucket.delay(None)
        if delay_seconds <= 0:
            return not stopped.is_set()
        return not self._clock.wait(stopped, delay_seconds)
