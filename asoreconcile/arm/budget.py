"""Throttling: who has to wait, and how much room ARM says is left.

ARM meters each subscription's reads, writes and deletes apart, and behind it each
provider does so again. After a real 429 (not a busy object's) the bucket it hit is
closed until `Retry-After` has passed, and before one, who asks while nothing is left is
held back. Nobody sleeps: who may not go is told when to come back.
Rules: T1-T9, D4.
"""

import random
import threading
from collections.abc import Callable, Mapping
from enum import Enum
from typing import Protocol

import attrs

from asoreconcile.arm.faults import ArmError
from asoreconcile.arm.gates import Gate
from asoreconcile.arm.open_operations import OpenOperations
from asoreconcile.clock import Clock
from asoreconcile.errors import RetryError

_PREFIX = "x-ms-ratelimit-remaining-"
_FEW_GATES = 256


class OperationClass(Enum):
    """ARM's three kinds of requests; the value is the word in its headers.

    refill_per_second: as Microsoft states it, for one principal (T2).
    """

    READS = "reads"
    WRITES = "writes"
    DELETES = "deletes"

    @property
    def refill_per_second(self) -> float:
        return 25.0 if self is OperationClass.READS else 10.0


_BY_METHOD = {
    "GET": OperationClass.READS,
    "HEAD": OperationClass.READS,
    "DELETE": OperationClass.DELETES,
}


def operation_class(method: str) -> OperationClass:
    """POST, PUT and PATCH are writes."""
    return _BY_METHOD.get(method, OperationClass.WRITES)


def _lower(text: str) -> str:
    return text.lower()


@attrs.frozen
class Bucket:
    """What is metered together.

    subscription: "" stands for requests under the tenant. provider: its namespace, for
    what the provider meters; "" for what ARM does (T1).
    """

    subscription: str = attrs.field(converter=_lower)
    operations: OperationClass
    provider: str = attrs.field(default="", converter=_lower)

    @property
    def arms(self) -> "Bucket":
        """The bucket of ARM itself that a request comes out of, too."""
        return attrs.evolve(self, provider="") if self.provider else self


class ThrottledError(RetryError):
    """Not sent: its bucket is closed or empty. Try again after `after_seconds`."""


class RemainingGauge(Protocol):
    """Where readings of the remaining budget go, such as a metric."""

    def __call__(self, bucket: Bucket, limit: str, remaining: float) -> None:
        """limit: the header's last words, such as `subscription-reads`."""


class Budget:
    """One principal's gates, by bucket. Thread-safe; never blocks.

    jitter: 0.0-1.0 at random; spreads those who were told to come back.
    operations: the long-running operations that this principal watches.
    """

    def __init__(
        self,
        clock: Clock,
        *,
        gauge: RemainingGauge | None = None,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self.operations = OpenOperations(clock)
        self._clock = clock
        self._gauge = gauge
        self._jitter = jitter
        self._lock = threading.Lock()
        self._gates: dict[Bucket, Gate] = {}
        self._sweep_at = _FEW_GATES

    def admit(self, bucket: Bucket, *, background: bool = False) -> None:
        """Return if a request may go now; else raise ThrottledError (T7, T8).

        background: for a sync that nobody waits for; others go first.
        Who was let in says `leave` in the end, whatever came of it.
        """
        with self._lock:
            now = self._clock.monotonic()
            gates = self._in_the_way_of(bucket)
            wait = max(g.wait_seconds(now, background=background) for g in gates)
            if wait <= 0:
                for gate in gates:
                    gate.enter(now)
                return
        # Places in the queue are spread already; this only keeps them from a beat.
        spread = min(wait, 1.0) * 0.2 * self._jitter()
        whose = f" by {bucket.provider}" if bucket.provider else ""
        raise ThrottledError(
            f"Azure throttles {bucket.operations.value} of subscription "
            f"{bucket.subscription or '(tenant)'}{whose}",
            after_seconds=wait + spread,
        )

    def leave(self, bucket: Bucket) -> None:
        """A request that was let in is over."""
        with self._lock:
            for gate in self._in_the_way_of(bucket):
                gate.leave()

    def observe(
        self, bucket: Bucket, headers: Mapping[str, str], fault: ArmError | None = None
    ) -> None:
        """Take note of an answer: its rate headers, and whether it is a throttling.

        headers: keys lower-case. A busy object's 429 closes nothing (T5); one that the
        provider gave closes that provider's bucket only (T1).
        """
        readings = remaining_of(headers)
        if self._gauge is not None:
            for limit, remaining in readings.items():
                self._gauge(bucket, limit, remaining)
        left = _left_at_arm(bucket.operations, readings)
        throttled = fault is not None and fault.is_throttled
        if left is None and not throttled:
            return
        with self._lock:
            now = self._clock.monotonic()
            if left is not None:
                self._gate(bucket.arms).read(now, left)
            if fault is not None and throttled:
                is_providers = headers.get("x-ms-failure-cause") == "service" or left
                hit = bucket if is_providers else bucket.arms
                self._gate(hit).close(now, fault.retry_after_seconds)

    def _in_the_way_of(self, bucket: Bucket) -> list[Gate]:
        """ARM's gate, and the provider's if that ever closed."""
        gates = [self._gate(bucket.arms)]
        providers = self._gates.get(bucket) if bucket.provider else None
        return gates if providers is None else [*gates, providers]

    def _gate(self, bucket: Bucket) -> Gate:
        gate = self._gates.get(bucket)
        if gate is None:
            if len(self._gates) >= self._sweep_at:
                self._forget_idle()
            gate = self._gates[bucket] = Gate(bucket.operations.refill_per_second)
        return gate

    def _forget_idle(self) -> None:
        now = self._clock.monotonic()
        self._gates = {b: g for b, g in self._gates.items() if not g.is_idle(now)}
        self._sweep_at = max(_FEW_GATES, 2 * len(self._gates))


def _left_at_arm(
    operations: OperationClass, readings: Mapping[str, float]
) -> float | None:
    """The least that ARM's own headers leave for requests of this class (T4)."""
    end = f"-{operations.value}"
    found = [
        remaining
        for limit, remaining in readings.items()
        if limit.startswith(("subscription-", "tenant-")) and limit.endswith(end)
    ]
    return min(found, default=None)


def remaining_of(headers: Mapping[str, str]) -> dict[str, float]:
    """What is left by limit, from `x-ms-ratelimit-remaining-*` (T3).

    Compute's list (`Policy;n,Policy;n`) gives one entry a policy. Headers that cannot
    be read are left out.
    """
    found: dict[str, float] = {}
    for name, value in headers.items():
        if name.startswith(_PREFIX):
            limit = name.removeprefix(_PREFIX)
            for policy, text in _entries(value):
                if text.strip().isdigit():
                    found[f"{limit}/{policy}" if policy else limit] = float(text)
    return found


def _entries(value: str) -> list[tuple[str, str]]:
    if ";" not in value:
        return [("", value)]
    entries = [entry.partition(";") for entry in value.split(",")]
    return [(name.strip(), number) for name, _, number in entries]
