"""A change that the pass under way has read already wakes nobody (D13)."""

import pytest

from asoreconcile.azure.glances import GlancedObjects, UnderWay
from asoreconcile.azure.nodes import SECRET, Node
from asoreconcile.objects import GroupKind, ObjectKey

KEY = ObjectKey("ns", "vnet")
OTHER = ObjectKey("ns", "another")
GROUP = Node(GroupKind("resources.azure.com", "ResourceGroup"), ObjectKey("ns", "rg"))
PASSWORD = Node(SECRET, ObjectKey("ns", "password"))


def at(version):
    return {"metadata": {"resourceVersion": version}}


@pytest.fixture
def woken():
    return []


@pytest.fixture
def under_way(woken):
    return UnderWay(woken.append)


def test_d13_a_change_beside_no_pass_wakes_at_once(under_way, woken):
    under_way.changed(KEY, GROUP, "7")
    with under_way.during(OTHER):
        under_way.changed(KEY, GROUP, "8")
        assert woken == [KEY, KEY]


def test_d13_what_the_pass_has_read_does_not_wake(under_way, woken):
    with under_way.during(KEY) as glances:
        glances.note(GROUP, at("7"))
        under_way.changed(KEY, GROUP, "6")
        under_way.changed(KEY, GROUP, "7")
    assert woken == []


def test_d13_a_pass_may_read_it_after_its_event(under_way, woken):
    with under_way.during(KEY) as glances:
        under_way.changed(KEY, GROUP, "7")
        glances.note(GROUP, at("7"))
    assert woken == []


def test_versions_are_numbers(under_way, woken):
    with under_way.during(KEY) as glances:
        glances.note(GROUP, at("10"))
        under_way.changed(KEY, GROUP, "9")
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
    under_way, woken, found, version
):
    with under_way.during(KEY) as glances:
        glances.note(GROUP, found)
        under_way.changed(KEY, GROUP, version)
        under_way.changed(KEY, GROUP, version)
        assert woken == []
    assert woken == [KEY]


def test_d13_one_read_change_does_not_speak_for_another(under_way, woken):
    for first, second in ((GROUP, PASSWORD), (PASSWORD, GROUP)):
        woken.clear()
        with under_way.during(KEY) as glances:
            glances.note(GROUP, at("7"))
            under_way.changed(KEY, first, "7")
            under_way.changed(KEY, second, "7")
        assert woken == [KEY]


def test_d13_the_oldest_read_counts(under_way, woken):
    """The pass may have decided by it."""
    with under_way.during(KEY) as glances:
        glances.note(GROUP, at("7"))
        glances.note(GROUP, at("8"))
        under_way.changed(KEY, GROUP, "8")
    assert woken == [KEY]


def test_d13_a_pass_that_missed_it_and_reads_it_again_has_missed_it(under_way, woken):
    with under_way.during(KEY) as glances:
        glances.note(GROUP, None)
        glances.note(GROUP, at("8"))
        under_way.changed(KEY, GROUP, "8")
    assert woken == [KEY]


def test_d13_a_pass_that_fails_wakes_too(under_way, woken):
    def fail():
        with under_way.during(KEY):
            under_way.changed(KEY, GROUP, "7")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert woken == [KEY]


def test_a_pass_knows_nothing_of_the_one_before(under_way, woken):
    with under_way.during(KEY) as glances:
        glances.note(GROUP, at("7"))
    with under_way.during(KEY):
        under_way.changed(KEY, GROUP, "7")
    assert woken == [KEY]
    under_way.changed(KEY, GROUP, "7")
    assert woken == [KEY, KEY]


class Objects:
    """One group, at a version."""

    def get(self, group_kind, key):
        return at("7") if Node(group_kind, key) == GROUP else None

    def is_installed(self, group_kind):
        return group_kind == GROUP.group_kind


@pytest.mark.parametrize(("name", "wakes"), [("rg", False), ("another", True)])
def test_reads_of_azure_objects_are_noted(under_way, woken, name, wakes):
    node = Node(GROUP.group_kind, ObjectKey("ns", name))
    with under_way.during(KEY) as glances:
        objects = GlancedObjects(Objects(), glances)
        assert (objects.get(node.group_kind, node.key) is None) is wakes
        under_way.changed(KEY, node, "7")
    assert bool(woken) is wakes


def test_what_is_installed_is_passed_on(under_way):
    with under_way.during(KEY) as glances:
        objects = GlancedObjects(Objects(), glances)
    assert objects.is_installed(GROUP.group_kind)
    assert not objects.is_installed(SECRET)
