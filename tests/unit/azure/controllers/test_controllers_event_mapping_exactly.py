"""Each change elsewhere wakes exactly those that wait for it, found by an index.

One cluster, in which everything names something else; each event is told to it, and
everybody who was woken is listed.
"""

import pytest

from asoreconcile.azure.catalogue.storage_codec import SingleVersionCodec
from asoreconcile.azure.controllers.catalogue import builtin
from asoreconcile.azure.controllers.event_mapping import EventMapping
from asoreconcile.azure.reconcile.model.annotations import RESOURCE_ID
from asoreconcile.azure.reconcile.model.conditions import EXPORT_REFUSED
from asoreconcile.azure.reconcile.model.object_reference import (
    CONFIG_MAP,
    SECRET,
    ObjectReference,
)
from asoreconcile.azure.reconcile.state.dependency_index import DependencyIndex
from asoreconcile.azure.reconcile.state.export_cache import EXPORTED, ExportRecord
from asoreconcile.azure.reconcile.state.waiting import Waiting
from asoreconcile.base.objects import ObjectKey, gvk_of, key_of
from asoreconcile.cache.entry import Entry
from asoreconcile.cache.events import Added, Deleted, Updated


def azure_object(api_version, kind, name, ready="False/ReferenceNotFound", **spec):
    status, _, reason = ready.partition("/")
    condition = {"type": "Ready", "status": status, "reason": reason or "Succeeded"}
    return {
        "apiVersion": api_version,
        "kind": kind,
        "metadata": {"name": name, "namespace": "ns", "uid": name, "generation": 1},
        "spec": spec,
        "status": {"conditions": [{**condition, "observedGeneration": 1}]},
    }


def group(name, ready="True"):
    return azure_object(
        "resources.azure.com/v1api20200601", "ResourceGroup", name, ready
    )


def network(name, ready, owner="rg"):
    return azure_object(
        "network.azure.com/v20250301", "VirtualNetwork", name, ready, **owned(owner)
    )


def server(name, ready, secret, out=None):
    exports = {"fullyQualifiedDomainName": {"name": out, "key": "host"}}
    return azure_object(
        "dbforpostgresql.azure.com/v20250801",
        "FlexibleServer",
        name,
        ready,
        **owned("rg"),
        administratorLoginPassword={"name": secret, "key": "p"},
        **(
            {"operatorSpec": {"secrets": exports, "configMaps": exports}} if out else {}
        ),
    )


def assignment(name, ready, config_map):
    reference = {"group": "resources.azure.com", "kind": "ResourceGroup", "name": "rg"}
    return azure_object(
        "authorization.azure.com/v20220401",
        "RoleAssignment",
        name,
        ready,
        owner=reference,
        principalIdFromConfig={"name": config_map, "key": "id"},
    )


def subnet_user(name, ready, refers_to):
    """A private endpoint in the group `rg`, which refers to a network by name."""
    reference = {"group": "network.azure.com", "kind": "VirtualNetwork"}
    return azure_object(
        "network.azure.com/v20240701",
        "PrivateEndpoint",
        name,
        ready,
        **owned("other"),
        subnet={"reference": {**reference, "name": refers_to}},
    )


def owned(name):
    return {"owner": {"name": name}}


CLUSTER = (
    group("rg", "False/Reconciling"),
    group("other"),
    network("waits", "False/WaitingForOwner"),
    network("fails", "False/AllocationFailed"),
    network("works", "True"),
    network("elsewhere", "False/WaitingForOwner", owner="other"),
    subnet_user("refers", "False/ReferenceNotFound", "works"),
    subnet_user("refers-elsewhere", "False/ReferenceNotFound", "waits"),
    subnet_user("content", "True", "works"),
    server("reads", "False/SecretNotFound", "password"),
    server("reads-and-works", "True", "password"),
    server("writes", "True", "another", out="out"),
    assignment("reads-map", "False/ConfigMapNotFound", "identity"),
)


class Kinds:
    """The running kinds; whoever scans them is caught."""

    def __init__(self):
        self.entries = {}
        self.woken = []

    def entry(self, node):
        return self.entries.get(node)

    def entries_in(self, namespace):
        message = f"scans namespace {namespace}"
        raise AssertionError(message)

    def wake(self, node, changed, version, waits):
        if waits():
            self.woken.append(node.key.name)


@pytest.fixture
def kinds():
    return Kinds()


@pytest.fixture
def wakeups(kinds):
    made = EventMapping(kinds, DependencyIndex(), Waiting())
    for obj in CLUSTER:
        entry = Entry(obj)
        kinds.entries[node_of(obj)] = entry
        made.on_azure_object(kept(obj), Added(entry=entry, initial=True))
    kinds.woken.clear()
    return made


