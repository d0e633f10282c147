"""Which objects are woken by a change elsewhere."""

import pytest

from asoreconcile.azure.catalogue.storage_codec import SingleVersionCodec
from asoreconcile.azure.controllers.catalogue import builtin
from asoreconcile.azure.controllers.event_mapping import EventMapping
from asoreconcile.azure.reconcile.model.annotations import (
    CLAIM,
    DELETION_PROTECTION,
    MAINTENANCE_WINDOWS,
    PAUSED,
    POLLER_TOKEN,
    RECONCILE_POLICY,
    RESOURCE_ID,
    SYNC_PERIOD,
)
from asoreconcile.azure.reconcile.model.object_reference import ObjectReference
from asoreconcile.azure.reconcile.model.policy import Policy, policy_of
from asoreconcile.azure.reconcile.model.sync_mode import SYNC_MODE
from asoreconcile.azure.reconcile.state.dependency_index import DependencyIndex
from asoreconcile.azure.reconcile.state.waiting import Waiting
from asoreconcile.base.objects import GroupKind, gvk_of, key_of
from asoreconcile.cache.entry import Entry
from asoreconcile.cache.events import Added, Deleted, Updated

GROUP = {
    "apiVersion": "resources.azure.com/v1api20200601",
    "kind": "ResourceGroup",
    "metadata": {"name": "rg", "namespace": "ns", "uid": "1", "resourceVersion": "1"},
    "spec": {"location": "westeurope"},
}
NETWORK = {
    "apiVersion": "network.azure.com/v20250301",
    "kind": "VirtualNetwork",
    "metadata": {"name": "vnet", "namespace": "ns", "uid": "2", "resourceVersion": "2"},
    "spec": {"owner": {"name": "rg"}},
}


class Kinds:
    def __init__(self):
        self.entries = {}
        self.woken = []
        self.told = []
        self.waits = None
        self.in_flight = set()

    def entry(self, node):
        return self.entries.get(node)

    def entries_in(self, namespace):
        return {
            node: entry
            for node, entry in self.entries.items()
            if namespace in (None, node.key.namespace)
        }

    def wake(self, node, changed, version, waits):
        self.waits = waits
        if node in self.in_flight or not waits():
            return
        self.woken.append(node.key.name)
        self.told.append((changed.group_kind.kind, changed.key.name, version))


@pytest.fixture
def kinds():
    return Kinds()


@pytest.fixture
def wakeups(kinds):
    return EventMapping(kinds, DependencyIndex(), Waiting())


def node_of(obj):
    return ObjectReference(gvk_of(obj).group_kind, key_of(obj))


def version_of(obj):
    return builtin().version(gvk_of(obj))


def with_status(obj, status, reason="Failed", **meta):
    conditions = [{"type": "Ready", "status": status, "reason": reason}]
    return {
        **obj,
        "metadata": {**obj["metadata"], **meta},
        "status": {"conditions": conditions},
    }


def kept(obj):
    return SingleVersionCodec(version_of(obj))


def add(wakeups, kinds, obj):
    entry = Entry(obj)
    kinds.entries[node_of(obj)] = entry
    wakeups.on_azure_object(kept(obj), Added(entry=entry, initial=False))
    return entry


def remove(wakeups, kinds, obj):
    entry = kinds.entries.pop(node_of(obj))
    wakeups.on_azure_object(kept(obj), Deleted(entry=entry))


def test_d13_a_new_owner_wakes_who_waits_for_it(wakeups, kinds):
    add(wakeups, kinds, with_status(NETWORK, "False"))
    add(wakeups, kinds, GROUP)
    assert kinds.woken == ["vnet"]
    assert kinds.told == [("ResourceGroup", "rg", "1")]


def test_d13_a_change_is_told_with_the_version_it_came_to(wakeups, kinds):
    """A pass under way may have read that version."""
    add(wakeups, kinds, with_status(NETWORK, "False"))
    old = add(wakeups, kinds, GROUP)
    new = Entry(with_status(GROUP, "True", resourceVersion="5"))
    wakeups.on_azure_object(kept(GROUP), Updated(old=old, new=new))
    assert kinds.told[1:] == [("ResourceGroup", "rg", "5")]


def test_d13_whether_it_still_waits_is_asked_of_what_a_reconcile_has_made_of_it(
    wakeups, kinds
):
    network = with_status(NETWORK, "False", "Reconciling", generation=1)
    add(wakeups, kinds, network)
    add(wakeups, kinds, GROUP)
    assert kinds.waits()
    ready = with_status(network, "True", "Succeeded")
    ready["status"]["conditions"][0]["observedGeneration"] = 1
    kinds.entries[node_of(NETWORK)] = Entry(ready)
    assert not kinds.waits()
    del kinds.entries[node_of(NETWORK)]
    assert not kinds.waits()


