"""Whom events concern, and which events count."""

import pytest

from asoreconcile.base.objects import GroupKind, ObjectKey
from asoreconcile.cache.entry import Entry
from asoreconcile.cache.events import Added, Deleted, Updated
from asoreconcile.queue.workqueue import LOW_PRIORITY
from asoreconcile.runtime.handlers import (
    enqueue_owner,
    enqueue_self,
    map_to,
    priority_of,
)
from asoreconcile.runtime.predicates import (
    concerns,
    generation_changed,
    labelled,
)
from asoreconcile.runtime.reconciler import Request

OWNER = GroupKind("network.azure.com", "VirtualNetwork")


def entry(name="a", *, owners=(), **meta):
    meta = {"namespace": "ns", "name": name, "resourceVersion": "1", **meta}
    return Entry({"metadata": {**meta, "ownerReferences": list(owners)}})


def owner(name, *, controller=False, version="v1", kind="VirtualNetwork"):
    api = f"network.azure.com/{version}"
    return {"apiVersion": api, "kind": kind, "name": name, "controller": controller}


def request(name, namespace="ns"):
    return Request(ObjectKey(namespace, name))


@pytest.mark.parametrize(
    "event",
    [Added(entry()), Updated(entry(), entry()), Deleted(entry())],
    ids=["added", "updated", "deleted"],
)
def test_ha1_an_event_concerns_the_object_itself(event):
    assert list(enqueue_self(event)) == [request("a")]


def test_ha2_owners_match_group_and_kind_in_any_version():
    owners = [owner("v"), owner("w", version="v2"), owner("s", kind="Subnet")]
    event = Added(entry(owners=owners))
    assert list(enqueue_owner(OWNER)(event)) == [request("v"), request("w")]


def test_ha2_owners_may_be_only_the_controller():
    owners = [owner("v"), owner("w", controller=True)]
    handler = enqueue_owner(OWNER, only_controller=True)
    assert list(handler(Added(entry(owners=owners)))) == [request("w")]


def test_ha2_owners_of_a_cluster_scoped_kind_have_no_namespace():
    handler = enqueue_owner(OWNER, namespaced=False)
    requests = list(handler(Deleted(entry(owners=[owner("v")]))))
    assert requests == [request("v", namespace="")]


def test_ha2_owners_are_those_before_and_after_an_update_once():
    event = Updated(
        entry(owners=[owner("old"), owner("both")]),
        entry(owners=[owner("both"), owner("new")]),
    )
    requests = list(enqueue_owner(OWNER)(event))
    assert requests == [request("old"), request("both"), request("new")]


def test_ha3_a_mapping_asks_for_both_states_and_names_each_request_once():
    asked = []

    def requests_of(item):
        asked.append(item.key.name)
        return [request("x"), request(item.key.name), request("x")]

    event = Updated(entry("a"), entry("b"))
    assert list(map_to(requests_of)(event)) == [
        request("x"),
        request("a"),
        request("b"),
    ]
    assert asked == ["a", "b"]


@pytest.mark.parametrize(
    ("event", "priority"),
    [
        pytest.param(Added(entry(), initial=True), LOW_PRIORITY, id="PQ-1-initial"),
        pytest.param(Added(entry()), 0, id="PQ-1-added"),
        pytest.param(Updated(entry(), entry()), LOW_PRIORITY, id="PQ-1-resync"),
        pytest.param(
            Updated(entry(), entry(resourceVersion="2")), 0, id="PQ-1-updated"
        ),
        pytest.param(Deleted(entry()), 0, id="PQ-1-deleted"),
    ],
)
def test_what_nobody_waits_for_is_low(event, priority):
    assert priority_of(event) == priority


def test_ha4_a_change_of_the_generation_passes_and_hides_the_others():
    before = entry(generation=1)
    assert generation_changed(Updated(before, entry(generation=2)))
    others = {"generation": 1, "finalizers": ["f"], "resourceVersion": "2"}
    assert not generation_changed(Updated(before, entry(**others)))
    assert generation_changed(Added(before))
    assert generation_changed(Deleted(before))


@pytest.mark.parametrize(
    ("before", "after", "result"),
    [
        ({}, {}, False),
        ({"mine": "no"}, {"mine": "no"}, False),
        ({}, {"mine": "yes"}, True),
        ({"mine": "yes"}, {}, True),
    ],
    ids=["never", "another value", "labelled now", "labelled before"],
)
def test_ha4_a_label_counts_before_and_after_the_change(before, after, result):
    event = Updated(entry(labels=before), entry(labels=after))
    assert labelled("mine", "yes")(event) is result
    assert labelled("mine")(event) is bool(before or after)


def test_ha4_an_object_is_asked_about_in_each_state_until_it_passes():
    asked = []

    def test(one):
        asked.append(one.generation)
        return one.generation == 2

    predicate = concerns(test)
    assert predicate(Updated(entry(generation=1), entry(generation=2)))
    assert predicate(Deleted(entry(generation=2)))
    assert not predicate(Added(entry(generation=3)))
    assert asked == [1, 2, 2, 3]
