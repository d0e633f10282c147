"""Throttling: which requests must wait, and how many ARM still allows.

ARM limits each subscription's reads, writes and deletes separately; each resource
provider has limits of its own. After a 429 (except that of a busy object) a bucket is
closed until `Retry-After` has passed (`refusals`): ARM's bucket if ARM reports it
empty; else that of the one resource, and the provider's or ARM's only when several
resources were refused. Before any 429, requests are held back while ARM reports nothing
left. Nothing here sleeps: a request that is held back raises ThrottledError with the
delay. Rules: T1-T9, D4.
"""

import random
import threading
from collections.abc import Callable, Mapping
from typing import Protocol

from asoreconcile.azure.arm.bucket_key import Bucket, OperationClass
from asoreconcile.azure.arm.errors import ArmError
from asoreconcile.azure.arm.lro_registry import LroRegistry
from asoreconcile.azure.arm.refusals import Refusals
from asoreconcile.azure.arm.token_bucket import ArmTokenBucket
from asoreconcile.base.clock import Clock
from asoreconcile.base.errors import RetryError

_PREFIX = "x-ms-ratelimit-remaining-"
# Far above any limit of ARM.
_DIGITS = 15
# Each refused resource has a bucket: idle ones are removed beyond this number.
_FEW_GATES = 256


class ThrottledError(RetryError):
    """Not sent: its bucket is closed or empty. Try again after `after_seconds`."""


class RemainingGauge(Protocol):
    """Receives readings of the remaining budget, such as a metric."""

    def __call__(self, bucket: Bucket, limit: str, remaining: float) -> None:
        """limit: the end of the header's name, such as `subscription-reads`."""


class Budget:
    """One principal's token buckets. Thread-safe; never blocks.

    jitter: 0.0-1.0 at random; spreads the retries.
    operations: the long-running operations that this principal polls.
    """

    def __init__(
        self,
        clock: Clock,
        *,
        gauge: RemainingGauge | None = None,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self.operations = LroRegistry(clock)
        self._clock = clock
        self._gauge = gauge
        self._jitter = jitter
        self._lock = threading.Lock()
        self._gates: dict[Bucket, ArmTokenBucket] = {}
        self._refusals = Refusals()
        self._sweep_at = _FEW_GATES

    def admit(self, bucket: Bucket, *, background: bool = False) -> None:
        """Return if a request may go now; else raise ThrottledError (T7, T8).

        background: for a sync, which gives way to other requests. After each admitted
        request call `leave` once, whatever its outcome.
        """
        with self._lock:
            now = self._clock.monotonic()
            gates = self._in_the_way_of(bucket)
            waits = {
                hit: gate.wait_seconds(now, background=background)
                for hit, gate in gates.items()
            }
            # Ask all buckets before deciding: each gives the caller a place in its
            # queue.
            longest = max(waits, key=lambda hit: waits[hit])
            wait = waits[longest]
            if wait <= 0:
                for gate in gates.values():
                    gate.enter(now)
                return
        # Places in the queue are spread already; the jitter keeps retries apart.
        spread = min(wait, 1.0) * 0.2 * self._jitter()
        raise ThrottledError(f"Azure throttles {longest}", after_seconds=wait + spread)

    def leave(self, bucket: Bucket) -> None:
        """Record the end of an admitted request."""
        with self._lock:
            for gate in self._in_the_way_of(bucket).values():
                gate.leave()

    def reads_left(self, subscription: str) -> float | None:
        """How many reads ARM still allows; None until ARM has reported it (T3, T4)."""
        with self._lock:
            gate = self._gates.get(Bucket(subscription, OperationClass.READS))
            return None if gate is None else gate.left(self._clock.monotonic())

    def observe(
        self, bucket: Bucket, headers: Mapping[str, str], fault: ArmError | None = None
    ) -> None:
        """Record an answer: its rate headers, and whether it is a throttling.

        headers: keys lower-case. fault: of a 429. A busy object's closes no bucket
        (T5); any other closes the bucket that it is about (`Refusals.about`).
        """
        readings = remaining_of(headers)
        if self._gauge is not None:
            for limit, remaining in readings.items():
                self._gauge(bucket, limit, remaining)
        left = _left_at_arm(bucket.operations, readings)
        with self._lock:
            now = self._clock.monotonic()
            if left is not None:
                # Before a refusal closes the bucket: the reading is older than the
                # refusal.
                self._gate(bucket.arms).read(now, left)
            if fault is None:
                self._let_through(bucket, now)
            elif fault.is_throttled:
                hit = self._refusals.about(
                    bucket, fault, now=now, left=left, headers=headers
                )
                self._gate(hit).close(now, fault.retry_after_seconds)

    def _let_through(self, bucket: Bucket, now: float) -> None:
        self._refusals.let_through(bucket)
        own = self._gates.get(bucket) if bucket.resource else None
        if own is not None and now >= own.opens:
            del self._gates[bucket]

    def _in_the_way_of(self, bucket: Bucket) -> dict[Bucket, ArmTokenBucket]:
        """ARM's bucket, and the provider's and the resource's if these exist."""
        gates = {bucket.arms: self._gate(bucket.arms)}
        for narrower in (bucket.providers, bucket):
            gate = self._gates.get(narrower)
            if gate is not None:
                gates[narrower] = gate
        return gates

    def _gate(self, bucket: Bucket) -> ArmTokenBucket:
        gate = self._gates.get(bucket)
        if gate is None:
            if len(self._gates) >= self._sweep_at:
                self._forget_idle()
            gate = self._gates[bucket] = ArmTokenBucket(
                bucket.operations.refill_per_second
            )
        return gate

    def _forget_idle(self) -> None:
        now = self._clock.monotonic()
        self._gates = {b: g for b, g in self._gates.items() if not g.is_idle(now)}
        self._sweep_at = max(_FEW_GATES, 2 * len(self._gates))


def _left_at_arm(
    operations: OperationClass, readings: Mapping[str, float]
) -> float | None:
    """The smallest remaining count in ARM's headers for requests of this class (T4)."""
    end = f"-{operations.value}"
    found = [
        remaining
        for limit, remaining in readings.items()
        if limit.startswith(("subscription-", "tenant-")) and limit.endswith(end)
    ]
    return min(found, default=None)


def remaining_of(headers: Mapping[str, str]) -> dict[str, float]:
    """The remaining count of each limit, from `x-ms-ratelimit-remaining-*` (T3).

    Compute's list (`Policy;n,Policy;n`) gives one entry a policy. Headers that cannot
    be read are left out.
    """
    found: dict[str, float] = {}
    for name, value in headers.items():
        if name.startswith(_PREFIX):
            limit = name.removeprefix(_PREFIX)
            for policy, text in _entries(value):
                number = text.strip()
                if number.isdecimal() and len(number) <= _DIGITS:
                    found[f"{limit}/{policy}" if policy else limit] = float(number)
    return found


def _entries(value: str) -> list[tuple[str, str]]:
    if ";" not in value:
        return [("", value)]
    entries = [entry.partition(";") for entry in value.split(",")]
    return [(name.strip(), number) for name, _, number in entries]