def test_d13_what_is_ready_is_left_alone(wakeups, kinds):
    add(wakeups, kinds, with_status(NETWORK, "True"))
    add(wakeups, kinds, GROUP)
    assert kinds.woken == []


def peering():
    other = {"name": "other", "group": "network.azure.com", "kind": "VirtualNetwork"}
    return {
        "apiVersion": NETWORK["apiVersion"],
        "kind": "VirtualNetworksVirtualNetworkPeering",
        "metadata": {"name": "peering", "namespace": "ns", "uid": "4"},
        "spec": {
            "owner": {"name": "vnet"},
            "remoteVirtualNetwork": {"reference": other},
        },
    }


def test_what_waits_for_its_owner_is_not_woken_by_another(wakeups, kinds):
    add(wakeups, kinds, with_status(peering(), "False", "WaitingForOwner"))
    remote = {**NETWORK, "metadata": {**NETWORK["metadata"], "name": "other"}}
    add(wakeups, kinds, remote)
    assert kinds.woken == []
    add(wakeups, kinds, NETWORK)
    assert kinds.woken == ["peering"]


def test_a_reconcile_in_flight_decides_at_its_end_whether_it_waits(wakeups, kinds):
    """It read the remote network before that was Ready, and has not written so yet."""
    waiting = with_status(peering(), "False", "WaitingForOwner")
    add(wakeups, kinds, waiting)
    kinds.in_flight.add(node_of(waiting))
    add(
        wakeups,
        kinds,
        {**NETWORK, "metadata": {**NETWORK["metadata"], "name": "other"}},
    )
    assert not kinds.waits()
    kinds.entries[node_of(waiting)] = Entry(
        with_status(peering(), "False", "WaitingForReference")
    )
    assert kinds.waits()


def test_what_waits_for_an_owner_that_it_also_refers_to_is_woken(wakeups, kinds):
    both = peering()
    both["spec"]["remoteVirtualNetwork"]["reference"]["name"] = "vnet"
    add(wakeups, kinds, with_status(both, "False", "WaitingForOwner"))
    add(wakeups, kinds, NETWORK)
    assert kinds.woken == ["peering"]


def test_what_failed_is_woken_by_what_it_refers_to(wakeups, kinds):
    add(wakeups, kinds, with_status(peering(), "False", "InvalidResourceReference"))
    remote = {**NETWORK, "metadata": {**NETWORK["metadata"], "name": "other"}}
    add(wakeups, kinds, remote)
    assert kinds.woken == ["peering"]


def test_ow5_what_refers_to_an_object_is_woken_when_azure_accepts_its_put(
    wakeups, kinds
):
    add(wakeups, kinds, with_status(peering(), "False", "WaitingForReference"))
    remote = with_status(NETWORK, "False", name="other")
    old = add(wakeups, kinds, remote)
    kinds.woken.clear()
    claim = "2026-01-01T00:00:00.000000Z mark /subscriptions/s"
    for standing, woken in (("open", []), ("accepted", ["peering"])):
        meta = {**remote["metadata"], "annotations": {CLAIM: f"{standing} {claim}"}}
        new = Entry({**remote, "metadata": meta})
        wakeups.on_azure_object(kept(NETWORK), Updated(old=old, new=new))
        assert kinds.woken == woken
        old = new


def test_an_operation_that_runs_is_polled_when_azure_said(wakeups, kinds):
    running = with_status(NETWORK, "False", annotations={POLLER_TOKEN: "{}"})
    add(wakeups, kinds, running)
    add(wakeups, kinds, GROUP)
    assert kinds.woken == []


def test_an_owner_that_went_wakes_children_on_their_way_out(wakeups, kinds):
    add(wakeups, kinds, GROUP)
    add(wakeups, kinds, with_status(NETWORK, "False", deletionTimestamp="now"))
    add(wakeups, kinds, with_status(NETWORK, "True", name="in-order"))
    remove(wakeups, kinds, GROUP)
    assert kinds.woken == ["vnet"]
    assert kinds.told == [("ResourceGroup", "rg", "")]


def test_de2_what_was_in_use_is_woken_when_its_user_went(wakeups, kinds):
    add(wakeups, kinds, with_status(GROUP, "False", deletionTimestamp="now"))
    add(wakeups, kinds, NETWORK)
    remove(wakeups, kinds, NETWORK)
    assert kinds.woken == ["rg"]
    assert kinds.told == [("VirtualNetwork", "vnet", "")]