def node_of(obj):
    return ObjectReference(gvk_of(obj).group_kind, key_of(obj))


def kept(obj):
    return SingleVersionCodec(version_of(obj))


def version_of(obj):
    kind = builtin().kind(gvk_of(obj).group_kind)
    return kind.version()


def updated(obj, **changes):
    """An update of an object's metadata, or of its Ready condition."""
    new = {**obj, "metadata": {**obj["metadata"]}}
    if "ready" in changes:
        condition = {"type": "Ready", "status": changes.pop("ready")}
        new["status"] = {"conditions": [condition]}
    new["metadata"].update(changes)
    return Updated(old=Entry(obj), new=Entry(new))


def named(name):
    return next(obj for obj in CLUSTER if obj["metadata"]["name"] == name)


CHANGES = {
    "owner becomes Ready": ("rg", {"ready": "True"}, {"waits", "fails", "reads", "reads-map"}),
    # Ready ones too: their last PUT was of another id.
    "owner gets its id": (
        "rg",
        {"annotations": {RESOURCE_ID: "/subscriptions/s/resourceGroups/rg"}},
        {"fails", "works", "reads", "reads-and-works", "writes", "reads-map"},
    ),
    "owner gets its id, and is Ready": (
        "rg",
        {"annotations": {RESOURCE_ID: "/s"}, "ready": "True"},
        {"waits", "fails", "works", "reads", "reads-and-works", "writes", "reads-map"},
    ),
    "owner is Ready no more": ("other", {"ready": "False"}, set()),
    "owner is another object": ("rg", {"uid": "new"}, {"waits", "fails", "reads", "reads-map"}),
    "owner's labels change": ("rg", {"labels": {"a": "b"}}, set()),
    "referenced gets its id": (
        "works",
        {"annotations": {RESOURCE_ID: "/subscriptions/s/x"}},
        {"refers", "content"},
    ),
    "referenced changes its spec": ("works", {"generation": 2}, set()),
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "change", "expected"), CHANGES.values(), ids=CHANGES.keys()
)
def test_d13_a_change_of_an_azure_object_wakes_exactly(
    wakeups, kinds, name, change, expected
):
    obj = named(name)
    wakeups.on_azure_object(kept(obj), updated(obj, **dict(change)))
    assert sorted(kinds.woken) == sorted(expected)


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("/subscriptions/s/x", "/subscriptions/s/y", ["content", "refers"]),
        ("/subscriptions/s/x", "/SUBSCRIPTIONS/s/X", []),
        ("/subscriptions/s/x", None, []),
    ],
    ids=["another id", "another spelling", "lost"],
)
def test_d13_ready_dependents_are_woken_by_another_id(
    wakeups, kinds, before, after, expected
):
    obj = named("works")
    marks = ({RESOURCE_ID: one} if one else {} for one in (before, after))
    old, new = (
        Entry({**obj, "metadata": {**obj["metadata"], "annotations": mark}})
        for mark in marks
    )
    wakeups.on_azure_object(kept(obj), Updated(old=old, new=new))
    assert sorted(kinds.woken) == expected


@pytest.mark.parametrize(("initial", "expected"), [(True, []), (False, ["content"])])
def test_d13_an_object_that_comes_back_with_its_id_wakes_ready_dependents(
    wakeups, kinds, initial, expected
):
    obj = named("works")
    notes = {RESOURCE_ID: "/subscriptions/s/x"}
    entry = Entry({**obj, "metadata": {**obj["metadata"], "annotations": notes}})
    wakeups.on_azure_object(kept(obj), Added(entry=entry, initial=initial))
    assert [name for name in kinds.woken if name != "refers"] == expected


CONTENT = {
    "Secret that is read": (SECRET, "password", {"reads", "reads-and-works"}),
    "ConfigMap that is read": (CONFIG_MAP, "identity", {"reads-map"}),
    "Secret of the ConfigMap's name": (SECRET, "identity", set()),
    "Secret nobody names": (SECRET, "nobody", set()),
}


@pytest.mark.parametrize("event", [Added, Updated, Deleted])
@pytest.mark.parametrize(
    ("group_kind", "name", "expected"), CONTENT.values(), ids=CONTENT.keys()
)
def test_d13_a_change_of_an_input_wakes_exactly(
    wakeups, kinds, event, group_kind, name, expected
):
    wakeups.on_secret_or_config_map(group_kind, content_event(event, name))
    assert sorted(kinds.woken) == sorted(expected)


@pytest.mark.parametrize("group_kind", [SECRET, CONFIG_MAP], ids=lambda gk: gk.kind)
@pytest.mark.parametrize("event", [Added, Updated, Deleted])
def test_d13_an_export_that_another_writer_changed_wakes_who_writes_it(
    wakeups, kinds, group_kind, event
):
    wakeups.on_secret_or_config_map(group_kind, content_event(event, "out"))
    assert kinds.woken == ["writes"]


