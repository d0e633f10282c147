"""Remember the results of checks, and the expressions that exceeded a limit."""

import threading
from collections import OrderedDict
from collections.abc import Hashable
from typing import Generic, TypeVar

import attrs

from asoreconcile.base.clock import Clock

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

_FIRST_PAUSE_SECONDS = 10.0
_LAST_PAUSE_SECONDS = 600.0
_MAX_CULPRITS = 4096


class Recent(Generic[K, V]):
    """A bounded cache of the most recently used values. Safe from any thread."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._lock = threading.Lock()
        self._values: OrderedDict[K, V] = OrderedDict()

    def get(self, key: K) -> V | None:
        """The value, which counts as used now; None if it is not cached."""
        with self._lock:
            if key in self._values:
                self._values.move_to_end(key)
            return self._values.get(key)

    def put(self, key: K, value: V) -> None:
        """Cache a value; if full, drop the least recently used one."""
        with self._lock:
            self._values[key] = value
            self._values.move_to_end(key)
            while len(self._values) > self._size:
                self._values.popitem(last=False)

    def drop(self, key: K) -> None:
        """Forget a value, if it is there."""
        with self._lock:
            self._values.pop(key, None)


@attrs.frozen
class _Reached:
    """A limit that was reached, and the time until which the expression is refused."""

    why: str
    pause_seconds: float
    until: float


class Limits:
    """The expressions that are refused: for 10 s at first, then twice as long each
    time.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._reached = Recent[Hashable, _Reached](_MAX_CULPRITS)

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
        pause = _FIRST_PAUSE_SECONDS
        if known is not None:
            pause = min(known.pause_seconds * 2, _LAST_PAUSE_SECONDS)
        until = self._clock.monotonic() + pause
        self._reached.put(key, _Reached(why, pause, until))

    def kept(self, key: Hashable) -> None:
        """Record that an expression stayed within its limits."""
        self._reached.drop(key)
