"""What a 429 is about: one resource, its provider, or a bucket of ARM's own.

A 429 seldom says whose limit was reached. If it is taken too widely, one throttled
resource holds up all others of its provider, or all of ARM. If it is taken too
narrowly, each resource is refused once for itself. So it is first taken for the one
resource, and for more when several resources are refused in a row and none is let
through in between. Rules: T1, T4, T5.
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
    """Consecutive refusals, by ARM's bucket. Not thread-safe; callers pass the time."""

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
        """The bucket that a 429 closes.

        bucket: of the request, with its resource. left: the remaining count in ARM's
        headers; None without them. headers: of the answer, keys lower-case.
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
        """Record a request without a 429: neither its provider's bucket nor ARM's is
        empty, so earlier refusals were about single resources.
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
    """Whether consecutive refusals are ARM's own. said: ARM's code says so; otherwise
    resources of more than one provider must be among them.
    """
    candidates = [bucket for bucket, refusal in row.items() if refusal.may_be_arms]
    providers = {bucket.provider for bucket in candidates}
    return len(candidates) >= SEVERAL and (said or len(providers) > 1)
