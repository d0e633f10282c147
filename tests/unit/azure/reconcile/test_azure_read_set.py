"""A change that the pass under way has read already wakes nobody (D13)."""

import pytest

from asoreconcile.azure.reconcile.model.object_reference import SECRET, ObjectReference
from asoreconcile.azure.reconcile.state.read_set import InFlightReads, TrackingReader
from asoreconcile.base.objects import GroupKind, ObjectKey

KEY = ObjectKey("ns", "vnet")
OTHER = ObjectKey("ns", "another")
GROUP = ObjectReference(
    GroupKind("resources.azure.com", "ResourceGroup"), ObjectKey("ns", "rg")
)
PASSWORD = ObjectReference(SECRET, ObjectKey("ns", "password"))


def at(version):
    return {"metadata": {"resourceVersion": version}}


@pytest.fixture
def woken():
    return []


@pytest.fixture
def in_flight_reads(woken):
    return InFlightReads(woken.append)


def test_d13_a_change_beside_no_pass_wakes_at_once(in_flight_reads, woken):
    in_flight_reads.changed(KEY, GROUP, "7")
    with in_flight_reads.during(OTHER):
        in_flight_reads.changed(KEY, GROUP, "8")
        assert woken == [KEY, KEY]


def test_without_a_reconcile_in_flight_an_object_that_does_not_wait_is_left(
    in_flight_reads, woken
):
    in_flight_reads.changed(KEY, GROUP, "7", lambda: False)
    assert woken == []


def test_d13_what_the_pass_has_read_does_not_wake(in_flight_reads, woken):
    with in_flight_reads.during(KEY) as read_set:
        read_set.note(GROUP, at("7"))
        in_flight_reads.changed(KEY, GROUP, "6")
        in_flight_reads.changed(KEY, GROUP, "7")
    assert woken == []


def test_d13_a_pass_may_read_it_after_its_event(in_flight_reads, woken):
    with in_flight_reads.during(KEY) as read_set:
        in_flight_reads.changed(KEY, GROUP, "7")
        read_set.note(GROUP, at("7"))
    assert woken == []


def test_versions_are_numbers(in_flight_reads, woken):
    with in_flight_reads.during(KEY) as read_set:
        read_set.note(GROUP, at("10"))
        in_flight_reads.changed(KEY, GROUP, "9")
    assert woken == []


@pytest.mark.parametrize(
    ("found", "version"),
    [
        (at("7"), "8"),
        (at("7"), ""),
        (None, "7"),
        (None, ""),
        (at(""), "7"),
        (at("7"), "seven"),
        (at("seven"), "7"),
    ],
    ids=["newer", "gone", "missed", "never-there", "no-version", "word", "read-word"],
)
def test_d13_what_it_has_not_read_wakes_once_at_its_end(
    in_flight_reads, woken, found, version
):
    with in_flight_reads.during(KEY) as read_set:
        read_set.note(GROUP, found)
        in_flight_reads.changed(KEY, GROUP, version)
        in_flight_reads.changed(KEY, GROUP, version)
        assert woken == []
    assert woken == [KEY]


def test_d13_one_read_change_does_not_speak_for_another(in_flight_reads, woken):
    for first, second in ((GROUP, PASSWORD), (PASSWORD, GROUP)):
        woken.clear()
        with in_flight_reads.during(KEY) as read_set:
            read_set.note(GROUP, at("7"))
            in_flight_reads.changed(KEY, first, "7")
            in_flight_reads.changed(KEY, second, "7")
        assert woken == [KEY]


@pytest.mark.parametrize("waits_then", [True, False])
def test_d13_whether_it_waits_is_asked_at_the_end(in_flight_reads, woken, waits_then):
    """What the reconcile has made of the object decides."""
    waits = not waits_then
    with in_flight_reads.during(KEY):
        in_flight_reads.changed(KEY, GROUP, "7", lambda: waits)
        waits = waits_then
    assert bool(woken) is waits_then


def test_d13_one_change_without_use_does_not_speak_for_another(in_flight_reads, woken):
    with in_flight_reads.during(KEY):
        in_flight_reads.changed(KEY, GROUP, "7", lambda: False)
        in_flight_reads.changed(KEY, PASSWORD, "7")
    assert woken == [KEY]


def test_d13_the_oldest_read_counts(in_flight_reads, woken):
    """The pass may have decided by it."""
    with in_flight_reads.during(KEY) as read_set:
        read_set.note(GROUP, at("7"))
        read_set.note(GROUP, at("8"))
        in_flight_reads.changed(KEY, GROUP, "8")
    assert woken == [KEY]


def test_d13_a_pass_that_missed_it_and_reads_it_again_has_missed_it(
    in_flight_reads, woken
):
    with in_flight_reads.during(KEY) as read_set:
        read_set.note(GROUP, None)
        read_set.note(GROUP, at("8"))
        in_flight_reads.changed(KEY, GROUP, "8")
    assert woken == [KEY]


def test_d13_a_pass_that_fails_wakes_too(in_flight_reads, woken):
    def fail():
        with in_flight_reads.during(KEY):
            in_flight_reads.changed(KEY, GROUP, "7")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert woken == [KEY]


def test_a_pass_knows_nothing_of_the_one_before(in_flight_reads, woken):
    with in_flight_reads.during(KEY) as read_set:
        read_set.note(GROUP, at("7"))
    with in_flight_reads.during(KEY):
        in_flight_reads.changed(KEY, GROUP, "7")
    assert woken == [KEY]
    in_flight_reads.changed(KEY, GROUP, "7")
    assert woken == [KEY, KEY]


class Objects:
    """One group, at a version."""

    def get(self, group_kind, key):
        return at("7") if ObjectReference(group_kind, key) == GROUP else None

    def is_installed(self, group_kind):
        return group_kind == GROUP.group_kind


@pytest.mark.parametrize(("name", "wakes"), [("rg", False), ("another", True)])
def test_reads_of_azure_objects_are_noted(in_flight_reads, woken, name, wakes):
    node = ObjectReference(GROUP.group_kind, ObjectKey("ns", name))
    with in_flight_reads.during(KEY) as read_set:
        objects = TrackingReader(Objects(), read_set)
        assert (objects.get(node.group_kind, node.key) is None) is wakes
        in_flight_reads.changed(KEY, node, "7")
    assert bool(woken) is wakes


def test_what_is_installed_is_passed_on(in_flight_reads):
    with in_flight_reads.during(KEY) as read_set:
        objects = TrackingReader(Objects(), read_set)
    assert objects.is_installed(GROUP.group_kind)
    assert not objects.is_installed(SECRET)
