"""One token bucket of ARM's as seen from outside: may a request go, or when.

What is left is known from ARM's own answers and never assumed (T4); what refills is
what Microsoft states (T2). Who may not go gets a time of its own: a thousand that wait
come back one after the other, at the rate that ARM can take. Not thread-safe; time is
given. Rules: T4, T6-T8.
"""

import attrs

# T8: below the refill rate, or the slightest delay of a clock makes a 429.
_PACE = 0.95
_PACE_AFTER_REFUSAL = 0.8
# T6: a throttled answer without Retry-After.
_FIRST_PAUSE_SECONDS = 5.0
_LONGEST_PAUSE_SECONDS = 60.0
_RAMP_SECONDS = 60.0
# ARM's buckets refill within minutes, whatever an answer asks for.
_MAX_PAUSE_SECONDS = 600.0


@attrs.define
class Gate:
    """refill_per_second: as Microsoft states it.

    Times are seconds on one clock. level: requests that may still go, as of `read_at`;
    None while nothing was read. queued_until: the last time that was given to a waiter.
    """

    refill_per_second: float
    level: float | None = None
    read_at: float = 0.0
    opens: float = 0.0
    pauses: int = 0
    queued_until: float = 0.0
    in_flight: int = 0

    def wait_seconds(self, now: float) -> float:
        """0.0: go, and say so with `enter`. Else the seconds until this caller's turn.

        Every call that returns a wait takes a place in the queue.
        """
        self._calm(now)
        if self.level is None:
            return 0.0
        lacking = 1.0 - self._left(now)
        if now >= self.opens and lacking <= 0:
            return 0.0
        free = max(self.opens, now + max(lacking, 0.0) / self._pace(now))
        turn = max(free, self.queued_until + 1.0 / self._pace(now))
        self.queued_until = turn = min(turn, max(now, self.opens) + _MAX_PAUSE_SECONDS)
        return turn - now

    def enter(self, now: float) -> None:
        """A request goes."""
        self.in_flight += 1
        if self.level is not None:
            self.level, self.read_at = self._left(now) - 1.0, max(now, self.read_at)

    def leave(self) -> None:
        """Its answer is there, or will never be."""
        self.in_flight = max(self.in_flight - 1, 0)

    def read(self, now: float, remaining: float) -> None:
        """ARM said what is left; requests on their way may not be counted in it.

        After a refusal more than trickles in is not believed for a while (T7).
        """
        level = remaining - self.in_flight
        if self.pauses:
            level = min(level, self._left(now))
        self.level, self.read_at = level, max(now, self.read_at)

    def close(self, now: float, retry_after_seconds: float | None) -> None:
        """ARM refused: nobody goes before its time, then one after the other.

        Of several that were on their way together, only the first counts as a refusal.
        """
        stated = retry_after_seconds or 0.0
        if now >= self.opens:
            # Refused again though it was waited for: others take of the same bucket.
            first = _FIRST_PAUSE_SECONDS if retry_after_seconds is None else stated
            doubled = first * 2.0 ** min(self.pauses, 10)
            stated = max(stated, min(doubled, _LONGEST_PAUSE_SECONDS))
            self.pauses += 1
        self.opens = max(self.opens, now + min(stated, _MAX_PAUSE_SECONDS))
        self.level, self.read_at = 1.0, self.opens

    def is_idle(self, now: float) -> bool:
        """Whether it holds nobody back any more, and forgetting it changes nothing."""
        full = now > max(self.read_at, self.queued_until) + _MAX_PAUSE_SECONDS
        return not self.in_flight and (self.level is None or full)

    def _left(self, now: float) -> float:
        passed = max(now - self.read_at, 0.0)
        return (self.level or 0.0) + passed * self._pace(now)

    def _pace(self, now: float) -> float:
        if not self.pauses or now >= self.opens + _RAMP_SECONDS:
            return self.refill_per_second * _PACE
        return self.refill_per_second * _PACE_AFTER_REFUSAL / self.pauses

    def _calm(self, now: float) -> None:
        """A minute without a refusal: the next one is the first again."""
        if self.pauses and now > self.opens + _RAMP_SECONDS:
            self.pauses, self.level = 0, None
