"""Leader election in this process, over real HTTP, with leases of one second."""

import threading
import time
from contextlib import closing
from datetime import timedelta
from queue import Queue

import orjson
import pytest
from leasetimes import at_once, short_timing
from prometheus_client import CollectorRegistry
from recordedthreads import ScarceThreads

from asoreconcile.base.clock import SystemClock
from asoreconcile.base.objects import ObjectKey
from asoreconcile.base.threads import Threads
from asoreconcile.kube.client import KubeClient
from asoreconcile.kube.config import load
from asoreconcile.kube.resources import CONFIG_MAPS, LEASES
from asoreconcile.kube.selection import Selection
from asoreconcile.observability.metrics import RuntimeMetrics
from asoreconcile.runtime.leaderelection.elector import LeaseElector, lease_elector
from asoreconcile.runtime.leaderelection.fence import NotLeadingError
from asoreconcile.runtime.leaderelection.lease import (
    LeaderElectionOptions,
    LeaseTiming,
    holder_of,
)
from asoreconcile.runtime.leaderelection.lease_lock import LeaseLock
from asoreconcile.runtime.worker_pool import start_daemon
from asoreconcile.testing.clock import FakeClock
from asoreconcile.testing.http import HttpResponse
from asoreconcile.testing.kube import KubeServer

KEY = ObjectKey("default", "the-lease")
# A lease that this machine can keep may be a minute long.
pytestmark = pytest.mark.timeout(600)

# Renewed often, and not lost when the machine is busy; `quick` is for what takes its end.
PATIENT = LeaseTiming(lease_seconds=60, renew_deadline_seconds=50, retry_seconds=0.1)
ONE_LEASE, ALL_LEASES = "/leases/the-lease$", "/leases$"


class SkewedClock(SystemClock):
    """A machine whose wall clock is a day off."""

    def now(self):
        return super().now() + timedelta(days=1)


class Candidate:
    """One process's elector, and what it was told."""

    def __init__(self, config, identity, clock, timing):
        self.registry = CollectorRegistry()
        self.clock = clock
        self.threads = Threads()
        self.elector = lease_elector(
            config,
            LeaderElectionOptions(KEY.name, KEY.namespace, identity, timing),
            user_agent=identity,
            clock=clock,
            metrics=RuntimeMetrics(self.registry),
            threads=self.threads,
        )
        self.elected, self.lost = Queue(), Queue()

    def start(self):
        self.elector.start(
            elected=lambda: self.elected.put(time.monotonic()),
            lost=lambda: self.lost.put(time.monotonic()),
        )
        return self

    def lead(self):
        self.start()
        self.elected.get(timeout=20)
        return self

    def status(self):
        labels = {"name": "the-lease"}
        return self.registry.get_sample_value("leader_election_master_status", labels)

    def told(self):
        return self.elector.readiness().details[0]


@pytest.fixture
def cluster():
    with KubeServer() as server:
        yield server


@pytest.fixture
def config(cluster, tmp_path):
    cluster.write_kubeconfig(tmp_path / "kubeconfig")
    return load(str(tmp_path / "kubeconfig"))


@pytest.fixture
def client(config):
    with closing(KubeClient(config, user_agent="tests")) as made:
        yield made


@pytest.fixture
def candidate(config):
    made = []

    def build(identity, *, clock=None, timing=PATIENT):
        made.append(Candidate(config, identity, clock or SystemClock(), timing))
        return made[-1]

    yield build
    for one in made:
        one.elector.stop(5, release=False)


@pytest.fixture
def quick():
    return short_timing()


@pytest.fixture
def renewals(client):
    """Yields the lease at each of its changes."""
    page = client.list_page(Selection(LEASES, "default"))
    stream = client.watch(
        Selection(LEASES, "default"),
        resource_version=page.resource_version,
        timeout_seconds=30,
    )
    with closing(stream):
        yield (lease for kind, lease in stream if kind in ("ADDED", "MODIFIED"))


def wait_renewed(renewals, times):
    for _ in range(times):
        lease = next(renewals)
    return lease["spec"]


