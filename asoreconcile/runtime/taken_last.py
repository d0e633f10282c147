"""The objects of a controller that are reconciled last, and why.

An object that held the process is reconciled when no other of its kind is ready, and
not again for ten times as long as it held the process. An object that was being
reconciled when the process before died is taken last, too. After an hour without
another time it is one like all others.
"""

from collections.abc import Iterable

import attrs

from asoreconcile.base.clock import Clock
from asoreconcile.base.lru import LruCache
from asoreconcile.base.objects import ObjectKey

FORGOTTEN_SECONDS = 3600.0
_REST_FACTOR = 10.0
_MOST_REST_SECONDS = 1800.0
_MOST = 1024


@attrs.frozen
class _Reason:
    """The reason why an object is taken last, and since when."""

    text: str
    at: float


@attrs.define(eq=False)
class TakenLast:
    """The objects of one controller. Safe from any thread."""

    _clock: Clock
    _reasons: LruCache[ObjectKey, _Reason] = attrs.field(
        init=False, factory=lambda: LruCache(_MOST)
    )

    def held(self, key: ObjectKey, held_seconds: float) -> float:
        """Add an object of which a reconcile held the process. Returns the seconds for
        which it is not to be reconciled.
        """
        self._add(
            key,
            "A reconcile of this object kept all others from running for "
            f"{held_seconds:.0f} s",
        )
        return min(held_seconds * _REST_FACTOR, _MOST_REST_SECONDS)

    def died(self, keys: Iterable[ObjectKey]) -> None:
        """Add the objects that were being reconciled when the process before died."""
        for key in keys:
            self._add(key, "The process died while it reconciled this object")

    def why(self, key: ObjectKey) -> str:
        """Return why an object is taken last; "" if it is not."""
        reason = self._reasons.get(key) if len(self._reasons) else None
        if reason is None:
            return ""
        if self._clock.monotonic() - reason.at >= FORGOTTEN_SECONDS:
            self._reasons.pop(key)
            return ""
        return reason.text

    def _add(self, key: ObjectKey, text: str) -> None:
        self._reasons.put(key, _Reason(text, self._clock.monotonic()))
