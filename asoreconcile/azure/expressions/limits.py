"""Remember the expressions that exceeded a limit."""

from collections.abc import Hashable

import attrs

from asoreconcile.base.backoff import exponential
from asoreconcile.base.clock import Clock
from asoreconcile.base.lru import LruCache

_FIRST_PAUSE_SECONDS = 10.0
_LAST_PAUSE_SECONDS = 600.0
_MAX_CULPRITS = 4096


@attrs.frozen
class _Reached:
    """A limit that was reached, and the time until which the expression is refused."""

    why: str
    times: int
    until: float


class Limits:
    """The expressions that are refused: for 10 s at first, then twice as long each
    time.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._reached = LruCache[Hashable, _Reached](_MAX_CULPRITS)

    def refusal(self, key: Hashable) -> str:
        """Return why an expression is refused now, as last reported; "" if it
        is not.
        """
        known = self._reached.get(key)
        if known is None or known.until <= self._clock.monotonic():
            return ""
        return known.why

    def reached(self, key: Hashable, why: str) -> None:
        """Refuse `key` from now on: for 10 s at first, then twice as long each time."""
        known = self._reached.get(key)
        times = known.times if known else 0
        pause = exponential(_FIRST_PAUSE_SECONDS, times, _LAST_PAUSE_SECONDS)
        until = self._clock.monotonic() + pause
        self._reached.put(key, _Reached(why, times + 1, until))

    def kept(self, key: Hashable) -> None:
        """Record that an expression stayed within its limits."""
        self._reached.pop(key)