def test_what_stays_is_not_woken_when_its_user_went(wakeups, kinds):
    add(wakeups, kinds, with_status(GROUP, "False"))
    add(wakeups, kinds, NETWORK)
    remove(wakeups, kinds, NETWORK)
    assert kinds.woken == []


@pytest.mark.parametrize(("policy", "woken"), [("skip", ["vnet"]), ("manage", [])])
def test_r6_3_a_namespace_going_to_skip_wakes_its_objects(
    wakeups, kinds, policy, woken
):
    add(wakeups, kinds, NETWORK)
    wakeups.on_namespace(
        Updated(old=namespace("1"), new=namespace("2", **{RECONCILE_POLICY: policy}))
    )
    assert kinds.woken == woken
    assert kinds.told == [("Namespace", "ns", "2")] * len(woken)


def test_a_namespace_s_detaching_wakes_what_is_being_deleted(wakeups, kinds):
    add(wakeups, kinds, GROUP)
    add(wakeups, kinds, with_status(NETWORK, "False", deletionTimestamp="now"))
    detached = namespace("2", **{RECONCILE_POLICY: "detach-on-delete"})
    wakeups.on_namespace(Updated(old=namespace("1"), new=detached))
    assert kinds.woken == ["vnet"]


def namespace(version, **notes):
    meta = {"name": "ns", "annotations": notes, "resourceVersion": version}
    return Entry({"metadata": meta})


def goes_to_skip(wakeups):
    new = namespace("2", **{RECONCILE_POLICY: "skip"})
    wakeups.on_namespace(Updated(old=namespace("1"), new=new))


def test_a_namespace_s_sync_mode_wakes_who_has_none_of_their_own(wakeups, kinds):
    add(wakeups, kinds, GROUP)
    own = {SYNC_MODE: "put"}
    add(wakeups, kinds, with_status(NETWORK, "True", annotations=own))
    compares = namespace("2", **{SYNC_MODE: "compare"})
    wakeups.on_namespace(Updated(old=namespace("1"), new=compares))
    wakeups.on_namespace(Updated(old=compares, new=compares))
    assert kinds.woken == ["rg"]


@pytest.mark.parametrize(
    ("own", "woken"),
    [({}, ["vnet"]), ({DELETION_PROTECTION: "false"}, ["vnet"])],
    ids=["none", "its own false"],
)
def test_ow4_a_namespace_s_protection_wakes_what_is_being_deleted(
    wakeups, kinds, own, woken
):
    add(wakeups, kinds, GROUP)
    leaving = with_status(NETWORK, "False", deletionTimestamp="now", annotations=own)
    add(wakeups, kinds, leaving)
    on = namespace("1", **{DELETION_PROTECTION: "true"})
    wakeups.on_namespace(Updated(old=on, new=namespace("2")))
    assert kinds.woken == woken


@pytest.mark.parametrize(
    ("name", "value", "own", "woken"),
    [
        (PAUSED, "true", {}, ["rg", "vnet"]),
        (PAUSED, "true", {PAUSED: "false"}, ["rg", "vnet"]),
        (MAINTENANCE_WINDOWS, "0 2 * * sat 4h", {}, ["rg", "vnet"]),
        (MAINTENANCE_WINDOWS, "0 2 * * sat 4h", {MAINTENANCE_WINDOWS: "x"}, ["rg"]),
        (SYNC_PERIOD, "15m", {}, ["rg"]),
        ("asoreconcile/reconcile-at", "1", {}, []),
    ],
)
def test_ow7_a_namespace_s_pace_wakes_what_it_concerns(
    wakeups, kinds, name, value, own, woken
):
    """The network is being deleted: its sync period does not matter."""
    add(wakeups, kinds, GROUP)
    leaving = with_status(NETWORK, "True", deletionTimestamp="now", annotations=own)
    add(wakeups, kinds, leaving)
    kinds.woken.clear()
    wakeups.on_namespace(
        Updated(old=namespace("1"), new=namespace("2", **{name: value}))
    )
    assert kinds.woken == woken


def test_ow4_an_object_that_is_no_longer_protected_wakes_its_leaving_owner(
    wakeups, kinds
):
    add(
        wakeups,
        kinds,
        {**GROUP, "metadata": {**GROUP["metadata"], "deletionTimestamp": "now"}},
    )
    on = with_status(NETWORK, "True", annotations={DELETION_PROTECTION: "true"})
    add(wakeups, kinds, on)
    kinds.woken.clear()
    off = with_status(NETWORK, "True", annotations={})
    form = kept(NETWORK)
    wakeups.on_azure_object(form, Updated(old=Entry(on), new=Entry(off)))
    wakeups.on_azure_object(form, Updated(old=Entry(off), new=Entry(on)))
    assert kinds.woken == ["rg"]


