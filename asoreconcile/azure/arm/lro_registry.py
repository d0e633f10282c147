"""Count the long-running operations that one identity polls, by subscription.

Each poll is a read from one budget: with more operations and fewer reads left, the
delay between two polls grows. Operations that are no longer polled are removed
automatically.
Rule: T9.
"""

import threading

from asoreconcile.azure.arm.delays import stretched
from asoreconcile.base.clock import Clock

# An object may be delayed for a while; after that its operation counts as abandoned.
_FORGOTTEN_SECONDS = 900.0
# Not at each poll, as the sweep visits all operations of all subscriptions.
_SWEEP_SECONDS = 60.0


class LroRegistry:
    """The running operations of one identity, and the time of each next poll.

    Thread-safe; never blocks.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._due: dict[str, dict[str, float]] = {}
        self._swept = 0.0

    def running(
        self,
        subscription: str,
        id_: str,
        delay_seconds: float,
        *,
        reads_left: float | None = None,
        reads_to_end: int | None = None,
        is_first: bool = False,
    ) -> float:
        """Record a running operation; return the delay before its next poll.

        id_: the client request id of its first request.
        delay_seconds: the delay if it were the only operation.
        reads_left: the number of reads that ARM still allows.
        reads_to_end, is_first: as in `delays.stretched`.
        """
        with self._lock:
            now = self._clock.monotonic()
            self._sweep(now)
            open_ = self._due.setdefault(subscription.lower(), {})
            # Counted before its delay is computed: it shares the reads, too.
            open_[id_] = now
            delay = stretched(
                delay_seconds,
                open_operations=len(open_),
                reads_left=reads_left,
                reads_to_end=reads_to_end,
                is_first=is_first,
            )
            open_[id_] = now + delay
            return delay

    def ended(self, subscription: str, id_: str) -> None:
        """Remove an operation if it is known."""
        with self._lock:
            open_ = self._due.get(subscription.lower(), {})
            open_.pop(id_, None)

    def count(self, subscription: str) -> int:
        """Return the number of operations that run in a subscription; compared without
        case.
        """
        with self._lock:
            return len(self._due.get(subscription.lower(), {}))

    def _sweep(self, now: float) -> None:
        if now < self._swept + _SWEEP_SECONDS:
            return
        self._swept = now
        for open_ in self._due.values():
            late = [id_ for id_, due in open_.items() if now > due + _FORGOTTEN_SECONDS]
            for id_ in late:
                del open_[id_]
