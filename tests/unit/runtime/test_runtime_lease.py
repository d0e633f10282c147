"""Who may lead, decided from a lease as it was seen; and how long the fence lets it write."""

from datetime import UTC, datetime, timedelta

import pytest

from asoreconcile.base.objects import ObjectKey, copy_json
from asoreconcile.runtime.leaderelection.fence import LeaseFence, NotLeadingError
from asoreconcile.runtime.leaderelection.lease import (
    Follow,
    LeaseObservation,
    LeaseTiming,
    WriteLease,
    decide,
    identity_of,
    released,
    renewed_at,
    seen,
)

KEY = ObjectKey("system", "the-lease")
WALL = datetime(2026, 3, 1, 12, 0, 0, 250_000, tzinfo=UTC)


def lease(holder="other", *, renewed="2026-03-01T11:00:00.000000Z", **fields):
    return {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {
            "namespace": "system",
            "name": "the-lease",
            "resourceVersion": "7",
        },
        "spec": {
            "holderIdentity": holder,
            "leaseDurationSeconds": 15,
            "acquireTime": "2026-03-01T10:00:00.000000Z",
            "renewTime": renewed,
            "leaseTransitions": 4,
            **fields,
        },
    }


def decided(known, *, now=100.0, wall=WALL):
    return decide(known, KEY, "me", now=now, wall=wall, timing=LeaseTiming())


@pytest.mark.parametrize(
    ("times", "message"),
    [
        pytest.param((0.5, 0.4, 0.1), "give 1 to", id="LE-1-too-short"),
        pytest.param((86_401, 10, 2), "a day", id="LE-1-too-long"),
        pytest.param((float("inf"), 10, 2), "a day", id="LE-1-without-end"),
        pytest.param((10, 10, 2), "outlast", id="LE-1-no-time-to-stop"),
        pytest.param((15, 2.4, 2), "second try", id="LE-1-one-try-only"),
        pytest.param((15, 10, 0), "pause", id="LE-1-no-pause"),
    ],
)
def test_times_that_cannot_work_are_refused(times, message):
    with pytest.raises(ValueError, match=message):
        LeaseTiming(*times)


def test_le1_the_usual_times():
    timing = LeaseTiming()
    assert (timing.lease_seconds, timing.renew_deadline_seconds) == (15, 10)
    assert (timing.retry_seconds, timing.request_seconds) == (2, 5)


@pytest.mark.parametrize(
    ("jitter", "seconds"),
    [pytest.param(0, 2.0, id="LE-2-least"), pytest.param(1, 4.4, id="LE-2-most")],
)
def test_tries_are_spread(jitter, seconds):
    assert LeaseTiming().retry_delay_seconds(jitter) == pytest.approx(seconds)


def test_le3_an_absent_lease_is_created():
    answer = decided(LeaseObservation(None, 0))
    assert answer == WriteLease(
        {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {"namespace": "system", "name": "the-lease"},
            "spec": {
                "holderIdentity": "me",
                "leaseDurationSeconds": 15,
                "acquireTime": "2026-03-01T12:00:00.250000Z",
                "renewTime": "2026-03-01T12:00:00.250000Z",
                "leaseTransitions": 0,
            },
        },
        create=True,
    )


def test_le3_our_own_lease_is_renewed_and_keeps_its_beginning():
    mine = lease("me")
    answer = decided(LeaseObservation(mine, 0))
    assert answer.create is False
    assert answer.lease["metadata"] == mine["metadata"]
    assert answer.lease["spec"] == {
        **mine["spec"],
        "renewTime": "2026-03-01T12:00:00.250000Z",
    }


def test_le3_a_valid_lease_of_another_is_left_alone():
    assert decided(LeaseObservation(lease(), 90), now=104.9) == Follow("other", 105)


