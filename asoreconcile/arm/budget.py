"""Throttling: who has to wait, and how much room ARM says is left.

ARM meters each subscription's reads, writes and deletes apart. After a real 429 (not a
busy object's) the bucket it hit is closed until `Retry-After` has passed; then requests
go out at the refill rate, not all at once. Nobody sleeps: who may not go is told when
to come back. Rules: T3-T8, D4.
"""

import random
import threading
from collections.abc import Callable, Mapping
from enum import Enum
from typing import Protocol

import attrs

from asoreconcile.arm.faults import ArmError
from asoreconcile.clock import Clock
from asoreconcile.errors import RetryError

_PREFIX = "x-ms-ratelimit-remaining-"
# T6: a throttled answer without Retry-After.
_FIRST_PAUSE_SECONDS = 5.0
_LONGEST_PAUSE_SECONDS = 60.0
_RAMP_SECONDS = 60.0
# ARM's buckets refill within minutes, whatever an answer asks for.
_MAX_PAUSE_SECONDS = 600.0


class OperationClass(Enum):
    """ARM's three kinds of requests; the value is the word in its headers.

    refill_per_second: T2, at 80 % of what Microsoft states (T8).
    """

    READS = "reads"
    WRITES = "writes"
    DELETES = "deletes"

    @property
    def refill_per_second(self) -> float:
        return 20.0 if self is OperationClass.READS else 8.0


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
    """What ARM meters together: "" stands for requests under the tenant."""

    subscription: str = attrs.field(converter=_lower)
    operations: OperationClass


class ThrottledError(RetryError):
    """Not sent: its bucket is closed. Try again after `after_seconds`."""


class RemainingGauge(Protocol):
    """Where readings of the remaining budget go, such as a metric."""

    def __call__(self, bucket: Bucket, limit: str, remaining: float) -> None:
        """limit: the header's last words, such as `subscription-reads`."""


@attrs.define
class _Gate:
    opens: float = 0.0
    pauses: int = 0
    next_slot: float = 0.0


class Budget:
    """One principal's gates, by bucket. Thread-safe; never blocks.

    jitter: 0.0-1.0 at random; spreads those who were told to come back.
    """

    def __init__(
        self,
        clock: Clock,
        *,
        gauge: RemainingGauge | None = None,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self._clock = clock
        self._gauge = gauge
        self._jitter = jitter
        self._lock = threading.Lock()
        self._gates: dict[Bucket, _Gate] = {}

    def admit(self, bucket: Bucket) -> None:
        """Return if a request may go now; else raise ThrottledError (T7).

        While a gate has just reopened, each admission takes a slot at the refill rate.
        """
        if not self._gates:
            return
        with self._lock:
            wait = self._wait(bucket)
        if wait > 0:
            spread = wait * 0.2 * self._jitter()
            raise ThrottledError(
                f"Azure throttles {bucket.operations.value} of subscription "
                f"{bucket.subscription or '(tenant)'}",
                after_seconds=wait + spread,
            )

    def observe(
        self, bucket: Bucket, headers: Mapping[str, str], fault: ArmError | None = None
    ) -> None:
        """Take note of an answer: its rate headers, and whether it is a throttling.

        headers: keys lower-case. A busy object's 429 closes nothing (T5).
        """
        if self._gauge is not None:
            for limit, remaining in remaining_of(headers).items():
                self._gauge(bucket, limit, remaining)
        if fault is not None and fault.is_throttled:
            with self._lock:
                self._close(bucket, fault.retry_after_seconds)

    def _wait(self, bucket: Bucket) -> float:
        gate = self._gates.get(bucket)
        if gate is None:
            return 0.0
        now = self._clock.monotonic()
        if now < gate.opens:
            return gate.opens - now
        if now > gate.opens + _RAMP_SECONDS:
            del self._gates[bucket]
            return 0.0
        if now < gate.next_slot:
            return gate.next_slot - now
        gate.next_slot = now + 1.0 / bucket.operations.refill_per_second
        return 0.0

    def _close(self, bucket: Bucket, retry_after_seconds: float | None) -> None:
        gate = self._gates.setdefault(bucket, _Gate())
        pause = retry_after_seconds
        if pause is None:
            pause = min(_FIRST_PAUSE_SECONDS * 2**gate.pauses, _LONGEST_PAUSE_SECONDS)
        pause = min(pause, _MAX_PAUSE_SECONDS)
        gate.pauses += 1
        gate.opens = max(gate.opens, self._clock.monotonic() + pause)


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
