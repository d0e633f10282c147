"""How long to wait before the next try: rate limiters that see the failure.

A limiter is asked once a failure (`delay`) and called when a key is in order or gone
(`forget`). Limiters remember a bounded set of keys: one that nobody asked about for its
time to live is dropped (RL-2). All are safe from any thread and never block.
"""

import random
import threading
from collections.abc import Callable, Hashable
from typing import Protocol

from asoreconcile.clock import Clock

# Nobody forgets a key whose object went while it failed: it goes by itself (RL-2).
_TTL_SECONDS = 3600.0
# 2**64 times any base is past every cap; more would overflow a float.
_MAX_DOUBLINGS = 64


class RateLimiter(Protocol):
    """Decides how long a key waits after a failure."""

    def delay(self, key: Hashable, error: BaseException | None = None) -> float:
        """Seconds to wait, counting this call as one more failure of the key.

        Never less than the error itself asks for (`asked_delay`). Rules: RL-1, RL-3.
        """

    def forget(self, key: Hashable) -> None:
        """The key is in order, hopeless or gone: its next failure is its first."""

    def retries(self, key: Hashable) -> int:
        """Failures counted since the key was last forgotten."""


def asked_delay(error: BaseException | None) -> float:
    """The seconds a failure asks to be left alone, 0.0 if it does not say.

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


class ItemExponential:
    """`base * 2**failures`, capped. Rules: RL-1, RL-2, RL-3.

    base_seconds, max_seconds: the first and the longest delay.
    jitter: up to this share is added on top (0.1 means 0-10 %), past the cap too, so
    that objects which failed together do not come back together.
    ttl_seconds: a key that did not fail for so long is forgotten; default an hour or
    four times the cap, whichever is longer.
    """

    def __init__(
        self,
        base_seconds: float,
        max_seconds: float,
        *,
        clock: Clock,
        jitter: float = 0.0,
        uniform: Callable[[float, float], float] = random.uniform,
        ttl_seconds: float | None = None,
    ) -> None:
        self._base_seconds = base_seconds
        self._max_seconds = max_seconds
        self._jitter = jitter
        self._uniform = uniform
        if ttl_seconds is None:
            ttl_seconds = max(_TTL_SECONDS, 4 * max_seconds)
        self._failures = _Failures(clock, ttl_seconds)

    def delay(self, key: Hashable, error: BaseException | None = None) -> float:
        """Seconds until this key's next try, and count one more failure for it.

        The delay that the error asks for is a lower bound, beyond `max_seconds` too.
        Never blocks. Rules: RL-1, RL-3.
        """
        failures = self._failures.count(key)
        ramp = self._base_seconds * 2.0 ** min(failures, _MAX_DOUBLINGS)
        seconds = max(min(ramp, self._max_seconds), asked_delay(error))
        if self._jitter:
            seconds *= self._uniform(1.0, 1.0 + self._jitter)
        return seconds

    def forget(self, key: Hashable) -> None:
        """Start again from the shortest delay: the key succeeded or is gone."""
        self._failures.forget(key)

    def retries(self, key: Hashable) -> int:
        """Failures counted for the key so far; 0 for one that is not known.

        Rule: DQ-5.
        """
        return self._failures.of(key)

    def __len__(self) -> int:
        """Keys remembered now."""
        return len(self._failures)


class TokenBucket:
    """A rate shared by all keys: each call takes a token, and waits for it if it must.

    A reservation cannot be given back; forgetting changes nothing.
    """

    def __init__(self, qps: float, burst: int, *, clock: Clock) -> None:
        self._qps = qps
        self._burst = float(burst)
        self._clock = clock
        self._tokens = self._burst
        self._seen = clock.monotonic()
        self._lock = threading.Lock()

    def delay(self, key: Hashable, error: BaseException | None = None) -> float:  # noqa: ARG002 - one bucket for all keys
        """Seconds until a token is there for this call, which is taken now.

        Never blocks.

        Calls that come while tokens are owed wait behind one another.
        """
        now = self._clock.monotonic()
        with self._lock:
            earned = max(0.0, now - self._seen) * self._qps
            self._tokens = min(self._burst, self._tokens + earned) - 1
            self._seen = max(self._seen, now)
            owed = -self._tokens / self._qps
        return max(0.0, owed, asked_delay(error))

    def forget(self, key: Hashable) -> None:
        """Nothing: tokens taken stay taken."""

    def retries(self, key: Hashable) -> int:  # noqa: ARG002 - see above
        """Always 0: the bucket is shared, and counts nothing of a key."""
        return 0


class _Failures:
    """Counts by key, oldest use first, so that what expired is found at the front."""

    def __init__(self, clock: Clock, ttl_seconds: float) -> None:
        self._clock = clock
        self._ttl_seconds = ttl_seconds
        self._by_key: dict[Hashable, tuple[int, float]] = {}
        self._lock = threading.Lock()

    def count(self, key: Hashable) -> int:
        """Add one failure; return how many there were before."""
        now = self._clock.monotonic()
        with self._lock:
            self._expire(now)
            before, _ = self._by_key.pop(key, (0, now))
            self._by_key[key] = (before + 1, now)
            return before

    def of(self, key: Hashable) -> int:
        now = self._clock.monotonic()
        with self._lock:
            count, used = self._by_key.get(key, (0, now))
            return 0 if now - used >= self._ttl_seconds else count

    def forget(self, key: Hashable) -> None:
        with self._lock:
            self._by_key.pop(key, None)

    def __len__(self) -> int:
        with self._lock:
            return len(self._by_key)

    def _expire(self, now: float) -> None:
        while self._by_key:
            oldest = next(iter(self._by_key))
            if now - self._by_key[oldest][1] < self._ttl_seconds:
                return
            del self._by_key[oldest]
