"""Answers of writes over what the watch has told so far."""

import pytest
from scriptedapi import config_map

from asoreconcile.base.objects import ObjectKey
from asoreconcile.cache.entry import Entry
from asoreconcile.cache.mutation_cache import MutationCache
from asoreconcile.cache.store import Store

KEY = ObjectKey("n", "a")


def entry(version, uid="u"):
    return Entry(config_map("a", version, uid=uid))


class Told:
    """A store with an overlay, told of by a watch."""

    def __init__(self):
        self.store = Store()
        self.overlay = MutationCache(self.store.get)

    def put(self, version, uid="u"):
        old = self.store.put(entry(version, uid))
        if old is not None and old.uid != uid:
            self.overlay.observe_removal(KEY)
        self.pass_(version)

    def remove(self, version):
        self.overlay.observe_deletion("u")
        self.store.remove(KEY)
        self.pass_(version)

    def pass_(self, version):
        self.overlay.advance(str(version), namespace=None)

    def record(self, version, uid="u"):
        self.overlay.record(entry(version, uid))

    @property
    def shown(self):
        found = self.overlay.newest(KEY)
        return found and found.resource_version


@pytest.fixture
def told():
    return Told()


def test_d21_an_answer_that_arrives_late_takes_nothing_back(told):
    """Two threads write; the answer of the first comes second."""
    told.put(5)
    told.record(8)
    told.record(7)
    assert told.shown == "8"


def test_d21_what_was_made_and_deleted_before_the_watch_told_never_shows(told):
    told.pass_(5)
    told.record(7)
    told.overlay.record_deletion(KEY, "u")
    assert told.shown is None
    told.pass_(6)
    told.store.put(entry(7))
    told.pass_(7)
    assert told.shown is None
    told.remove(8)
    assert told.shown is None
    assert len(told.overlay) == 0


def test_d21_another_object_of_the_name_shows(told):
    told.put(5)
    told.overlay.record_deletion(KEY, "u")
    told.put(9, uid="another")
    assert told.shown == "9"
    assert len(told.overlay) == 0


def test_d21_a_deletion_that_the_watch_has_told_first_leaves_nothing_behind(told):
    told.put(5)
    told.remove(8)
    told.overlay.record_deletion(KEY, "u")
    assert len(told.overlay) == 0


def test_d21_a_deleted_object_that_was_never_seen_does_not_come_up(told):
    """The watch lags behind, and so does the answer of another thread's write."""
    told.pass_(5)
    told.overlay.record_deletion(KEY, "u")
    told.record(7)
    assert told.shown is None
    told.put(6)
    assert told.shown is None
    told.put(7)
    assert told.shown is None
    told.remove(8)
    assert len(told.overlay) == 0


def test_d21_deletions_of_what_is_never_seen_do_not_add_up(told):
    for number in range(1000):
        told.overlay.record_deletion(ObjectKey("n", str(number)), f"uid-{number}")
    assert len(told.overlay) < 50


def test_d21_a_namespace_of_its_own_is_passed_on_its_own(told):
    told.overlay.advance("9", namespace="other")
    told.record(7)
    assert told.shown == "7"
    told.overlay.advance("7", namespace="n")
    assert len(told.overlay) == 0


def test_in11_an_index_keeps_no_value_that_nothing_has():
    """Values may be names: as many as there ever were."""
    store = Store()
    store.add_index("version", lambda one: [one.resource_version])
    for version in range(5):
        store.put(entry(version))
    assert [*store._indexes["version"]] == ["4"]
    store.remove(KEY)
    assert store._indexes["version"] == {}
    assert store._namespaces == {}
