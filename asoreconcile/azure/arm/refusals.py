"""Find the limit behind a throttling: one resource's, its provider's or ARM's own.

A 429 seldom says whose limit was hit. If too wide a limit is assumed, one throttled
resource holds up all others; if too narrow a limit is assumed, each resource is refused
once. So the narrowest limit is assumed first, and a wider one after several resources
were refused in a row and no request was admitted in between. Rules: T1, T4, T5.
"""

from collections.abc import Mapping

import attrs

from asoreconcile.azure.arm.bucket_key import Bucket
from asoreconcile.azure.arm.errors import ArmError

# With so many refused resources a wider limit is assumed.
SEVERAL = 3
# Refusals further apart than this are unrelated.
_TOGETHER_SECONDS = 60.0
# ARM's error codes for its own limits.
_ARMS_CODES = frozenset({"SubscriptionRequestsThrottled", "TenantRequestsThrottled"})


@attrs.frozen
class _Refusal:
    at: float
    may_be_arms: bool


class Refusals:
    """The consecutive refusals, by ARM's bucket. Not thread-safe; time is an
    argument.
    """

    def __init__(self) -> None:
        self._in_a_row: dict[Bucket, dict[Bucket, _Refusal]] = {}

    def about(
        self,
        bucket: Bucket,
        fault: ArmError,
        *,
        now: float,
        left: float | None,
        headers: Mapping[str, str],
    ) -> Bucket:
        """Return the bucket that a throttling closes.

        bucket: bucket of the request, with its resource.
        left: the number of requests that ARM's own headers leave; None without them.
        headers: headers of the response, keys in lower case.
        """
        if left is not None and left < 1:
            return bucket.arms
        if not _ARMS_CODES.isdisjoint((fault.code, *fault.codes)):
            return bucket.arms
        cause = headers.get("x-ms-failure-cause", "")
        may_be_arms = left is None and cause != "service"
        row = self._row(bucket, now)
        row[bucket] = _Refusal(now, may_be_arms)
        if may_be_arms and _is_arms(row, said=cause == "gateway"):
            return bucket.arms
        alike = sum(other.providers == bucket.providers for other in row)
        return bucket.providers if alike >= SEVERAL else bucket

    def let_through(self, bucket: Bucket) -> None:
        """Record a request that was not throttled.

        Neither its provider's bucket nor ARM's is empty, so earlier refusals were due
        to limits of single resources.
        """
        row = self._in_a_row.get(bucket.arms)
        if not row:
            return
        self._in_a_row[bucket.arms] = {
            other: attrs.evolve(refusal, may_be_arms=False)
            for other, refusal in row.items()
            if other.provider != bucket.provider
        }

    def _row(self, bucket: Bucket, now: float) -> dict[Bucket, _Refusal]:
        row = {
            other: refusal
            for other, refusal in self._in_a_row.get(bucket.arms, {}).items()
            if now - refusal.at <= _TOGETHER_SECONDS
        }
        self._in_a_row[bucket.arms] = row
        return row


def _is_arms(row: Mapping[Bucket, _Refusal], *, said: bool) -> bool:
    """Return whether consecutive refusals come from ARM's own limit.

    said: true if ARM says that it refused; else resources of more than one provider
    must be among them.
    """
    candidates = [bucket for bucket, refusal in row.items() if refusal.may_be_arms]
    providers = {bucket.provider for bucket in candidates}
    return len(candidates) >= SEVERAL and (said or len(providers) > 1)