def usurp(client, holder="thief"):
    lease = client.get(LEASES, KEY)
    lease["spec"]["holderIdentity"] = holder
    del lease["metadata"]["resourceVersion"]
    client.replace(LEASES, lease)


def refuse(cluster, method, path, status=503, times=1000):
    body = {"kind": "Status", "code": status, "message": "refused by the test"}
    cluster.faults.respond(
        method, path, HttpResponse(status, orjson.dumps(body)), times=times
    )


# --- becoming the leader --------------------------------------------------------------


def test_le9_one_leads_and_the_others_say_whom_they_stand_by_for(candidate, renewals):
    one = candidate("one").lead()
    two = candidate("two").start()
    wait_renewed(renewals, 3)
    assert (one.elector.leads, two.elector.leads) == (True, False)
    assert (one.status(), two.status()) == (1, 0)
    assert one.told() == "leader: one"
    assert two.told() == "standby: one leads"
    assert two.elected.empty()
    two.elector.check()  # what needs no lease may write on a standby


def test_le1_the_identity_names_the_machine_and_is_unique(config):
    one, two = (
        LeaseElector(
            KubeClient(config, user_agent="t"),
            LeaderElectionOptions(KEY.name, KEY.namespace),
            clock=FakeClock(),
        )
        for _ in range(2)
    )
    assert one.identity != two.identity
    assert one.identity.partition("_")[2]
    assert one.stop(0, release=True) == two.stop(0, release=True) == []


def test_le10_a_standby_leads_at_once_when_the_lease_is_given_back(candidate, renewals):
    one = candidate("one").lead()
    # Pauses of 20 s and more: only the watch can be quicker.
    slow = LeaseTiming(lease_seconds=60, renew_deadline_seconds=50, retry_seconds=20)
    two = candidate("two", timing=slow).start()
    wait_renewed(renewals, 2)
    until(
        lambda: (
            two.told() == "standby: one leads" and two.elector._informer.has_synced()
        )
    )
    assert one.elector.stop(5, release=True) == []
    two.elected.get(timeout=19)
    assert one.status() == 0
    with pytest.raises(NotLeadingError):
        one.elector.check()


def test_le10_a_renewal_that_hangs_leaves_time_to_give_the_lease_back(
    candidate, client, cluster
):
    one = candidate("one").lead()
    hanging = cluster.faults.hold(method="PUT", path=ONE_LEASE, times=1)
    assert hanging.wait_arrived(20)
    # The renewal alone would take 24 s.
    assert one.elector.stop(12, release=True) == []
    assert holder_of(client.get(LEASES, KEY)) == ""
    hanging.release()  # it comes too late to take the lease back
    candidate("two").lead()
    assert holder_of(client.get(LEASES, KEY)) == "two"


@pytest.fixture
def scarce(config):
    """Makes (elector, queue of what it says), with threads that may be refused."""
    made = []

    def build(start_thread=start_daemon, *, threads=None, timing=PATIENT):
        elector = LeaseElector(
            KubeClient(config, user_agent="scarce", max_retries=0),
            LeaderElectionOptions(KEY.name, KEY.namespace, "scarce", timing),
            clock=SystemClock(),
            threads=threads,
        )
        elector._start_thread = start_thread
        made.append(elector)
        return elector, Queue()

    yield build
    for one in made:
        one.stop(5, release=False)


def say(told):
    return {"elected": lambda: told.put("elected"), "lost": lambda: told.put("lost")}


def test_le5_a_leader_begins_once_there_is_a_thread_for_it(scarce, renewals):
    refusals = [1, 2, 3]

    def start(name, target):
        if refusals:
            refusals.pop()
            raise RuntimeError("can't start new thread")
        start_daemon(name, target)

    elector, told = scarce(start)
    elector.start(**say(told))
    assert told.get(timeout=20) == "elected"
    wait_renewed(renewals, 3)
    assert (elector.leads, refusals) == (True, [])


def test_le5_who_finds_no_thread_to_lead_leaves_it_to_others(scarce, quick):
    def refuse(_name, _target):
        raise RuntimeError("can't start new thread")

    elector, told = scarce(refuse, timing=quick)
    elector.start(**say(told))
    assert told.get(timeout=at_once(quick)) == "lost"
    assert not elector.leads