@pytest.mark.parametrize("group_kind", [SECRET, CONFIG_MAP], ids=lambda gk: gk.kind)
@pytest.mark.parametrize(
    ("event", "expected"), [(Added, []), (Updated, []), (Deleted, ["writes"])]
)
def test_d13_the_event_of_an_own_write_of_an_export_wakes_nothing(
    wakeups, kinds, group_kind, event, expected
):
    node = ObjectReference(group_kind, ObjectKey("ns", "out"))
    for version in ("2", "1"):  # answers of two requests may come in any order
        wakeups._exported.note(node, {"metadata": {"resourceVersion": version}})
    wakeups.on_secret_or_config_map(group_kind, content_event(event, "out"))
    assert kinds.woken == expected


def test_d13_a_refused_export_is_woken_by_the_end_of_the_other_s_object_only(
    wakeups, kinds
):
    obj = named("writes")
    ready = {"type": "Ready", "status": "False", "reason": EXPORT_REFUSED}
    refused = {**obj, "status": {"conditions": [ready]}}
    kinds.entries[node_of(obj)] = Entry(refused)
    wakeups.on_secret_or_config_map(SECRET, content_event(Updated, "out"))
    assert kinds.woken == []
    wakeups.on_secret_or_config_map(SECRET, content_event(Deleted, "out"))
    assert kinds.woken == ["writes"]


def test_d13_an_export_that_only_the_record_names_wakes_too(wakeups, kinds):
    """An extension may name it."""
    obj = named("writes")
    record = ExportRecord("of", {"hidden": "hash"})
    notes = {**obj["metadata"].get("annotations", {}), EXPORTED: record.dumps()}
    noted = {**obj, "metadata": {**obj["metadata"], "annotations": notes}}
    wakeups.on_azure_object(kept(obj), Updated(old=Entry(obj), new=Entry(noted)))
    wakeups.on_secret_or_config_map(SECRET, content_event(Deleted, "hidden"))
    assert kinds.woken == ["writes"]


def test_an_object_that_names_something_else_now_is_woken_by_that(wakeups, kinds):
    obj = named("reads")
    edited = {**obj, "metadata": {**obj["metadata"], "generation": 2}}
    edited["spec"] = server("reads", "False", "new-password")["spec"]
    wakeups.on_azure_object(kept(obj), Updated(old=Entry(obj), new=Entry(edited)))
    kinds.entries[node_of(obj)] = Entry(edited)
    wakeups.on_secret_or_config_map(SECRET, content_event(Updated, "new-password"))
    assert kinds.woken == ["reads"]
    wakeups.on_secret_or_config_map(SECRET, content_event(Updated, "password"))
    assert kinds.woken == ["reads", "reads-and-works"]


def test_a_successor_is_woken_by_what_it_names_itself(wakeups, kinds):
    """Its predecessor's end was missed; both are of generation 1."""
    obj = named("reads")
    replacement = {**obj, "metadata": {**obj["metadata"], "uid": "another"}}
    replacement["spec"] = server("reads", "False", "new-password")["spec"]
    wakeups.on_azure_object(kept(obj), Updated(old=Entry(obj), new=Entry(replacement)))
    kinds.entries[node_of(obj)] = Entry(replacement)
    wakeups.on_secret_or_config_map(SECRET, content_event(Updated, "new-password"))
    assert kinds.woken == ["reads"]


def test_what_went_is_woken_by_nothing(wakeups, kinds):
    obj = named("reads")
    entry = kinds.entries.pop(node_of(obj))
    wakeups.on_azure_object(kept(obj), Deleted(entry=entry))
    wakeups.on_secret_or_config_map(SECRET, content_event(Updated, "password"))
    assert kinds.woken == ["reads-and-works"]


def test_what_was_edited_waits_until_its_condition_speaks_of_the_edit(wakeups, kinds):
    """Its pass may be finding a reference missing at this moment."""
    obj = named("content")
    edited = {**obj, "metadata": {**obj["metadata"], "generation": 2}}
    kinds.entries[node_of(obj)] = Entry(edited)
    target = named("works")
    notes = {RESOURCE_ID: "/subscriptions/s/x"}
    wakeups.on_azure_object(kept(target), updated(target, annotations=notes))
    assert sorted(kinds.woken) == ["content", "refers"]


def content_event(event, name):
    def entry(version):
        meta = {"name": name, "namespace": "ns", "resourceVersion": version}
        return Entry({"metadata": meta})

    if event is Added:
        return Added(entry=entry("1"), initial=False)
    if event is Updated:
        return Updated(old=entry("1"), new=entry("2"))
    return Deleted(entry=entry("1"))
