"""Throttling: decides which requests wait, and counts the requests that ARM still
allows.

ARM limits the reads, writes and deletes of each subscription separately, and each
provider has limits of its own. After a 429 (except for a busy object) the limit that
the 429 names is closed until `Retry-After` has passed (`refusals`): ARM's bucket if ARM
says that it is empty, else that one resource; its provider's or ARM's bucket only after
several resources were refused. Before a 429, a request is held back if nothing is left.
No thread sleeps: a refused caller gets the time at which to try again. Rules: T1-T9,
D4.
"""

import random
import threading
from collections.abc import Callable, Mapping

from asoreconcile.azure.arm.bucket_key import Bucket, OperationClass
from asoreconcile.azure.arm.delays import stretched
from asoreconcile.azure.arm.errors import ArmError
from asoreconcile.azure.arm.refusals import Refusals
from asoreconcile.azure.arm.token_bucket import ArmTokenBucket
from asoreconcile.base.clock import Clock
from asoreconcile.base.errors import RetryError

# An object may be delayed for a while; after that its operation counts as abandoned.
_FORGOTTEN_SECONDS = 900.0
# Not at each poll, as the sweep visits all operations of all subscriptions.
_SWEEP_SECONDS = 60.0


class LroRegistry:
    """The running operations of one identity, and the time of each next poll.

    Thread-safe; never blocks.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._due: dict[str, dict[str, float]] = {}
        self._swept = 0.0

    def running(
        self,
        subscription: str,
        id_: str,
        delay_seconds: float,
        *,
        reads_left: float | None = None,
        reads_to_end: int | None = None,
        is_first: bool = False,
    ) -> float:
        """Record a running operation; return the delay before its next poll.

        id_: the client request id of its first request.
        delay_seconds: the delay if it were the only operation.
        reads_left: the number of reads that ARM still allows.
        reads_to_end, is_first: arguments of `delays.stretched`.
        """
        with self._lock:
            now = self._clock.monotonic()
            self._sweep(now)
            open_ = self._due.setdefault(subscription.lower(), {})
            # Counted before its delay is computed: it shares the reads, too.
            open_[id_] = now
            delay = stretched(
                delay_seconds,
                open_operations=len(open_),
                reads_left=reads_left,
                reads_to_end=reads_to_end,
                is_first=is_first,
            )
            open_[id_] = now + delay
            return delay

    def ended(self, subscription: str, id_: str) -> None:
        """Remove an operation if it is known."""
        with self._lock:
            open_ = self._due.get(subscription.lower(), {})
            open_.pop(id_, None)

    def count(self, subscription: str) -> int:
        """Return the number of operations that run in a subscription; compared without
        case.
        """
        with self._lock:
            return len(self._due.get(subscription.lower(), {}))

    def _sweep(self, now: float) -> None:
        if now < self._swept + _SWEEP_SECONDS:
            return
        self._swept = now
        for open_ in self._due.values():
            late = [id_ for id_, due in open_.items() if now > due + _FORGOTTEN_SECONDS]
            for id_ in late:
                del open_[id_]


_PREFIX = "x-ms-ratelimit-remaining-"
# Far above any limit of ARM.
_DIGITS = 15
# Each refused resource has a bucket: idle ones are removed beyond this number.
_FEW_GATES = 256


class ThrottledError(RetryError):
    """The request was not sent: its bucket is closed or empty. Retry after
    `after_seconds`.
    """


RemainingGauge = Callable[[Bucket, str, float], None]
"""Shows the requests that Azure would still take, by the name of its limit."""


class Budget:
    """One principal's token buckets. Thread-safe; never blocks.

    jitter: a function that returns 0.0-1.0 at random; spreads the retries of refused
    requests.

    The attribute `operations` holds the long-running operations that this principal
    polls.
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
        """Admit a request if it may be sent now; else raise ThrottledError (T7, T8).

        background: true for a sync, which gives way to other requests.

        After each admitted request, `leave` must be called once, whatever its result.
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
        """Record that an admitted request has ended."""
        with self._lock:
            for gate in self._in_the_way_of(bucket).values():
                gate.leave()

    def reads_left(self, subscription: str) -> float | None:
        """Return how many reads ARM still allows; None until ARM has said so
        (T3, T4).
        """
        with self._lock:
            gate = self._gates.get(Bucket(subscription, OperationClass.READS))
            return None if gate is None else gate.left(self._clock.monotonic())

    def observe(
        self, bucket: Bucket, headers: Mapping[str, str], fault: ArmError | None = None
    ) -> None:
        """Record a response: its rate headers, and whether it is a throttling.

        headers: keys in lower case.
        fault: the error of a 429. The 429 of a busy object closes no bucket (T5); any
        other closes the bucket that `Refusals.about` returns.
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
        """Return the buckets that may hold a request back: ARM's, and those of provider
        and resource if they were ever closed.
        """
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
    """Return the smallest remaining number that ARM's own headers state for this kind
    of request (T4).
    """
    end = f"-{operations.value}"
    found = [
        remaining
        for limit, remaining in readings.items()
        if limit.startswith(("subscription-", "tenant-")) and limit.endswith(end)
    ]
    return min(found, default=None)


def remaining_of(headers: Mapping[str, str]) -> dict[str, float]:
    """Return the remaining requests by limit, from `x-ms-ratelimit-remaining-*` (T3).

    Compute's list (`Policy;n,Policy;n`) gives one entry for each policy. Headers that
    cannot be read are left out.
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
