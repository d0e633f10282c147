"""What one process knows of a Lease, from its reads, its writes and its watch."""

import threading

from asoreconcile.clock import Clock
from asoreconcile.objects import JsonObject, ObjectKey
from asoreconcile.runtime.leaderelection.lease import (
    Follow,
    LeaseObservation,
    LeaseTiming,
    Write,
    decide,
    holder_of,
    released,
    renewed,
    seen,
)


class ObservedLease:
    """The lease as this process last saw it. Thread-safe."""

    def __init__(
        self, key: ObjectKey, identity: str, *, clock: Clock, timing: LeaseTiming
    ) -> None:
        self.key = key
        self._identity = identity
        self._clock = clock
        self._timing = timing
        self._lock = threading.Lock()
        self._known = LeaseObservation(None, clock.monotonic())

    @property
    def holder(self) -> str:
        """The identity of the holder, or ""."""
        return holder_of(self._known.lease)

    @property
    def is_ours(self) -> bool:
        return self.holder == self._identity

    def note(self, lease: JsonObject | None) -> None:
        """Record the Lease as read, or as a watch delivered it, which may be old."""
        with self._lock:
            self._known = seen(self._known, lease, now=self._clock.monotonic())

    def answer(self) -> Write | Follow:
        """What to do about it now."""
        return decide(
            self._known,
            self.key,
            self._identity,
            now=self._clock.monotonic(),
            wall=self._clock.now(),
            timing=self._timing,
        )

    def renewal(self) -> Write:
        """The next write of its holder."""
        lease = self._known.lease or {}
        wall = self._clock.now()
        return Write(renewed(lease, self._identity, wall=wall, timing=self._timing))

    def release(self) -> JsonObject | None:
        """The write that releases the lease; None if it is not ours."""
        return released(self._known.lease, self._identity, wall=self._clock.now())
