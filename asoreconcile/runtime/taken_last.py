"""The objects of a controller that held the process, and are reconciled last.

Such an object is reconciled when no other of its kind is ready, and not again for ten
times as long as it held the process. After an hour without another time it is one like
all others.
"""

import attrs

from asoreconcile.base.clock import Clock
from asoreconcile.base.lru import LruCache
from asoreconcile.base.objects import ObjectKey

FORGOTTEN_SECONDS = 3600.0
_REST_FACTOR = 10.0
_MOST_REST_SECONDS = 1800.0
_MOST = 1024


@attrs.frozen
class _Held:
    """For how long an object held the process the last time, and when."""

    seconds: float
    at: float


@attrs.define(eq=False)
class TakenLast:
    """The objects of one controller. Safe from any thread."""

    _clock: Clock
    _held: LruCache[ObjectKey, _Held] = attrs.field(
        init=False, factory=lambda: LruCache(_MOST)
    )

    def add(self, key: ObjectKey, held_seconds: float) -> float:
        """Add an object. Returns the seconds for which it is not to be reconciled."""
        self._held.put(key, _Held(held_seconds, self._clock.monotonic()))
        return min(held_seconds * _REST_FACTOR, _MOST_REST_SECONDS)

    def held_seconds(self, key: ObjectKey) -> float:
        """Return for how long an object held the process; 0 if it is not taken last."""
        held = self._held.get(key) if len(self._held) else None
        if held is None:
            return 0.0
        if self._clock.monotonic() - held.at >= FORGOTTEN_SECONDS:
            self._held.pop(key)
            return 0.0
        return held.seconds