def test_le6_an_election_that_could_not_begin_holds_up_no_stop(scarce):
    threads = ScarceThreads()
    threads.refusals = 2  # that of the watch, which comes later, and the elector's own
    elector, told = scarce(threads=threads)
    with pytest.raises(RuntimeError, match="can't start new thread"):
        elector.start(**say(told))
    assert elector.stop(60, release=True) == []


def test_le10_a_crashed_leader_is_followed_when_its_lease_is_over(
    candidate, renewals, quick
):
    one = candidate("one", timing=quick).lead()
    two = candidate("two").start()
    wait_renewed(renewals, 2)
    one.elector.stop(5, release=False)
    ended = time.monotonic()
    waited = two.elected.get(timeout=at_once(quick)) - ended
    assert quick.renew_deadline_seconds < waited


def test_le4_a_machine_whose_clock_is_a_day_off_takes_nothing(candidate, renewals):
    one = candidate("one").lead()
    ahead = candidate("ahead", clock=SkewedClock()).start()
    wait_renewed(renewals, 3)
    assert ahead.elected.empty()
    assert one.elector.leads


def test_le2_without_a_watch_a_standby_tries_again_and_again(
    candidate, cluster, renewals
):
    one = candidate("one").lead()
    refuse(cluster, "GET", ALL_LEASES, status=403)
    two = candidate("two").start()
    wait_renewed(renewals, 2)
    one.elector.stop(5, release=True)
    two.elected.get(timeout=20)


def test_le2_a_server_that_refuses_is_tried_again(candidate, cluster, caplog):
    refuse(cluster, "GET", ONE_LEASE, times=4)
    cluster.faults.drop("POST", ALL_LEASES, phase="after")
    one = candidate("one").lead()
    # The lease was made, and the answer lost: it was found to be ours.
    assert one.elector.leads
    assert caplog.text.count("Lease cannot be had") == 2  # each reason once


def test_le3_of_many_that_see_it_free_one_gets_it(candidate, renewals):
    many = [candidate(f"c{number}").start() for number in range(6)]
    wait_renewed(renewals, 5)
    assert sum(one.elector.leads for one in many) == 1
    assert sum(not one.elected.empty() for one in many) == 1


# --- staying it, and losing it --------------------------------------------------------


def test_le5_a_lost_answer_of_a_renewal_costs_nothing(candidate, cluster, renewals):
    one = candidate("one").lead()
    cluster.faults.drop("PUT", ONE_LEASE, phase="after")
    spec = wait_renewed(renewals, 8)
    assert (spec["holderIdentity"], spec["leaseTransitions"]) == ("one", 0)
    assert one.elector.leads
    assert one.lost.empty()


def test_le5_who_cannot_renew_stops_before_others_may_begin(
    candidate, cluster, renewals, quick
):
    one = candidate("one", timing=quick).lead()
    two = candidate("two").start()
    wait_renewed(renewals, 2)
    refuse(cluster, "PUT", ONE_LEASE, times=14)
    lost_at = one.lost.get(timeout=at_once(quick))
    with pytest.raises(NotLeadingError):
        one.elector.check()
    cluster.faults.release_all()
    assert not one.elector.leads
    assert one.status() == 0
    assert two.elected.get(timeout=at_once(quick)) > lost_at
    assert one.lost.empty()


def test_le5_a_request_that_hangs_does_not_hold_up_the_end(candidate, cluster, quick):
    one = candidate("one", timing=quick)
    hold = cluster.faults.hold(method="PUT", path=ONE_LEASE)
    one.lead()
    assert hold.wait_arrived(at_once(quick))
    arrived = time.monotonic()
    assert one.lost.get(timeout=at_once(quick)) - arrived < quick.lease_seconds
    hold.release()


def test_le5_who_finds_another_holder_stops_at_once(candidate, client, caplog):
    one = candidate("one").lead()
    usurp(client)
    one.lost.get(timeout=20)
    assert "held by thief" in str(caplog.records[-1].asoreconcile_fields)
    with pytest.raises(NotLeadingError):
        one.elector.check()
    assert holder_of(client.get(LEASES, KEY)) == "thief"