@pytest.mark.parametrize(
    "known",
    [
        pytest.param(LeaseObservation(lease(), 85), id="LE-3-expired"),
        pytest.param(LeaseObservation(lease(""), 100), id="LE-3-released"),
    ],
)
def test_a_free_lease_is_taken_and_the_change_counted(known):
    before = copy_json(known.lease)
    answer = decided(known)
    spec = answer.lease["spec"]
    assert (spec["holderIdentity"], spec["leaseTransitions"]) == ("me", 5)
    assert spec["acquireTime"] == spec["renewTime"] == "2026-03-01T12:00:00.250000Z"
    assert answer.lease["metadata"]["resourceVersion"] == "7"
    assert known.lease == before


def test_le3_what_others_keep_in_the_lease_stays():
    strange = lease("", strategy="OldestEmulationVersion")
    strange["metadata"]["annotations"] = {"note": "mine"}
    written = decided(LeaseObservation(strange, 0)).lease
    assert written["spec"]["strategy"] == "OldestEmulationVersion"
    assert written["metadata"]["annotations"] == {"note": "mine"}


@pytest.mark.parametrize("skew_hours", [-48, 48])
def test_le4_clocks_of_other_machines_do_not_matter(skew_hours):
    # Its stamps are of yesterday, or of tomorrow: what counts is when we saw it change.
    wall = WALL + timedelta(hours=skew_hours)
    assert decided(LeaseObservation(lease(), 90), now=104.9, wall=wall) == Follow(
        "other", 105
    )
    assert isinstance(
        decided(LeaseObservation(lease(), 90), now=105, wall=wall), WriteLease
    )


def test_le4_the_holder_says_for_how_long():
    assert (
        decided(LeaseObservation(lease(leaseDurationSeconds=60), 90), now=104.9).until
        == 150
    )
    assert (
        decided(LeaseObservation(lease(leaseDurationSeconds=None), 90), now=104).until
        == 105
    )


def test_le4_time_runs_from_the_last_change_that_was_seen():
    first = seen(None, lease(), now=10)
    same = seen(first, {**lease(), "metadata": {"resourceVersion": "8"}}, now=20)
    changed = seen(same, lease(renewed="2026-03-01T11:00:02.000000Z"), now=30)
    gone = seen(changed, None, now=40)
    later = seen(gone, None, now=50)
    sinces = [known.since for known in (first, same, changed, gone, later)]
    assert sinces == [10, 10, 30, 40, 40]
    assert same.lease["metadata"]["resourceVersion"] == "8"


def test_le10_a_standby_counts_a_deletion_as_a_renewal():
    gone = seen(LeaseObservation(lease(leaseDurationSeconds=15), 10), None, now=40)
    assert decided(gone, now=54.9) == Follow("other", 55)
    made = decided(gone, now=55)
    assert (made.create, made.lease["spec"]["holderIdentity"]) == (True, "me")


def test_le10_a_released_lease_that_is_deleted_is_free():
    gone = seen(LeaseObservation(lease(""), 10), None, now=40)
    assert decided(gone, now=40).create


def test_le3_a_deleted_lease_is_made_again_by_its_holder():
    mine = lease("me", leaseTransitions=7, acquireTime="2026-01-01T00:00:00.000000Z")
    made = decided(seen(LeaseObservation(mine, 10), None, now=11), now=12)
    assert made.create
    assert made.lease["spec"]["leaseTransitions"] == 7
    assert made.lease["spec"]["acquireTime"] == "2026-01-01T00:00:00.000000Z"
    assert "resourceVersion" not in made.lease["metadata"]


def test_le6_only_the_holder_gives_a_lease_back():
    given = released(lease("me"), "me", wall=WALL)
    assert given["spec"]["holderIdentity"] == ""
    assert given["spec"]["leaseDurationSeconds"] == 1
    assert given["spec"]["leaseTransitions"] == 4
    assert released(lease("other"), "me", wall=WALL) is None
    assert released(None, "me", wall=WALL) is None


# --- fence ----------------------------------------------------------------------------


