"""One of ARM's token buckets as a client sees it: decides whether a request may be
sent, or when.

The remaining number is known only from ARM's responses and never assumed (T4); the
refill rate is the documented one (T2). A refused caller gets a time of its own, so a
thousand waiting callers come back one after the other, at the rate that ARM allows. Not
thread-safe; time is an argument. Rules: T4, T6-T8.
"""

from collections import deque

import attrs

from asoreconcile.base.backoff import exponential

# T8: below the refill rate, or the slightest delay of a clock makes a 429.
_PACE = 0.95
_PACE_AFTER_REFUSAL = 0.8
# T6: a throttled answer without Retry-After.
_FIRST_PAUSE_SECONDS = 5.0
_LONGEST_PAUSE_SECONDS = 60.0
# For so long after a refusal requests are sent more slowly: at the old rate ARM might
# refuse again.
_RAMP_SECONDS = 60.0
# A worker may be busy when a waiter's time has come.
_LATE_SECONDS = 2.0
# ARM's buckets refill within minutes, whatever an answer asks for.
_MAX_PAUSE_SECONDS = 600.0


@attrs.define
class ArmTokenBucket:
    """The state of one token bucket. Times are seconds on one clock.

    refill_per_second: the rate that Microsoft documents.
    level: number of requests that may still be sent, as of `read_at`; None until ARM
    has said so.
    queued_until: the last time that was given to a background caller.
    awaited: the times given to other callers, who go first.
    """

    refill_per_second: float
    level: float | None = None
    read_at: float = 0.0
    opens: float = 0.0
    pauses: int = 0
    queued_until: float = 0.0
    awaited: deque[float] = attrs.field(factory=deque)
    in_flight: int = 0

    def wait_seconds(self, now: float, *, background: bool = False) -> float:
        """Return 0.0 if a request may be sent, to be reported with `enter`; else the
        delay.

        background: true for a request that gives way to others.

        Every call that returns a delay takes a place in the caller's queue.
        """
        self._calm(now)
        if self.level is None:
            return 0.0
        self._drop_late(now)
        if not background and self.awaited and self.awaited[0] <= now:
            self.awaited.popleft()  # this waiter was due now
        ahead = len(self.awaited) if background else 0
        lacking = 1.0 + ahead - self._left(now)
        if now >= self.opens and lacking <= 0:
            return 0.0
        free = max(self.opens, now + max(lacking, 0.0) / self._pace(now))
        queued = self.queued_until if background else self._last_awaited
        turn = max(free, queued + 1.0 / self._pace(now))
        turn = min(turn, max(now, self.opens) + _MAX_PAUSE_SECONDS)
        if background:
            self.queued_until = turn
        else:
            self.awaited.append(turn)
        return turn - now

    def enter(self, now: float) -> None:
        """Count a request that is sent."""
        self.in_flight += 1
        if self.level is not None:
            self.level, self.read_at = self._left(now) - 1.0, max(now, self.read_at)

    def leave(self) -> None:
        """Count a request as ended, with or without a response."""
        self.in_flight = max(self.in_flight - 1, 0)

    def read(self, now: float, remaining: float) -> None:
        """Record the number that ARM says is left; it may not include requests in
        flight.

        For some time after a refusal, only the refill is believed (T7).
        """
        level = remaining - self.in_flight
        if self.pauses:
            level = min(level, self._left(now))
        self.level, self.read_at = level, max(now, self.read_at)

    def close(self, now: float, retry_after_seconds: float | None) -> None:
        """Record a refusal: no request is sent before the given time, then one after
        the other.

        Of several requests that were in flight together, only the first counts as a
        refusal.
        """
        stated = retry_after_seconds or 0.0
        if now >= self.opens:
            # Refused again though it was waited for: others take of the same bucket.
            first = _FIRST_PAUSE_SECONDS if retry_after_seconds is None else stated
            pause = exponential(first, self.pauses, _LONGEST_PAUSE_SECONDS)
            stated = max(stated, pause)
            self.pauses += 1
        self.opens = max(self.opens, now + min(stated, _MAX_PAUSE_SECONDS))
        self.level, self.read_at = 1.0, self.opens

    def left(self, now: float) -> float | None:
        """Return the remaining number with refills: 0.0 while closed, None if
        unknown.
        """
        if self.level is None:
            return None
        return self._left(now) if now >= self.opens else 0.0

    def is_idle(self, now: float) -> bool:
        """Return whether the bucket holds no request back, so that dropping it changes
        nothing.
        """
        last = max(self.read_at, self.queued_until, self._last_awaited)
        full = now > last + _MAX_PAUSE_SECONDS
        return not self.in_flight and (self.level is None or full)

    @property
    def _last_awaited(self) -> float:
        return self.awaited[-1] if self.awaited else 0.0

    def _drop_late(self, now: float) -> None:
        """Remove waiting callers that missed their time."""
        while self.awaited and self.awaited[0] < now - _LATE_SECONDS:
            self.awaited.popleft()

    def _left(self, now: float) -> float:
        passed = max(now - self.read_at, 0.0)
        return (self.level or 0.0) + passed * self._pace(now)

    def _pace(self, now: float) -> float:
        if not self.pauses or now >= self.opens + _RAMP_SECONDS:
            return self.refill_per_second * _PACE
        return self.refill_per_second * _PACE_AFTER_REFUSAL / self.pauses

    def _calm(self, now: float) -> None:
        """Reset after a minute without a refusal: the next refusal is the first
        again.
        """
        if self.pauses and now > self.opens + _RAMP_SECONDS:
            self.pauses, self.level = 0, None