def test_le3_a_lease_that_was_deleted_is_made_again_by_its_holder(candidate, client):
    one = candidate("one").lead()
    before = client.get(LEASES, KEY)["spec"]
    standby = candidate("two").start()
    until(lambda: standby.elector._observed.holder == "one")
    client.delete(LEASES, KEY)
    until(lambda: holder_of(lease_or_none(client)) == "one")
    one.elector.check()
    kept = ("acquireTime", "leaseTransitions")
    made = client.get(LEASES, KEY)["spec"]
    assert [made[name] for name in kept] == [before[name] for name in kept]
    assert one.lost.empty()


def lease_or_none(client):
    found = client.list_page(Selection(LEASES, "default")).items
    return found[0] if found else None


def test_le5_a_client_sends_no_write_once_the_time_is_over(candidate, config, cluster):
    one = candidate("one").lead()
    name = ObjectKey("default", "written")
    made = {"metadata": {"namespace": "default", "name": "written"}}
    writer = KubeClient(config, user_agent="writer", before_write=one.elector.check)
    with closing(writer):
        writer.create(CONFIG_MAPS, made)
        one.elector.stop(5, release=True)
        for write in (
            lambda: writer.patch(CONFIG_MAPS, name, {"data": {"late": "yes"}}),
            lambda: writer.replace(CONFIG_MAPS, made),
            lambda: writer.delete(CONFIG_MAPS, name),
        ):
            with pytest.raises(NotLeadingError):
                write()
        assert "data" not in writer.get(CONFIG_MAPS, name)
    sent = [
        served.method for served in cluster.journal if served.user_agent == "writer"
    ]
    assert sent == ["POST", "GET"]


def test_le6_a_lease_that_is_another_s_by_now_is_not_given_back(candidate, client):
    slow = LeaseTiming(lease_seconds=60, renew_deadline_seconds=50, retry_seconds=20)
    one = candidate("one", timing=slow).lead()
    usurp(client)
    assert one.elector.stop(5, release=True) == []
    assert holder_of(client.get(LEASES, KEY)) == "thief"


def test_le6_giving_back_survives_conflicts_and_lost_answers(
    candidate, client, cluster
):
    one = candidate("one").lead()
    refuse(cluster, "PUT", ONE_LEASE, status=409, times=2)
    cluster.faults.drop("PUT", ONE_LEASE, phase="after")
    assert one.elector.stop(5, release=True) == []
    assert holder_of(client.get(LEASES, KEY)) == ""


def test_le7_a_lease_that_may_not_be_given_back_is_left_to_run_out(candidate, client):
    one = candidate("one").lead()
    assert one.elector.stop(5, release=False) == []
    assert holder_of(client.get(LEASES, KEY)) == "one"


def test_le6_a_server_that_is_away_does_not_hold_up_a_stop(candidate, cluster):
    one = candidate("one").lead()
    hold = cluster.faults.hold(method="GET", path=ONE_LEASE)
    begun = time.monotonic()
    assert one.elector.stop(0.3, release=True) == ["leader election"]
    # By far not as long as it would wait for an answer.
    assert time.monotonic() - begun < PATIENT.request_seconds / 2
    hold.release()


def test_th9_a_standby_stops_at_once(candidate, cluster, monkeypatch):
    candidate("one").lead()
    hold = cluster.faults.hold(method="GET", path=ONE_LEASE)
    two = candidate("two")
    close = two.elector._client.close

    def close_slowly():
        """Close, and go on once the elector's thread has met its closed client."""
        close()
        assert two.elector._ended.wait(10)

    monkeypatch.setattr(two.elector._client, "close", close_slowly)
    two.start()
    assert hold.wait_arrived(10)
    assert two.elector.stop(5, release=True) == []  # its thread has ended
    assert two.threads.crashes() == {}
    hold.release()


def broken_once(name, monkeypatch):
    """Let a step of each elector raise an unexpected error at its first call."""
    step, broken = getattr(LeaseLock, name), []

    def breaking(lock):
        if broken:
            return step(lock)
        broken.append(1)
        raise TypeError("an unexpected error")

    monkeypatch.setattr(LeaseLock, name, breaking)