def test_r6_3_objects_with_a_policy_of_their_own_are_not_woken(wakeups, kinds):
    notes = {RECONCILE_POLICY: "manage"}
    add(wakeups, kinds, with_status(NETWORK, "True", annotations=notes))
    add(wakeups, kinds, GROUP)
    goes_to_skip(wakeups)
    assert kinds.woken == ["rg"]


def test_r6_4_an_object_with_an_empty_policy_of_its_own_is_woken(wakeups, kinds):
    """It inherits the Namespace's, as without the annotation."""
    notes = {RECONCILE_POLICY: ""}
    add(wakeups, kinds, with_status(NETWORK, "True", annotations=notes))
    goes_to_skip(wakeups)
    assert kinds.woken == ["vnet"]
    inherited = {RECONCILE_POLICY: "skip"}
    assert policy_of(notes, inherited, Policy.MANAGE) is Policy.SKIP


SERVER = {
    "apiVersion": "dbforpostgresql.azure.com/v20250801",
    "kind": "FlexibleServer",
    "metadata": {"name": "db", "namespace": "ns", "uid": "3"},
    "spec": {
        "owner": {"name": "rg"},
        "administratorLoginPassword": {"name": "admin", "key": "password"},
    },
}
IDENTITY_NAME = {
    "apiVersion": "authorization.azure.com/v20220401",
    "kind": "RoleAssignment",
    "metadata": {"name": "reads", "namespace": "ns", "uid": "4"},
    "spec": {
        "owner": {"group": "resources.azure.com", "kind": "ResourceGroup", "name": "g"},
        "principalIdFromConfig": {"name": "identity", "key": "principalId"},
    },
}


@pytest.mark.parametrize(
    ("obj", "kind", "name"),
    [(SERVER, "Secret", "admin"), (IDENTITY_NAME, "ConfigMap", "identity")],
    ids=["Secret", "ConfigMap"],
)
@pytest.mark.parametrize("event", [Added, Updated, Deleted])
def test_r6_2_a_change_wakes_who_reads_it_in_its_namespace(
    wakeups, kinds, obj, kind, name, event
):
    add(wakeups, kinds, obj)

    def changed(group_kind, namespace, name):
        def entry(version):
            meta = {"name": name, "namespace": namespace, "resourceVersion": version}
            return Entry({"metadata": meta})

        made = {
            Added: lambda: Added(entry=entry("1"), initial=False),
            Updated: lambda: Updated(old=entry("1"), new=entry("2")),
            Deleted: lambda: Deleted(entry=entry("1")),
        }
        wakeups.on_secret_or_config_map(GroupKind("", group_kind), made[event]())

    other_kind = "ConfigMap" if kind == "Secret" else "Secret"
    changed(kind, "elsewhere", name)
    changed(kind, "ns", "another")
    changed(other_kind, "ns", name)
    assert kinds.woken == []
    changed(kind, "ns", name)
    assert kinds.woken == [obj["metadata"]["name"]]
    version = {Added: "1", Updated: "2", Deleted: ""}[event]
    assert kinds.told == [(kind, name, version)]


def test_a_relisted_secret_wakes_nobody(wakeups, kinds):
    add(wakeups, kinds, SERVER)
    meta = {"name": "admin", "namespace": "ns", "resourceVersion": "1"}
    same = Entry({"metadata": meta})
    wakeups.on_secret_or_config_map(
        GroupKind("", "Secret"), Updated(old=same, new=same)
    )
    wakeups.on_secret_or_config_map(
        GroupKind("", "Secret"), Added(entry=same, initial=True)
    )
    assert kinds.woken == []


def test_the_children_of_other_namespaces_are_woken_too(kinds, wakeups):
    """A child may name its owner by the ARM id."""
    network = "/subscriptions/1/resourceGroups/rg/providers/P/virtualNetworks/vnet"
    for name, arm_id in (
        ("parent", network),
        ("child", f"{network.upper()}/subnets/web"),
        ("neighbour", f"{network}2/subnets/web"),
    ):
        meta = {"name": name, "namespace": name, "annotations": {RESOURCE_ID: arm_id}}
        obj = {**NETWORK, "metadata": meta}
        kinds.entries[node_of(obj)] = Entry(obj)
    wakeups.wake_children(next(iter(kinds.entries)))
    assert kinds.woken == ["child"]
