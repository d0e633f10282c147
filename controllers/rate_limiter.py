"""How fast objects come back after failing, and how many reconciles run a second."""

from asoreconcile.azure.controllers.settings import RateLimit
from asoreconcile.base.backoff import ItemExponential, RateLimiter
from asoreconcile.base.clock import Clock
from asoreconcile.runtime.worker import Throttle

# ASO's limiter.
_BASE_SECONDS, _MAX_SECONDS = 1.0, 60.0


def retries(clock: Clock) -> RateLimiter:
    """The limiter of one controller, for reconciles that failed before they could write
    a condition (R4.1).
    """
    return ItemExponential(_BASE_SECONDS, _MAX_SECONDS, clock=clock)


def throttle_for(limit: RateLimit | None, clock: Clock) -> Throttle | None:
    """The turns of all reconciles of the process; None does not limit. Rule: D8."""
    if limit is None:
        return None
    return Throttle(limit.qps, limit.bucket_size, clock=clock)
