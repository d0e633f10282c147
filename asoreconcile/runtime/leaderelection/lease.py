"""Decides from an observed Lease whether to write it, or until when to wait.

Pure. It takes two kinds of time: `now` is this machine's `Clock.monotonic` and the only
measure of validity; `wall` is only written for people to read. So machines with
different clocks still agree. Rules: LE-1, LE-3, LE-4, LE-6.
"""

import math
import re
from datetime import UTC, datetime

import attrs

from asoreconcile.base.errors import check_is, check_seconds
from asoreconcile.base.objects import JsonObject, ObjectKey, copy_json, spec

# client-go's factor.
_JITTER = 1.2
_MIN_REQUEST_SECONDS = 1.0
LONGEST_LEASE_SECONDS = 86_400.0
"""A longer lease would keep every replica standing by for days after a crash."""
_NAME = re.compile(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?")
_MAX_NAME = 253
_POD = re.compile(r"[^_]*_pod-[0-9a-f-]{36}_")


@attrs.frozen
class LeaseTiming:
    """The times of leader election. Raises TypeError or ValueError for times that
    cannot
    work. Rule: LE-1.

    lease_seconds: time that other processes wait before they take a lease that is not
    renewed. renew_deadline_seconds: time for which a leader goes on without a renewal;
    its writes in progress must end in the rest of lease_seconds. retry_seconds: pause
    between renewals, and between attempts to acquire.
    """

    lease_seconds: float = 15.0
    renew_deadline_seconds: float = 10.0
    retry_seconds: float = 2.0

    def __attrs_post_init__(self) -> None:
        check_seconds("lease_seconds", self.lease_seconds)
        check_seconds("renew_deadline_seconds", self.renew_deadline_seconds)
        check_seconds("retry_seconds", self.retry_seconds)
        # A Lease counts in whole seconds.
        if not 1 <= self.lease_seconds <= LONGEST_LEASE_SECONDS:
            raise ValueError(
                f"lease_seconds is {self.lease_seconds:g}: give 1 to "
                f"{LONGEST_LEASE_SECONDS:g}, a day"
            )
        if not self.lease_seconds > self.renew_deadline_seconds:
            raise ValueError("a lease must outlast the deadline to renew it")
        if not self.renew_deadline_seconds > self.retry_seconds * _JITTER:
            raise ValueError("the deadline to renew must leave time for a second try")
        if not self.retry_seconds > 0:
            raise ValueError("tries need a pause between them")

    @property
    def request_seconds(self) -> float:
        """The read timeout of one request, short enough for a second try."""
        return max(_MIN_REQUEST_SECONDS, self.renew_deadline_seconds / 2)

    def retry_delay_seconds(self, jitter: float) -> float:
        """Return the seconds until the next attempt to acquire. jitter: random number
        from 0 to 1. Rule: LE-2.
        """
        return self.retry_seconds * (1 + _JITTER * jitter)


@attrs.frozen
class LeaderElectionOptions:
    """Options of leader election: one of several processes leads.

    lease: name of the Lease. namespace: namespace of the Lease; by default that of the
    configuration, in a pod the pod's. identity: identity of this process; by default
    `<hostname>_<uuid>`. pod_uid: uid of the pod, if this is the pod's only process that
    takes part: after a crash the next process takes the lease at once. Raises
    ValueError without a lease name.
    """

    lease: str
    namespace: str = ""
    identity: str = ""
    timing: LeaseTiming = attrs.field(factory=LeaseTiming)
    pod_uid: str = ""

    def __attrs_post_init__(self) -> None:
        if not self.lease:
            raise ValueError("a leader election needs the name of a lease")
        check_is("lease", self.lease, str)
        if len(self.lease) > _MAX_NAME or not _NAME.fullmatch(self.lease):
            raise ValueError(
                f"lease is {self.lease!r:.80}: give a name in lower case, as operator"
            )
        check_is("namespace", self.namespace, str)
        check_is("identity", self.identity, str)
        check_is("timing", self.timing, LeaseTiming)
        check_is("pod_uid", self.pod_uid, str)


@attrs.frozen
class LeaseObservation:
    """A lease, or None if it does not exist, and the time at which it was last seen to
    change.

    deleted: the last state of the lease, if it was deleted while a process held it.
    """

    lease: JsonObject | None
    since: float
    deleted: JsonObject | None = None

    @property
    def holder(self) -> str:
        """The identity of the holder, or "". After a deletion of the lease its holder
        stays the same.
        """
        return holder_of(self.lease or self.deleted)


@attrs.frozen
class WriteLease:
    """A decision to write a lease. create: whether the lease does not exist yet."""

    lease: JsonObject
    create: bool = False


@attrs.frozen
class Follow:
    """A decision to wait: another process leads at least until a given time, unless it
    releases the lease earlier.
    """

    holder: str
    until: float


def seen(
    before: LeaseObservation | None, lease: JsonObject | None, *, now: float
) -> LeaseObservation:
    """Return the observation after a read of the lease. Rules: LE-4, LE-10."""
    if lease is None and before is not None:
        if before.lease is None:
            return before
        # As if it were renewed now: its holder may not know of the deletion, and leads.
        return LeaseObservation(None, now, before.lease if before.holder else None)
    same = (
        before is not None
        and before.lease is not None
        and lease is not None
        # Not by resource version: adding an annotation is not a renewal.
        and spec(before.lease) == spec(lease)
    )
    return LeaseObservation(lease, before.since if same and before else now)


def holder_of(lease: JsonObject | None) -> str:
    """Return the identity of the lease's holder, or ""."""
    return str(spec(lease or {}).get("holderIdentity") or "")


def renewed_at(lease: JsonObject | None) -> datetime | None:
    """Return the time of the holder's last renewal, by the holder's clock; None if the
    lease has none.

    A released lease has the time of its release.
    """
    text = spec(lease or {}).get("renewTime")
    try:
        moment = datetime.fromisoformat(text) if isinstance(text, str) else None
    except ValueError:
        return None
    # Without an offset it is invalid: its time zone is unknown.
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
    """Decide whether to take a lease, renew it, or leave it alone. Rule: LE-3."""
    lease, holder = known.lease, known.holder
    # Taken by an earlier try whose response was lost, or deleted since.
    if holder == identity:
        return renewal(known, key, identity, wall=wall, timing=timing)
    until = known.since + _duration_seconds(lease or known.deleted or {}, timing)
    if holder and now < until and not _is_predecessor(holder, identity):
        return Follow(holder, until)
    if lease is None:
        return WriteLease(_new(key, identity, wall, timing), create=True)
    transitions = int(spec(lease).get("leaseTransitions") or 0) + 1
    return WriteLease(_with(lease, _record(identity, wall, timing, transitions)))


def identity_of(hostname: str, pod_uid: str, unique: str) -> str:
    """Return the identity of a process; pod_uid may be ""."""
    return f"{hostname}_pod-{pod_uid}_{unique}" if pod_uid else f"{hostname}_{unique}"


def _is_predecessor(holder: str, identity: str) -> bool:
    """Return whether the holder ran in the same pod: a kubelet starts a container again
    only after its last process has ended.
    """
    pod = _POD.match(identity)
    return pod is not None and holder.startswith(pod[0])


def renewal(
    known: LeaseObservation,
    key: ObjectKey,
    identity: str,
    *,
    wall: datetime,
    timing: LeaseTiming,
) -> WriteLease:
    """Return the holder's next write: it renews the lease, or makes a deleted one again
    with its history. Rule: LE-3.
    """
    if known.lease is not None:
        return WriteLease(renewed(known.lease, identity, wall=wall, timing=timing))
    made = _new(key, identity, wall, timing)
    kept = spec(known.deleted or {})
    for name in ("acquireTime", "leaseTransitions"):
        made["spec"][name] = kept.get(name, made["spec"][name])
    return WriteLease(made, create=True)


def renewed(
    lease: JsonObject, identity: str, *, wall: datetime, timing: LeaseTiming
) -> JsonObject:
    """Return the lease with a new renewTime."""
    record = _record(identity, wall, timing, 0)
    kept = ("acquireTime", "leaseTransitions")
    return _with(lease, {name: record[name] for name in record if name not in kept})


def released(
    lease: JsonObject | None, identity: str, *, wall: datetime
) -> JsonObject | None:
    """Return the released lease, or None if this process does not hold it. Rule:
    LE-6.
    """
    if lease is None or holder_of(lease) != identity:
        return None
    stamp = _micro_time(wall)
    record = {
        "holderIdentity": "",
        # 0 would mean at once, but the API server refuses it.
        "leaseDurationSeconds": 1,
        "renewTime": stamp,
        "acquireTime": stamp,
    }
    return _with(lease, record)


def is_as_written(lease: JsonObject | None, identity: str, timing: LeaseTiming) -> bool:
    """Return whether a lease still says what its holder wrote: its name, and for how
    long others wait. Rule: LE-11.
    """
    stated = spec(lease or {}).get("leaseDurationSeconds")
    return holder_of(lease) == identity and stated == math.ceil(timing.lease_seconds)


def _duration_seconds(lease: JsonObject, timing: LeaseTiming) -> float:
    """Return the lease's duration as its holder states it, at most a day; this
    process's setting if the lease has none.
    """
    stated = spec(lease).get("leaseDurationSeconds")
    if not isinstance(stated, int):
        return timing.lease_seconds
    return min(float(stated), LONGEST_LEASE_SECONDS)


def _record(
    identity: str, wall: datetime, timing: LeaseTiming, transitions: int
) -> JsonObject:
    stamp = _micro_time(wall)
    return {
        "holderIdentity": identity,
        # A Lease counts in whole seconds: rounded down, others would take over too
        # early.
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
    """Return the lease with these fields of its spec; fields that others added are
    kept.
    """
    changed: JsonObject = copy_json(lease)
    changed["spec"] = {**spec(changed), **record}
    return changed


def _micro_time(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
