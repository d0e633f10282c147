"""The lease lock: acquires, renews and releases a Lease for one process.

`LeaseLock` sends one or two blocking requests on the election's thread; each success
extends the fence. Raises ApiError, TransportError. Rules: LE-3 - LE-6.
"""

import threading
from collections.abc import Callable, Mapping
from datetime import datetime
from functools import partial

import attrs

from asoreconcile.base.clock import Clock
from asoreconcile.base.objects import (
    JsonObject,
    ObjectKey,
    annotations,
    resource_version,
    version_number,
)
from asoreconcile.kube.client import KubeClient
from asoreconcile.kube.errors import AlreadyExistsError, ConflictError, NotFoundError
from asoreconcile.kube.resources import LEASES
from asoreconcile.runtime.leaderelection.fence import LeaseFence
from asoreconcile.runtime.leaderelection.lease import (
    Follow,
    LeaseObservation,
    LeaseTiming,
    WriteLease,
    decide,
    is_as_written,
    released,
    renewal,
    renewed_at,
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
        return self._known.holder

    @property
    def annotations(self) -> Mapping[str, str]:
        """The annotations of the lease if there is a holder, else {}."""
        known = self._known
        return annotations(known.lease or {}) if known.holder else {}

    @property
    def silent_seconds(self) -> float:
        """The seconds since the lease was last seen to change."""
        return self._clock.monotonic() - self._known.since

    @property
    def is_ours(self) -> bool:
        """True if this process was the holder when the lease was last seen."""
        return self.holder == self._identity

    @property
    def is_as_written(self) -> bool:
        """True if the lease, when it was last seen, said what this process wrote."""
        return is_as_written(self._known.lease, self._identity, self._timing)

    def is_changed_by(self, lease: JsonObject) -> bool:
        """Return whether a state from the watch is newer than the last known one, and
        says something else than this process wrote. Rule: LE-11.
        """
        known = version_number(resource_version(self._known.lease or {}))
        return version_number(resource_version(lease)) > known and not is_as_written(
            lease, self._identity, self._timing
        )

    def observe(self, lease: JsonObject | None) -> None:
        """Record a Lease that was read, or that a watch delivered, which may be an
        older state.
        """
        with self._lock:
            self._known = seen(self._known, lease, now=self._clock.monotonic())

    def answer(self) -> WriteLease | Follow:
        """Return the next step: write the lease, or wait."""
        return decide(
            self._known,
            self.key,
            self._identity,
            now=self._clock.monotonic(),
            wall=self._clock.now(),
            timing=self._timing,
        )

    def renewal(self) -> WriteLease:
        """Return the next renewal."""
        return renewal(
            self._known,
            self.key,
            self._identity,
            wall=self._clock.now(),
            timing=self._timing,
        )

    def release(self) -> JsonObject | None:
        """Return the write that releases the lease; None if this process does not hold
        it.
        """
        return released(self._known.lease, self._identity, wall=self._clock.now())


@attrs.define(eq=False)
class LeaseLock:
    """Takes, renews and releases one Lease. For use by one thread.

    annotations: returns the annotations to write with each renewal.
    predecessor_renewed: when another process last renewed or released the lease, by its
    own clock; None before the first read, and if no process did.
    """

    _client: KubeClient
    _observed: ObservedLease
    _fence: LeaseFence
    _clock: Clock
    _timing: LeaseTiming
    annotations: Callable[[], Mapping[str, str]] = attrs.field(init=False, default=dict)
    # Whether the lease must be read again.
    _doubtful: bool = attrs.field(init=False, default=True)
    _doubted: Callable[[], bool] = attrs.field(init=False, default=lambda: False)
    predecessor_renewed: datetime | None = attrs.field(init=False, default=None)

    def take(self) -> Follow | None:
        """Read the lease, and acquire it if it is free. Returns None if this process
        holds it then.
        """
        lease = self._read()
        self._observed.observe(lease)
        # An earlier try may have written it although its response was lost.
        if not self._observed.is_ours:
            self.predecessor_renewed = renewed_at(lease)
        answer = self._observed.answer()
        if isinstance(answer, Follow):
            return answer
        self._write(answer)
        return None

    def renew(self) -> bool:
        """Renew the lease. Returns whether this process still holds it."""
        if (self._doubtful or self._doubted()) and not self._is_still_ours():
            return False
        try:
            self._write(self._observed.renewal())
        except (ConflictError, NotFoundError, AlreadyExistsError):
            # Another process wrote or deleted it, or we wrote it and the response was
            # lost.
            if not self._is_still_ours():
                return False
            self._write(self._observed.renewal())
        return True

    def doubt(self, lease: JsonObject) -> None:
        """Read the lease before the next renewal, because the watch has delivered this
        state. Any thread.
        """
        self._doubted = partial(self._observed.is_changed_by, lease)

    def release(self) -> bool:
        """Release the lease; return False if this process does not hold it.

        The lease is read first, because the last known state may be old. Rule: LE-6.
        """
        self._observed.observe(self._read())
        given = self._observed.release()
        if given is not None:
            self._client.replace(LEASES, given)
        return given is not None

    def _is_still_ours(self) -> bool:
        """Read the lease. Returns whether this process may renew it: another duration
        lets others take it earlier. A deleted one is made again.
        """
        lease = self._read()
        self._observed.observe(lease)
        if lease is None:
            return self._observed.is_ours
        return self._observed.is_as_written

    def _read(self) -> JsonObject | None:
        try:
            return self._client.get(LEASES, self._observed.key)
        except NotFoundError:
            return None

    def _write(self, write: WriteLease) -> None:
        """Write the lease. The fence is extended from the time of the request, not of
        the response.
        """
        asked_at = self._clock.monotonic()
        # Until the response arrives, it is unknown whether the lease was written.
        self._doubtful = True
        send = self._client.create if write.create else self._client.replace
        lease = send(LEASES, _annotated(write.lease, self.annotations()))
        self._doubtful = False
        self._observed.observe(lease)
        self._fence.extend(asked_at + self._timing.renew_deadline_seconds)


def _annotated(lease: JsonObject, notes: Mapping[str, str]) -> JsonObject:
    if not notes:
        return lease
    meta = {**lease["metadata"], "annotations": {**annotations(lease), **notes}}
    return {**lease, "metadata": meta}
