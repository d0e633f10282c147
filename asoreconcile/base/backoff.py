"""Rate limiters, which decide how long to wait before the next try of a key.

Call `delay` once per failure, and `forget` when a key succeeded or is gone. Limiters
keep a bounded set of keys: a key without a failure for its time to live is dropped
(RL-2). All are safe from any thread and never block.
"""

import threading
from collections import OrderedDict
from collections.abc import Hashable
from typing import Protocol

from asoreconcile.base.clock import Clock
from asoreconcile.base.errors import check_number

# No `forget` follows if an object is deleted while it fails: its key expires (RL-2).
_TTL_SECONDS = 3600.0
# 2**64 times any base is past every cap; more would overflow a float.
_MAX_DOUBLINGS = 64


class RateLimiter(Protocol):
    """Decides how long a key waits after a failure."""

    def delay(self, key: Hashable, error: BaseException | None = None) -> float:
        """Return seconds to wait, counting this call as one more failure of the key.

        Never less than the error itself asks for (`asked_delay`). Rules: RL-1, RL-3.
        """

    def forget(self, key: Hashable) -> None:
        """Forget a key that succeeded, failed terminally or is gone: its next failure
        counts as the first.
        """

    def retries(self, key: Hashable) -> int:
        """Return the number of failures counted since the key was last forgotten."""


def asked_delay(error: BaseException | None) -> float:
    """Return the seconds that a failure asks to wait, 0.0 if it does not say.

    Reads `after_seconds` (RetryError) or `retry_after_seconds` (the `Retry-After` of an
    API) along the chain of causes; the longest wins. Rule: RL-3.
    """
    asked = 0.0
    seen = set()  # `raise error from error` makes a ring
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        for name in ("after_seconds", "retry_after_seconds"):
            value = getattr(error, name, None)
            if isinstance(value, int | float):
                asked = max(asked, value)
        error = error.__cause__
    return asked


def exponential(first_seconds: float, failures: int, longest_seconds: float) -> float:
    """Return `first_seconds * 2**failures`, at most `longest_seconds`."""
    return min(first_seconds * 2.0 ** min(failures, _MAX_DOUBLINGS), longest_seconds)


class Pauses:
    """Pauses between attempts: each is twice the last one. For one thread."""

    def __init__(self, first_seconds: float, longest_seconds: float) -> None:
        self._first_seconds = first_seconds
        self._longest_seconds = longest_seconds
        self._failures = 0

    def next(self) -> float:
        """Return the seconds to wait after one more failure."""
        self._failures += 1
        return exponential(
            self._first_seconds, self._failures - 1, self._longest_seconds
        )

    def reset(self) -> None:
        """Begin with the first pause again."""
        self._failures = 0


class ItemExponential:
    """A rate limiter with a delay of `base * 2**failures` for each key, up to a limit.
    Rules: RL-1, RL-2, RL-3.

    base_seconds, max_seconds: the first and the longest delay.
    A key that did not fail for an hour or four times the cap is forgotten, whichever is
    longer.
    """

    def __init__(
        self, base_seconds: float, max_seconds: float, *, clock: Clock
    ) -> None:
        """Raises TypeError or ValueError for an invalid or negative time."""
        check_number("base_seconds", base_seconds, least=0)
        check_number("max_seconds", max_seconds, least=0)
        self._base_seconds = base_seconds
        self._max_seconds = max_seconds
        self._ttl_seconds = max(_TTL_SECONDS, 4 * max_seconds)
        self._clock = clock
        self._lock = threading.Lock()
        # The failures of each key and the time of the last one. The key that failed
        # longest ago is first. A plain dict finds its first key by passing over all
        # that were removed before it.
        self._failures: OrderedDict[Hashable, tuple[int, float]] = OrderedDict()

    def delay(self, key: Hashable, error: BaseException | None = None) -> float:
        """Return seconds until this key's next try, and count one more failure for it.

        The delay that the error asks for is a lower bound, even above `max_seconds`.
        Never blocks. Rules: RL-1, RL-3.
        """
        now = self._clock.monotonic()
        with self._lock:
            self._expire(now)
            failures, _ = self._failures.pop(key, (0, now))
            self._failures[key] = (failures + 1, now)
        ramp = exponential(self._base_seconds, failures, self._max_seconds)
        return max(ramp, asked_delay(error))

    def forget(self, key: Hashable) -> None:
        """Forget a key that succeeded or is gone: its next delay is the shortest
        again.
        """
        with self._lock:
            self._failures.pop(key, None)

    def retries(self, key: Hashable) -> int:
        """Return the number of failures of the key so far; 0 for an unknown key.

        Rule: DQ-5.
        """
        now = self._clock.monotonic()
        with self._lock:
            failures, failed = self._failures.get(key, (0, now))
        return 0 if now - failed >= self._ttl_seconds else failures

    def __len__(self) -> int:
        """Return the number of keys kept now."""
        with self._lock:
            return len(self._failures)

    def _expire(self, now: float) -> None:
        while self._failures:
            oldest = next(iter(self._failures))
            if now - self._failures[oldest][1] < self._ttl_seconds:
                return
            del self._failures[oldest]


class TokenBucket:
    """A rate shared by all keys: each call takes a token, and waits for it if there is
    none.

    A taken token cannot be returned; `forget` does nothing.
    """

    def __init__(self, qps: float, burst: int, *, clock: Clock) -> None:
        """qps: tokens per second, more than 0; burst: the most tokens at once, 1 or
        more. Raises TypeError or ValueError for other values: no call would ever get a
        token.
        """
        check_number("qps", qps, least=0, above=True)
        check_number("burst", burst, least=1)
        self._qps = qps
        self._burst = float(burst)
        self._clock = clock
        self._tokens = self._burst
        self._seen = clock.monotonic()
        self._lock = threading.Lock()

    def delay(self, key: Hashable, error: BaseException | None = None) -> float:  # noqa: ARG002 - one bucket for all keys
        """Take a token for this call; returns the seconds until it is available.

        Never blocks.

        Calls that come while no token is left get consecutive times.
        """
        now = self._clock.monotonic()
        with self._lock:
            earned = max(0.0, now - self._seen) * self._qps
            self._tokens = min(self._burst, self._tokens + earned) - 1
            self._seen = max(self._seen, now)
            owed = -self._tokens / self._qps
        return max(0.0, owed, asked_delay(error))

    def forget(self, key: Hashable) -> None:
        """Do nothing, because a taken token cannot be returned."""

    def retries(self, key: Hashable) -> int:  # noqa: ARG002 - see above
        """Return 0, because the bucket does not count failures of keys."""
        return 0
