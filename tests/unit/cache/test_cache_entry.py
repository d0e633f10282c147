"""What an object costs while it is cached, and what its header tells."""

import gc
import sys

from asoreconcile.base.jsontext import LEVELS
from asoreconcile.base.objects import GroupKind, ObjectKey
from asoreconcile.cache.entry import Entry, OwnerReference
from asoreconcile.cache.store import Store
from asoreconcile.cache.transform import EntryTransform
from asoreconcile.kube.resources import ApiResource

OBJECTS = 500


def account(number):
    meta = {
        "name": f"account{number}",
        "namespace": "team",
        "uid": f"00000000-0000-4000-8000-{number:012}",
        "resourceVersion": str(1000 + number),
        "generation": 3,
        "labels": {"tier": "t1"},
        "annotations": {"example.com/policy": "manage"},
        "finalizers": ["example.com/finalizer"],
    }
    spec = {f"property{n}": f"value {n} of account{number}" for n in range(60)}
    return {"apiVersion": "v1", "kind": "Account", "metadata": meta, "spec": spec}


def full(store):
    for number in range(OBJECTS):
        store.put(Entry(account(number)))
    return store


def test_th11_collector_tracks_nothing_of_what_is_stored():
    """A full collection over a large cache takes no longer than over a small one."""
    gc.collect()
    before = len(gc.get_objects())
    store = full(Store())
    # Nested tuples leave one after the other, from the inside.
    for _ in range(3):
        gc.collect()
    assert len(gc.get_objects()) - before < OBJECTS / 10
    row = store.get(ObjectKey("team", "account1")).row
    assert not gc.is_tracked(row)


def test_th11_stored_object_costs_its_text_and_little_more():
    rows = [Entry(account(number)).row for number in range(10)]
    for row in rows:
        fields = sum(map(sys.getsizeof, row[1:4])) + sys.getsizeof(row)
        pairs = sum(map(sys.getsizeof, row[7:9]))
        text = row[-1]
        assert sys.getsizeof(text) == len(text) + 33
        assert fields + pairs < 600
    # What objects have in common is there once.
    first, second = rows[:2]
    assert first[0] is second[0]
    assert first[6] is second[6]
    assert first[7][1] is second[7][1]
    assert first[8][0] is second[8][0]


def test_th5_owners_are_told_without_parsing_the_object():
    owner = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "uid": "u1"}
    others = {**owner, "kind": "Group", "apiVersion": "v1", "controller": True}
    obj = account(1)
    obj["metadata"]["ownerReferences"] = [owner, others]
    entry = Entry(obj)
    assert entry.owners == (
        OwnerReference("apps/v1", "Deployment", "web", "u1", controller=False),
        OwnerReference("v1", "Group", "web", "u1", controller=True),
    )
    assert [one.group_kind for one in entry.owners] == [
        GroupKind("apps", "Deployment"),
        GroupKind("", "Group"),
    ]
    # A row whose text cannot be read answers all the same.
    assert Entry.of((*entry.row[:-1], b"none")).owners == entry.owners
    assert Entry(account(2)).owners == ()


def test_th11_owners_cost_little_and_are_shared():
    owner = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "uid": "u1"}
    held = []
    for number in (1, 2):
        obj = account(number)
        copies = {name: "".join(list(text)) for name, text in owner.items()}
        obj["metadata"]["ownerReferences"] = [copies]
        held.append(Entry(obj).row[9])
    assert sys.getsizeof(held[0]) <= sys.getsizeof(()) + 5 * 8  # a pointer each
    assert all(one is two for one, two in zip(*held, strict=True))


def test_header_tells_what_the_object_says():
    entry = Entry(account(7))
    assert entry.key == ObjectKey("team", "account7")
    assert entry.uid.endswith("7")
    assert entry.resource_version == "1007"
    assert entry.generation == 3
    assert not entry.deleting
    assert entry.labels == {"tier": "t1"}
    assert entry.annotations == {"example.com/policy": "manage"}
    assert entry.finalizers == ("example.com/finalizer",)
    assert entry.size_bytes > 1000
    assert entry.deep_copy() == account(7)


def test_header_of_a_bare_object_is_empty():
    deleting = {"name": "a", "deletionTimestamp": "2026-01-01T00:00:00Z"}
    entry = Entry({"metadata": deleting})
    assert entry.key == ObjectKey("", "a")
    assert (entry.uid, entry.resource_version, entry.generation) == ("", "", 0)
    assert entry.deleting
    assert (dict(entry.labels), dict(entry.annotations)) == ({}, {})
    assert entry.finalizers == ()


def test_in12_mappings_of_a_header_are_the_readers_own():
    entry = Entry(account(1))
    entry.labels.update(tier="changed")  # type: ignore[attr-defined]
    assert entry.labels == {"tier": "t1"}


def test_th5_who_peeks_shares_one_object_and_who_loads_has_a_copy():
    stored = Entry(account(1))
    peeked = stored.shared_view()
    assert stored.shared_view() is peeked
    assert peeked == account(1)
    stored.deep_copy()["spec"].clear()
    assert stored.shared_view() == account(1)


def test_an_entry_of_a_list_keeps_no_object_and_one_of_an_event_does():
    """A list of 30,000 would need a gigabyte."""
    transform = EntryTransform(
        ApiResource(group="", version="v1", plural="accounts", kind="Account")
    )
    obj = account(1)
    assert transform.entry_of_event(obj).shared_view() is obj
    assert transform.entry(obj).shared_view() is not obj


def test_who_peeks_at_a_deep_object_of_an_event_gets_what_is_stored():
    """What looks into objects may recurse."""
    transform = EntryTransform(
        ApiResource(group="", version="v1", plural="accounts", kind="Account")
    )
    obj = account(1)
    inner = obj["spec"]
    for _ in range(LEVELS + 1):
        inner["inner"] = inner = {}
    entry = transform.entry_of_event(obj)
    assert entry.shared_view() is not obj
    assert entry.shared_view() == entry.deep_copy()


def test_annotations_are_the_same_in_any_order_and_no_others_are():
    one, other = account(1), account(1)
    one["metadata"]["annotations"] = {"a": "1", "b": "2"}
    other["metadata"]["annotations"] = {"b": "2", "a": "1"}
    assert Entry(one).has_annotations_of(Entry(other))
    other["metadata"]["annotations"] = {"a": "2", "b": "1"}
    assert not Entry(one).has_annotations_of(Entry(other, keep=True))
