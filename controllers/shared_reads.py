"""Reads that many new objects share, as long as each began when the object was there.

Watches have no order among them: what was applied before an object may not be in the
cache when the object is. A read of the API server that begins later shows it, and shows
it as well to every other object that was there by then. Which these are the cache of
their kind says: a resource version that it has reached is in the past.
"""

import threading
from collections.abc import Callable
from math import inf
from typing import Generic, TypeVar

import attrs

from asoreconcile.clock import Clock
from asoreconcile.objects import (
    GroupKind,
    JsonObject,
    ObjectKey,
    gvk_of,
    resource_version,
    version_number,
)

# As long as objects that are applied together may wait for their turn.
_SHARED_SECONDS = 1.0

T = TypeVar("T")


@attrs.frozen
class _Shared(Generic[T]):
    """began: `Clock.monotonic` seconds. seen: what their kind's cache had reached."""

    began: float
    seen: int
    found: T

    def is_over(self, now: float) -> bool:
        return now - self.began > _SHARED_SECONDS

    def serves(self, obj: JsonObject) -> bool:
        return 0 < version_number(resource_version(obj)) <= self.seen


class SharedReads(Generic[T]):
    """What reads of keys came to, for a moment. Safe from any thread."""

    def __init__(
        self,
        read: Callable[[ObjectKey], T],
        *,
        seen: Callable[[GroupKind], str],
        clock: Clock,
    ) -> None:
        """read: asks the API server; what it raises is shared with nobody.
        seen: the resource version that the cache of a kind has reached, or "".
        """
        self._read = read
        self._seen = seen
        self._clock = clock
        self._lock = threading.Lock()
        self._shared: dict[tuple[ObjectKey, GroupKind], _Shared[T]] = {}
        self._changed_at = -inf

    def get(self, key: ObjectKey, obj: JsonObject) -> T:
        """What a read says that began when an object was there. Blocks for one, unless
        there was one within the last second. Raises as the read does.
        """
        kind, now = gvk_of(obj).group_kind, self._clock.monotonic()
        shared = self._shared.get((key, kind))
        if (
            shared is None
            or shared.is_over(now)
            or shared.began <= self._changed_at
            or not shared.serves(obj)
        ):
            # In this order: what the cache has reached is there before the read.
            seen = version_number(self._seen(kind))
            shared = _Shared(now, seen, self._read(key))
            with self._lock:
                current = {p: s for p, s in self._shared.items() if not s.is_over(now)}
                self._shared = {**current, (key, kind): shared}
        return shared.found

    def forget(self) -> None:
        """Something changed: no read that has begun serves anybody else."""
        self._changed_at = self._clock.monotonic()
