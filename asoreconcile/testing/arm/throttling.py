"""ARM's token buckets, as Microsoft publishes them (T1-T7).

Each principal has a bucket for a subscription's reads, one for writes and one for
deletes. All principals of a subscription together have fifteen times as much. A client
that does not wait for Retry-After is refused, with the remaining seconds.
"""

import math
from typing import Literal

import attrs

from asoreconcile.base.clock import Clock
from asoreconcile.testing.arm.refusals import RefusedError

RequestKind = Literal["reads", "writes", "deletes"]
_GLOBAL_FACTOR = 15


@attrs.frozen
class Size:
    """The size of a bucket: its capacity, and its refill per second."""

    capacity: float
    refill_per_second: float

    def times(self, factor: float) -> "Size":
        """Return a bucket with `factor` times the capacity and the refill."""
        return Size(self.capacity * factor, self.refill_per_second * factor)


PUBLISHED: dict[RequestKind, Size] = {
    "reads": Size(250, 25),
    "writes": Size(200, 10),
    "deletes": Size(200, 10),
}


@attrs.define
class _Bucket:
    size: Size
    level: float
    filled_at: float
    closed_until: float = 0.0

    def fill(self, now: float) -> None:
        added = (now - self.filled_at) * self.size.refill_per_second
        self.level = min(self.size.capacity, self.level + added)
        self.filled_at = now


class Throttling:
    """All buckets of a server. The caller holds the server's lock."""

    def __init__(
        self, clock: Clock, sizes: dict[RequestKind, Size] | None = None
    ) -> None:
        """Make the buckets.

        sizes: sizes of one principal's buckets, by kind of request.
        """
        self._clock = clock
        self._sizes = sizes or PUBLISHED
        self._buckets: dict[tuple[str, str, RequestKind], _Bucket] = {}

    def take(
        self, principal: str, subscription: str, kind: RequestKind
    ) -> dict[str, str]:
        """Count one request; return the headers with the remaining budgets.

        Raises RefusedError 429.
        """
        now = self._clock.monotonic()
        scope = "subscription" if subscription else "tenant"
        size = self._sizes[kind]
        own = self._bucket((principal, subscription, kind), size, now)
        everyones = self._bucket(
            ("", subscription, kind), size.times(_GLOBAL_FACTOR), now
        )
        headers = {}
        refused: list[_Bucket] = []
        for bucket, name in ((own, scope), (everyones, f"{scope}-global")):
            bucket.fill(now)
            if bucket.level < 1 or now < bucket.closed_until:
                refused.append(bucket)
            # The budget that remains after this request. A refused request costs
            # nothing.
            headers[f"x-ms-ratelimit-remaining-{name}-{kind}"] = str(
                max(math.floor(bucket.level) - (not refused), 0)
            )
        if refused:
            raise _too_many(refused[0], now, scope=scope, kind=kind)
        own.level -= 1
        everyones.level -= 1
        return headers

    def _bucket(
        self, key: tuple[str, str, RequestKind], size: Size, now: float
    ) -> _Bucket:
        return self._buckets.setdefault(key, _Bucket(size, size.capacity, now))


def _too_many(
    bucket: _Bucket, now: float, *, scope: str, kind: RequestKind
) -> RefusedError:
    if now >= bucket.closed_until:
        lacking = max(1.0 - bucket.level, 0.0) / bucket.size.refill_per_second
        # The bucket is closed until then, although tokens arrive earlier: a client that
        # tries before Retry-After is over is refused again.
        bucket.closed_until = now + max(1, math.ceil(lacking))
    seconds = math.ceil(bucket.closed_until - now)
    return RefusedError(
        429,
        f"{scope.capitalize()}RequestsThrottled",
        f"Number of {kind} for {scope} exceeded the limit. Please try again after "
        f"'{seconds}' seconds.",
        headers={
            "Retry-After": str(seconds),
            f"x-ms-ratelimit-remaining-{scope}-{kind}": "0",
        },
    )
