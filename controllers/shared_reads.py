"""Shares reads among new objects; an object uses only reads that began after it was
created.

Watches are not ordered among each other: an object that was applied first may be
missing from its cache when the second one arrives. A read of the API server that begins
later shows it, also to every other object that existed when the read began. Those are
the objects whose resource version the cache of their kind had reached by then.
"""

import threading
from collections.abc import Callable
from math import inf
from typing import Generic, TypeVar

import attrs

from asoreconcile.base.clock import Clock
from asoreconcile.base.objects import (
    GroupKind,
    JsonObject,
    ObjectKey,
    gvk_of,
    resource_version,
    version_number,
)
from asoreconcile.base.single_flight import SingleFlight

# As long as objects that are applied together may wait for their turn.
_SHARED_SECONDS = 1.0

T = TypeVar("T")


@attrs.frozen(eq=False)
class _Read:
    """A read that several reconciles share.

    began: start of the read, in `Clock.monotonic` seconds. seen: the resource version
    that the kind's cache had reached then.
    """

    began: float
    seen: int

    def is_over(self, now: float) -> bool:
        return now - self.began > _SHARED_SECONDS

    def serves(self, obj: JsonObject) -> bool:
        return 0 < version_number(resource_version(obj)) <= self.seen


@attrs.define(eq=False)
class SharedReads(Generic[T]):
    """Keeps the results of reads by key for a moment. Safe from any thread.

    read: reads from the API server; its exception is raised to all waiting callers.
    seen: returns the resource version that the cache of a kind has reached, or "".
    """

    _read: Callable[[ObjectKey], T]
    _seen: Callable[[GroupKind], str]
    _clock: Clock
    _lock: threading.Lock = attrs.field(init=False, factory=threading.Lock)
    _shared: dict[tuple[ObjectKey, GroupKind], _Read] = attrs.field(
        init=False, factory=dict
    )
    _found: dict[_Read, T] = attrs.field(init=False, factory=dict)
    _under_way: SingleFlight[_Read, T] = attrs.field(init=False, factory=SingleFlight)
    _changed_at: float = attrs.field(init=False, default=-inf)

    def get(self, key: ObjectKey, obj: JsonObject) -> T:
        """Return the result of a read that began after the object existed.

        Blocks for a read, unless there was one within the last second; at most until
        the reconcile's deadline. Raises the errors of the read.
        """
        kind = gvk_of(obj).group_kind
        read = self._serving(key, kind, obj)

        def find() -> T:
            with self._lock:
                if read in self._found:
                    return self._found[read]
            found = self._read(key)
            with self._lock:
                if self._shared.get((key, kind)) is read:
                    self._found[read] = found
            return found

        return self._under_way.do(read, find)

    def forget(self) -> None:
        """Stop sharing the reads that have begun, because of a change."""
        # Not by dropping what is under way: those who wait for it were there before the
        # change.
        self._changed_at = self._clock.monotonic()

    def _serving(self, key: ObjectKey, kind: GroupKind, obj: JsonObject) -> _Read:
        """Return a read that shows an object: one that has started, or a new one."""
        with self._lock:
            now = self._clock.monotonic()
            read = self._shared.get((key, kind))
            if (
                read is not None
                and not read.is_over(now)
                and read.began > self._changed_at
                and read.serves(obj)
            ):
                return read
            # In this order, so that the cache's version is older than the read.
            read = _Read(now, version_number(self._seen(kind)))
            self._shared = {p: r for p, r in self._shared.items() if not r.is_over(now)}
            self._shared[(key, kind)] = read
            current = set(self._shared.values())
            self._found = {r: f for r, f in self._found.items() if r in current}
            return read
