"""What one process does to a Lease, when others write it and answers are lost."""

import threading

import pytest
from scriptedapi import Script

from asoreconcile.base.objects import ObjectKey, copy_json, resource_version
from asoreconcile.kube.errors import (
    AlreadyExistsError,
    ConflictError,
    NotFoundError,
    TransportError,
)
from asoreconcile.runtime.leaderelection.elector import LeaseElector
from asoreconcile.runtime.leaderelection.fence import LeaseFence
from asoreconcile.runtime.leaderelection.lease import (
    Follow,
    LeaderElectionOptions,
    LeaseTiming,
    holder_of,
)
from asoreconcile.runtime.leaderelection.lease_lock import LeaseLock, ObservedLease
from asoreconcile.testing.clock import FakeClock

KEY = ObjectKey("default", "lease")


class Leases(Script):
    """One lease, as the API server keeps it. `before` is called at each write."""

    def __init__(self):
        super().__init__()
        self.lease = None
        self.writes = []
        self.before = lambda: None
        self.after = lambda: None

    def get(self, resource, key):
        if self.lease is None:
            raise NotFoundError("no lease", status=404)
        return copy_json(self.lease)

    def create(self, resource, obj):
        self.before()
        return self._keep(obj)

    def replace(self, resource, obj):
        self.before()
        if self.lease is None:
            raise NotFoundError("no lease", status=404)
        if resource_version(obj) != resource_version(self.lease):
            raise ConflictError("changed since", status=409)
        return self._keep(obj)

    def close(self):
        """Nothing is open."""

    def write_as(self, holder):
        """Another process takes it."""
        spec = {**self.lease["spec"], "holderIdentity": holder}
        self._keep({**self.lease, "spec": spec})

    def _keep(self, obj):
        self.lease = copy_json(obj)
        self.writes.append(holder_of(obj))
        self.lease["metadata"]["resourceVersion"] = str(len(self.writes))
        self.after()
        return copy_json(self.lease)


@pytest.fixture
def leases():
    return Leases()


@pytest.fixture
def fence(clock):
    return LeaseFence(clock, lambda: None)


@pytest.fixture
def lock(leases, clock, fence):
    view = ObservedLease(KEY, "me", clock=clock, timing=LeaseTiming())
    return LeaseLock(leases, view, fence, clock=clock, timing=LeaseTiming())


def once(act):
    """A hook that acts the first time only."""
    left = [act]

    def hook():
        if left:
            left.pop()()

    return hook


def fail(error):
    raise error


def test_le3_a_free_lease_is_taken_and_another_s_is_left_alone(lock, leases):
    assert lock.take() is None
    leases.write_as("other")
    assert lock.take() == Follow("other", 15.0)
    assert leases.writes == ["me", "other"]


def test_when_the_last_leader_was_seen_alive_stays_known(lock, leases, clock):
    """By its own clock; what this process writes over it does not change it."""
    assert lock.predecessor_renewed is None
    lock.take()
    assert lock.predecessor_renewed is None  # nobody led before
    leases.write_as("other")
    last = clock.now()
    clock.advance(600)
    assert lock.take() == Follow("other", 615.0)
    assert lock.predecessor_renewed == last
    clock.advance(15)
    assert lock.take() is None
    clock.advance(2)
    assert lock.renew()
    assert lock.predecessor_renewed == last


def test_when_the_last_leader_was_seen_survives_a_lost_answer(lock, leases, clock):
    lock.take()
    leases.write_as("")
    last = clock.now()
    clock.advance(600)
    leases.after = once(lambda: fail(TransportError("lost")))
    with pytest.raises(TransportError):
        lock.take()
    clock.advance(2)
    assert lock.take() is None
    assert lock.predecessor_renewed == last


def test_le5_time_counts_from_when_a_renewal_was_asked_for(lock, leases, clock, fence):
    """The answer may have been long on its way."""
    lock.take()
    clock.advance(2)
    leases.after = once(lambda: clock.advance(7))
    assert lock.renew()
    clock.advance(2.9)
    assert fence.holds
    clock.advance(0.1)
    assert not fence.holds


def test_le5_a_renewal_never_writes_over_who_was_faster(lock, leases):
    lock.take()
    leases.before = once(lambda: leases.write_as("other"))
    assert not lock.renew()
    assert leases.writes == ["me", "other"]


def test_le5_an_answer_that_was_lost_is_looked_up(lock, leases):
    lock.take()
    leases.after = once(lambda: fail(TransportError("lost")))
    with pytest.raises(TransportError):
        lock.renew()
    assert lock.renew()
    leases.after = once(lambda: fail(TransportError("lost")))
    with pytest.raises(TransportError):
        lock.renew()
    leases.write_as("other")
    assert not lock.renew()
    assert holder_of(leases.lease) == "other"


def test_le3_a_deleted_lease_is_made_again_unless_another_was_faster(lock, leases):
    assert lock.take() is None
    other = copy_json(leases.lease)
    leases.lease = None
    assert lock.renew()
    assert holder_of(leases.lease) == "me"
    leases.lease = None

    def faster():
        leases.before = lambda: None
        leases.lease = copy_json(other)
        leases.write_as("other")
        raise AlreadyExistsError("there is one", status=409)

    leases.before = faster
    assert not lock.renew()
    assert holder_of(leases.lease) == "other"


def test_le6_what_is_another_s_is_not_released(lock, leases):
    lock.take()
    leases.write_as("other")
    assert not lock.release()
    assert holder_of(leases.lease) == "other"


def test_le6_a_release_that_meets_a_conflict_is_tried_again_at_once(leases, clock):
    """The clock stands: who waits, waits for ever."""
    elected, left = threading.Event(), []
    elector = LeaseElector(
        leases, LeaderElectionOptions(KEY.name, KEY.namespace, "me"), clock=clock
    )
    elector.start(elected=elected.set, lost=lambda: None)
    assert elected.wait(10)
    leases.before = once(lambda: leases.write_as("me"))
    stopping = threading.Thread(
        target=lambda: left.extend(elector.stop(10.0, release=True)), daemon=True
    )
    stopping.start()
    stopping.join(10)
    assert not stopping.is_alive()
    assert left == []
    assert leases.writes == ["me", "me", ""]


def test_the_holder_s_annotations_are_written_and_seen():
    leases, clock, timing = Leases(), FakeClock(), LeaseTiming()
    observed = ObservedLease(KEY, "one", clock=clock, timing=timing)
    fence = LeaseFence(clock, lambda: None)
    lock = LeaseLock(leases, observed, fence, clock=clock, timing=timing)
    lock.annotations = lambda: {"asoreconcile/leader": "kinds"}
    lock.take()
    other = ObservedLease(KEY, "two", clock=clock, timing=timing)
    other.observe(leases.lease)
    assert other.annotations == {"asoreconcile/leader": "kinds"}
    lock.release()
    other.observe(leases.lease)
    assert other.annotations == {}
