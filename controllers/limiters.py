"""How long a pass that failed before a condition could be written waits (4d)."""

from asoreconcile.backoff import ItemExponential, MaxOf, RateLimiter, TokenBucket
from asoreconcile.clock import Clock
from asoreconcile.controllers.settings import RateLimit

# ASO's limiter.
_BASE_SECONDS, _MAX_SECONDS = 1.0, 60.0


class Limiters:
    """One limiter a controller; the bucket, if asked for, is the whole process's."""

    def __init__(self, limit: RateLimit | None, *, clock: Clock) -> None:
        """limit: None does not limit beyond each object's own back-off."""
        self._clock = clock
        self._bucket = (
            None
            if limit is None
            else TokenBucket(limit.qps, limit.bucket_size, clock=clock)
        )

    def make(self) -> RateLimiter:
        own = ItemExponential(_BASE_SECONDS, _MAX_SECONDS, clock=self._clock)
        return own if self._bucket is None else MaxOf(own, self._bucket)