class Expiry:
    def __init__(self):
        self.count = 0

    def __call__(self):
        self.count += 1


@pytest.fixture
def expiry():
    return Expiry()


@pytest.fixture
def tenure(clock, expiry):
    return LeaseFence(clock, expiry)


def test_le5_before_it_began_all_may_write_and_none_leads(tenure):
    tenure.check()
    assert not tenure.holds


def test_le5_it_ends_by_our_own_clock_and_for_good(tenure, clock, expiry):
    assert tenure.extend(10)
    clock.advance(9.9)
    tenure.check()
    assert tenure.holds
    clock.advance(0.1)
    assert expiry.count == 1
    assert not tenure.holds
    with pytest.raises(NotLeadingError):
        tenure.check()
    assert not tenure.extend(30)
    with pytest.raises(NotLeadingError):
        tenure.check()


def test_le5_each_renewal_moves_the_end(tenure, clock, expiry):
    for until in (10, 12, 14):
        tenure.extend(until)
    clock.advance(13.9)
    assert tenure.holds
    assert expiry.count == 0
    clock.advance(0.2)
    assert expiry.count == 1


def test_le5_who_sleeps_past_its_time_may_not_write_even_before_a_timer_rings(
    tenure, clock, expiry
):
    tenure.extend(10)
    clock._elapsed = 60  # suspended: time went on, and no thread of ours has run
    with pytest.raises(NotLeadingError):
        tenure.check()
    assert expiry.count == 0
    assert not tenure.extend(70)


def test_le5_an_end_that_is_asked_for_is_no_expiry(tenure, clock, expiry):
    tenure.extend(10)
    assert tenure.end()
    assert not tenure.end()
    clock.advance(20)
    assert expiry.count == 0
    with pytest.raises(NotLeadingError):
        tenure.check()


def test_when_its_holder_was_last_seen():
    assert renewed_at(lease(renewed="2026-03-01T11:00:00.500000Z")) == WALL - timedelta(
        minutes=59, seconds=59, microseconds=750_000
    )
    given_back = released(lease("me"), "me", wall=WALL)
    assert renewed_at(given_back) == WALL


@pytest.mark.parametrize("text", ["", "yesterday", "2026-03-01T11:00:00", None, 7])
def test_a_lease_that_does_not_say_when(text):
    assert renewed_at(lease(renewed=text)) is None


def test_no_lease_says_nothing():
    assert renewed_at(None) is None
    assert renewed_at({}) is None


@pytest.mark.parametrize(
    ("stated", "honoured"), [(300, 300), (3600, 3600), (2**31 - 1, 86_400)]
)
def test_le3_a_stated_duration_is_honoured_for_a_day_at_most(stated, honoured):
    """A holder with a longer timing than ours is the only leader for all of it."""
    known = LeaseObservation(lease(leaseDurationSeconds=stated), since=100.0)
    until = 100.0 + honoured
    assert decided(known, now=until - 1) == Follow("other", until)
    assert isinstance(decided(known, now=until), WriteLease)


UID = "0d1c2b3a-4f5e-6a7b-8c9d-0e1f2a3b4c5d"


@pytest.mark.parametrize(
    ("holder", "identity", "takes"),
    [
        (identity_of("h", UID, "1"), identity_of("h", UID, "2"), True),
        (
            identity_of("h", UID, "1"),
            identity_of("h", UID.replace("0", "1"), "2"),
            False,
        ),
        (identity_of("h", "", "1"), identity_of("h", "", "2"), False),
        (f"other_pod-{UID}_1", identity_of("h", UID, "2"), False),
    ],
    ids=["same-pod", "other-pod", "host-names-alone", "another-host"],
)
def test_le3_the_lease_of_the_same_pod_s_last_process_is_free(holder, identity, takes):
    known = LeaseObservation(lease(holder), 100.0)
    answer = decide(known, KEY, identity, now=100.0, wall=WALL, timing=LeaseTiming())
    assert isinstance(answer, WriteLease) is takes
