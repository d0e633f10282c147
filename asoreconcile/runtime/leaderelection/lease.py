"""Who may lead, decided from a Lease as it was seen: write it, or wait until when.

Pure. Times of two kinds go in: `now` is this machine's `Clock.monotonic`, and all that
validity is measured by; `wall` only stamps what people read. So machines whose clocks
differ agree all the same. Rules: LE-1, LE-3, LE-4, LE-6.
"""

import math
from datetime import UTC, datetime

import attrs

from asoreconcile.objects import JsonObject, ObjectKey, copy_json, spec

# client-go's factor.
_JITTER = 1.2
_MIN_REQUEST_SECONDS = 1.0


@attrs.frozen
class LeaseTiming:
    """How leases are kept. Raises ValueError for times that cannot work. Rule: LE-1.

    lease_seconds: how long others leave a lease alone that is not renewed.
    renew_deadline_seconds: how long a leader goes on without having renewed it; what
    is left up to lease_seconds is the time for its writes under way to end.
    retry_seconds: between renewals, and between tries.
    """

    lease_seconds: float = 15.0
    renew_deadline_seconds: float = 10.0
    retry_seconds: float = 2.0

    def __attrs_post_init__(self) -> None:
        # A Lease counts in whole seconds.
        if self.lease_seconds < 1:
            raise ValueError("a lease is for 1 s at least")
        if not self.lease_seconds > self.renew_deadline_seconds:
            raise ValueError("a lease must outlast the deadline to renew it")
        if not self.renew_deadline_seconds > self.retry_seconds * _JITTER:
            raise ValueError("the deadline to renew must leave time for a second try")
        if not self.retry_seconds > 0:
            raise ValueError("tries need a pause between them")

    @property
    def request_seconds(self) -> float:
        """The longest silence of one request: a second one must fit in."""
        return max(_MIN_REQUEST_SECONDS, self.renew_deadline_seconds / 2)

    def retry_delay_seconds(self, jitter: float) -> float:
        """Until the next try to become the leader. chance: 0-1, random. Rule: LE-2."""
        return self.retry_seconds * (1 + _JITTER * jitter)


@attrs.frozen
class LeaderElectionOptions:
    """Several processes run, and one of them works.

    lease: the Lease's name. namespace: default the configuration's, in a pod its own.
    identity: of this process; default `<hostname>_<uuid>`.
    """

    lease: str
    namespace: str = ""
    identity: str = ""
    timing: LeaseTiming = attrs.field(factory=LeaseTiming)


@attrs.frozen
class LeaseObservation:
    """A lease, None if there is none, and when it was seen to have changed."""

    lease: JsonObject | None
    since: float


@attrs.frozen
class WriteLease:
    """Write this lease; `create` it if it is not there."""

    lease: JsonObject
    create: bool = False


@attrs.frozen
class Follow:
    """Somebody else leads, at least until then unless they say so themselves."""

    holder: str
    until: float


def seen(
    before: LeaseObservation | None, lease: JsonObject | None, *, now: float
) -> LeaseObservation:
    """What is known after a look at the lease. Rule: LE-4."""
    same = (
        before is not None
        and before.lease is not None
        and lease is not None
        # Not by resource version: an annotation that somebody adds renews nothing.
        and spec(before.lease) == spec(lease)
    )
    return LeaseObservation(lease, before.since if same and before else now)


def holder_of(lease: JsonObject | None) -> str:
    """The identity of the lease's holder, or ""."""
    return str(spec(lease or {}).get("holderIdentity") or "")


def renewed_at(lease: JsonObject | None) -> datetime | None:
    """When a holder was last seen alive, by its own clock; None if nobody says.

    A lease that was given back says when.
    """
    text = spec(lease or {}).get("renewTime")
    try:
        moment = datetime.fromisoformat(text) if isinstance(text, str) else None
    except ValueError:
        return None
    # Without an offset it is no time: whose clock it is cannot be told.
    return moment if moment is not None and moment.tzinfo is not None else None


def decide(
    known: LeaseObservation,
    key: ObjectKey,
    identity: str,
    *,
    now: float,
    wall: datetime,
    timing: LeaseTiming,
) -> WriteLease | Follow:
    """What to do about a lease: take it, renew it, or leave it alone. Rule: LE-3."""
    lease = known.lease
    if lease is None:
        return WriteLease(_new(key, identity, wall, timing), create=True)
    holder = holder_of(lease)
    # Taken by an earlier try, whose answer was lost.
    if holder == identity:
        return WriteLease(renewed(lease, identity, wall=wall, timing=timing))
    until = known.since + _duration_seconds(lease, timing)
    if holder and now < until:
        return Follow(holder, until)
    transitions = int(spec(lease).get("leaseTransitions") or 0) + 1
    return WriteLease(_with(lease, _record(identity, wall, timing, transitions)))


def renewed(
    lease: JsonObject, identity: str, *, wall: datetime, timing: LeaseTiming
) -> JsonObject:
    """The lease as its holder renews it."""
    record = _record(identity, wall, timing, 0)
    kept = ("acquireTime", "leaseTransitions")
    return _with(lease, {name: record[name] for name in record if name not in kept})


def released(
    lease: JsonObject | None, identity: str, *, wall: datetime
) -> JsonObject | None:
    """The lease given back, or None if it is not ours to give. Rule: LE-6."""
    if lease is None or holder_of(lease) != identity:
        return None
    stamp = _micro_time(wall)
    record = {
        "holderIdentity": "",
        # At once would be 0, which the API server refuses.
        "leaseDurationSeconds": 1,
        "renewTime": stamp,
        "acquireTime": stamp,
    }
    return _with(lease, record)


def _duration_seconds(lease: JsonObject, timing: LeaseTiming) -> float:
    """For how long its holder asked; a lease that does not say is taken for ours."""
    stated = spec(lease).get("leaseDurationSeconds")
    return float(stated) if isinstance(stated, int) else timing.lease_seconds


def _record(
    identity: str, wall: datetime, timing: LeaseTiming, transitions: int
) -> JsonObject:
    stamp = _micro_time(wall)
    return {
        "holderIdentity": identity,
        # A Lease counts in whole seconds: rounded down, others would begin too early.
        "leaseDurationSeconds": math.ceil(timing.lease_seconds),
        "acquireTime": stamp,
        "renewTime": stamp,
        "leaseTransitions": transitions,
    }


def _new(
    key: ObjectKey, identity: str, wall: datetime, timing: LeaseTiming
) -> JsonObject:
    return {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"namespace": key.namespace, "name": key.name},
        "spec": _record(identity, wall, timing, 0),
    }


def _with(lease: JsonObject, record: JsonObject) -> JsonObject:
    """The same lease, with what others may have added to it."""
    changed: JsonObject = copy_json(lease)
    changed["spec"] = {**spec(changed), **record}
    return changed


def _micro_time(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