def test_a_standby_whose_election_breaks_tries_again(candidate, monkeypatch):
    one = candidate("one")
    broken_once("take", monkeypatch)
    one.lead()  # about a second later
    assert one.threads.crashes()["leader election"].count == 1
    assert one.threads.down() == []
    assert one.elector.leads
    assert one.lost.empty()


def test_le8_a_leader_whose_election_breaks_is_lost_and_leads_no_more(
    candidate, monkeypatch
):
    one = candidate("one")
    broken_once("renew", monkeypatch)
    one.lead()
    one.lost.get(timeout=20)
    with pytest.raises(NotLeadingError):
        one.elector.check()
    # It tells of the loss first, and its thread dies of the rest.
    until(one.threads.crashes)
    until(lambda: not one.threads.down())
    assert one.threads.crashes()["leader election"].count == 1
    assert one.lost.empty()
    assert one.elector.stop(5, release=True) == []


def test_le8_a_process_that_lost_the_lease_and_goes_on_is_unwell(candidate):
    clock = FakeClock()
    one = candidate("one", clock=clock, timing=LeaseTiming()).lead()
    assert one.elector.liveness().ok
    clock.advance(10)
    one.lost.get(timeout=20)
    clock.advance(24.9)
    assert one.elector.liveness().ok
    clock.advance(0.2)
    assert not one.elector.liveness().ok


def until(condition):
    deadline = time.monotonic() + 10
    poll = threading.Event()
    while not condition():
        assert time.monotonic() < deadline
        poll.wait(0.005)


def test_le9_a_lease_that_nobody_renews_is_told(config):
    clock = FakeClock()
    options = LeaderElectionOptions(KEY.name, KEY.namespace, "two")
    elector = LeaseElector(KubeClient(config, user_agent="t"), options, clock=clock)
    elector._observed.observe(
        {"spec": {"holderIdentity": "one", "leaseDurationSeconds": 2**31 - 1}}
    )
    assert elector.readiness().details == ("standby: one leads",)
    clock.advance(16)
    assert elector.readiness().details == (
        "standby: nobody leads: one has not renewed the lease for 16 s",
    )
    assert elector.readiness().notice.startswith(
        "nobody has renewed the lease for 16 s"
    )
    assert elector.stop(0, release=False) == []


SLOW = LeaseTiming(lease_seconds=60, renew_deadline_seconds=50, retry_seconds=40)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"holderIdentity": "another"}, "another"),
        ({"holderIdentity": ""}, "nobody"),
        ({"holderIdentity": None}, "nobody"),
        ({"leaseDurationSeconds": 1}, "how long"),
        ({"leaseDurationSeconds": 3600}, "how long"),
    ],
    ids=["another", "empty", "none", "shorter", "longer"],
)
def test_le11_a_leader_whose_lease_is_changed_stops_at_once(
    candidate, client, caplog, change, why
):
    # The next renewal is far away: only the watch can be quicker.
    leader = candidate("a", timing=SLOW).lead()
    until(leader.elector._informer.has_synced)
    client.patch(LEASES, KEY, {"spec": change})
    leader.lost.get(timeout=20)
    with pytest.raises(NotLeadingError):
        leader.elector.check()
    assert why in caplog.text


def test_le11_an_annotation_of_others_ends_nothing(candidate, client):
    leader = candidate("a", timing=SLOW).lead()
    until(leader.elector._informer.has_synced)
    note = {"metadata": {"annotations": {"note": "x"}}}
    client.patch(LEASES, KEY, note)
    seen = leader.elector._informer
    until(lambda: seen.get(KEY)["metadata"].get("annotations"))
    assert leader.elector.leads


def test_le11_an_old_state_from_the_watch_ends_nothing(candidate, client):
    """The lease of another leader is delivered late."""
    leader = candidate("a", timing=SLOW).lead()
    mine = client.get(LEASES, KEY)
    older = {**mine, "spec": {**mine["spec"], "holderIdentity": "another"}}
    older["metadata"] = {**mine["metadata"], "resourceVersion": "1"}
    assert not leader.elector._observed.is_changed_by(older)
