"""Objects by Azure id: the index of the caches, and who is woken when one lets go."""

import pytest

from asoreconcile.azure.catalogue.storage_codec import SingleVersionCodec
from asoreconcile.azure.controllers.catalogue import builtin
from asoreconcile.azure.controllers.event_mapping import EventMapping
from asoreconcile.azure.controllers.kind_registry import index_azure_ids, with_id
from asoreconcile.azure.reconcile.model.annotations import (
    CLAIM,
    RECONCILE_POLICY,
    RESOURCE_ID,
)
from asoreconcile.azure.reconcile.model.object_reference import ObjectReference
from asoreconcile.azure.reconcile.state.dependency_index import DependencyIndex
from asoreconcile.azure.reconcile.state.waiting import Waiting
from asoreconcile.base.objects import GroupKind, ObjectKey
from asoreconcile.cache.entry import Entry
from asoreconcile.cache.events import Added, Deleted, Updated

VERSION = builtin().kind(GroupKind("network.azure.com", "VirtualNetwork")).version()
FORM = SingleVersionCodec(VERSION)
NETWORKS = "/subscriptions/s/resourceGroups/g/providers/M.Network/virtualNetworks"


def network(name, azure_name=None, notes=None, **meta):
    own = {"name": name, "namespace": "ns", "uid": name, "generation": 1}
    return Entry(
        {
            "apiVersion": VERSION.gvk.api_version,
            "kind": VERSION.gvk.kind,
            "metadata": {**own, "annotations": notes or {}, **meta},
            "spec": {"azureName": azure_name} if azure_name else {},
        }
    )


class Filed:
    """An informer, as far as an index goes."""

    def __init__(self, *entries):
        self.entries = entries
        self.values = None

    def add_index(self, _name, values):
        self.values = values

    def by_index(self, _name, value):
        return [one.key for one in self.entries if value in self.values(one)]


def test_the_claimed_are_found_by_their_id_and_the_others_by_their_name():
    filed = Filed(
        network("claimed", notes={RESOURCE_ID: f"{NETWORKS}/SHARED"}),
        network("moved", "shared", notes={RESOURCE_ID: f"{NETWORKS}/other"}),
        network("stated", "Shared"),
        network("shared"),
        network("different"),
    )
    index_azure_ids(filed, FORM)
    found = with_id(filed, f"{NETWORKS.upper()}/shared")
    assert {key.name for key in found} == {"claimed", "stated", "shared"}


def test_a_recorded_claim_is_found_without_the_annotation_and_before_a_put_by_name_too():
    def record(standing, name):
        return {CLAIM: f"{standing} 2026 mark {NETWORKS}/{name}"}

    filed = Filed(
        network("lost", notes=record("accepted", "SHARED")),
        network("misled", notes={**record("open", "shared"), RESOURCE_ID: "/other"}),
        network("corrected", "shared", notes=record("none", "typo")),
        network("managed", "shared", notes=record("accepted", "other")),
    )
    index_azure_ids(filed, FORM)
    found = with_id(filed, f"{NETWORKS}/shared")
    assert {key.name for key in found} == {"lost", "misled", "corrected"}


class Kinds:
    def __init__(self):
        self.woken = []

    def entry(self, _node):
        return None

    def entries_in(self, _namespace):
        return {}

    def wake(self, node, _changed, _version, _waits):
        self.woken.append(node.key.name)


@pytest.fixture
def kinds():
    return Kinds()


@pytest.fixture
def wakeups(kinds):
    waiting = Waiting()
    waiting.note(node("younger"), node("older"))
    return EventMapping(kinds, DependencyIndex(), waiting)


def node(name):
    return ObjectReference(VERSION.group_kind, ObjectKey("ns", name))


OLD = network("older", notes={RESOURCE_ID: NETWORKS})


@pytest.mark.parametrize(
    ("event", "wakes"),
    [
        (Deleted(OLD), True),
        (Updated(OLD, network("older", notes={RESOURCE_ID: f"{NETWORKS}x"})), True),
        (Updated(OLD, network("older", notes={RESOURCE_ID: NETWORKS, RECONCILE_POLICY: "skip"})),
         True),
        (Updated(OLD, network("older", notes={RESOURCE_ID: NETWORKS}, generation=2)), True),
        (Updated(OLD, network("older", notes={RESOURCE_ID: NETWORKS}, uid="2")), True),
        (Updated(OLD, OLD), False),
        (Added(OLD), False),
        (Deleted(network("another")), False),
    ],
    ids=["gone", "id", "skip", "spec", "successor", "same", "added", "another"],
)  # fmt: skip
def test_who_waits_is_woken_when_the_older_one_may_let_go(kinds, wakeups, event, wakes):
    wakeups.on_azure_object(FORM, event)
    assert kinds.woken == (["younger"] if wakes else [])


def test_a_namespace_s_policy_lets_go_too(kinds, wakeups):
    def namespace(notes):
        return Entry({"metadata": {"name": "ns", "annotations": notes}})

    wakeups.on_namespace(Updated(namespace({}), namespace({"example.com/x": "y"})))
    assert kinds.woken == []
    skip = namespace({RECONCILE_POLICY: "skip"})
    wakeups.on_namespace(Updated(namespace({}), skip))
    assert kinds.woken == ["younger"]


def test_one_waits_for_one_other_at_a_time():
    waiting = Waiting()
    waiting.note(node("c"), node("a"))
    waiting.note(node("c"), node("b"))
    assert waiting.behind(node("a")) == []
    assert waiting.behind(node("b")) == [node("c")]
    waiting.forget(node("c"))
    waiting.forget(node("c"))
    assert waiting.awaited_in("ns") == []


def test_of_a_kind_that_runs_no_more_none_waits():
    waiting = Waiting()
    waiting.note(node("b"), node("a"))
    EventMapping(Kinds(), DependencyIndex(), waiting).forget(VERSION.group_kind)
    assert waiting.behind(node("a")) == []
