"""Which changes of an object are a reason for a pass (R6.1)."""

import attrs
import pytest

from asoreconcile.azure.catalogue.conversion import KindConversionError
from asoreconcile.azure.catalogue.storage_codec import (
    SingleVersionCodec,
    kept_stored,
    storage_codec_of,
)
from asoreconcile.azure.controllers.catalogue import builtin
from asoreconcile.azure.controllers.kind_registry import (
    KindRegistry,
    RunningKind,
    needs_reconcile,
)
from asoreconcile.azure.reconcile.model.annotations import (
    CREDENTIAL_FROM,
    DELETION_PROTECTION,
    FINALIZER,
    OPERATOR_NAMESPACE,
    POLLER_TOKEN,
    RECONCILE_POLICY,
    RESOURCE_ID,
)
from asoreconcile.azure.reconcile.model.object_reference import ObjectReference
from asoreconcile.azure.reconcile.state.read_set import InFlightReads
from asoreconcile.base.errors import RetryError
from asoreconcile.base.objects import GroupKind, ObjectKey
from asoreconcile.cache.entry import Entry
from asoreconcile.cache.events import Added, Deleted, Updated

RG = ObjectKey("ns", "rg")
OURS = {OPERATOR_NAMESPACE: "operator", RESOURCE_ID: "/subscriptions/s"}


def entry(*, status=None, **meta):
    own = {"name": "a", "namespace": "ns", "uid": "1", "generation": 1}
    ours = {"annotations": OURS, "finalizers": [FINALIZER]}
    return Entry({"metadata": {**own, **ours, **meta}, "status": status or {}})


def with_notes(**notes):
    return entry(annotations={**OURS, **notes})


def without(*names):
    return entry(annotations={k: v for k, v in OURS.items() if k not in names})


@pytest.mark.parametrize(
    "new",
    [
        entry(),
        entry(status={"id": "x"}),
        entry(labels={"team": "red"}),
        with_notes(**{"example.com/note": "x"}),
        with_notes(**{POLLER_TOKEN: "{}"}),
        with_notes(**{"asoreconcile/reconciled-at": "1"}),
        with_notes(**{RECONCILE_POLICY: "detach-on-delete"}),
        entry(finalizers=[FINALIZER, "example.com/theirs"]),
    ],
    ids=["same", "status", "label", "note", "token", "now", "detach", "finalizer"],
)
def test_r6_1_no_pass_for(new):
    assert not needs_reconcile(Updated(old=entry(), new=new))
    assert not needs_reconcile(Updated(old=new, new=entry()))


@pytest.mark.parametrize(
    "new",
    [
        entry(generation=2),
        entry(uid="2"),
        with_notes(**{RECONCILE_POLICY: "skip"}),
        with_notes(**{CREDENTIAL_FROM: "mine"}),
        with_notes(**{"asoreconcile/rotate-secrets": "2026-01-01"}),
        with_notes(**{"asoreconcile/sync-mode": "compare"}),
        with_notes(**{"asoreconcile/paused": "true"}),
        with_notes(**{"asoreconcile/maintenance-windows": "0 2 * * sat 4h"}),
        with_notes(**{"asoreconcile/sync-period": "5m"}),
        with_notes(**{"asoreconcile/reconcile-at": "1"}),
    ],
    ids=[
        *("spec", "successor", "skip", "credential", "rotate", "sync-mode"),
        *("paused", "windows", "period", "now"),
    ],
)
def test_r6_1_a_pass_for_either_way(new):
    assert needs_reconcile(Updated(old=entry(), new=new))
    assert needs_reconcile(Updated(old=new, new=entry()))


@pytest.mark.parametrize(
    "new",
    [entry(finalizers=[]), without(OPERATOR_NAMESPACE), without(RESOURCE_ID)],
    ids=["finalizer", "operator-namespace", "resource-id"],
)
def test_what_makes_it_ours_is_missed_when_taken_and_not_when_given(new):
    assert needs_reconcile(Updated(old=entry(), new=new))
    assert not needs_reconcile(Updated(old=new, new=entry()))


def test_an_object_that_another_operator_is_given_is_looked_at():
    given = with_notes(**{OPERATOR_NAMESPACE: "another"})
    assert needs_reconcile(Updated(old=entry(), new=given))
    assert needs_reconcile(Updated(old=given, new=entry()))


def test_a_deletion_that_is_stuck_looks_at_each_policy():
    leaving = entry(deletionTimestamp="now")
    detached = {**OURS, RECONCILE_POLICY: "detach-on-delete"}
    freed = entry(deletionTimestamp="now", annotations=detached)
    assert needs_reconcile(Updated(old=leaving, new=freed))


def test_ow4_lifting_the_protection_matters_to_a_deletion_only():
    leaving = {"deletionTimestamp": "now"}
    on = {**OURS, DELETION_PROTECTION: "true"}
    held = entry(**leaving, annotations=on)
    assert needs_reconcile(Updated(old=held, new=entry(**leaving)))
    assert not needs_reconcile(Updated(old=entry(annotations=on), new=entry()))


def test_letting_go_of_a_deleted_object_is_no_loss():
    leaving = entry(deletionTimestamp="now")
    remove_finalizer = entry(deletionTimestamp="now", finalizers=["example.com/theirs"])
    assert not needs_reconcile(Updated(old=leaving, new=remove_finalizer))


def test_beginning_and_end_are_reasons():
    assert needs_reconcile(Added(entry=entry(), initial=False))
    assert needs_reconcile(Deleted(entry=entry()))


def running(version, informer):
    return RunningKind(version, informer, None, SingleVersionCodec(version), None, None)


class Filling:
    """A cache that is not full yet, or is and holds nothing."""

    def __init__(self, *, full):
        self._full = full

    def has_synced(self):
        return self._full

    def get(self, _key):
        return None


def test_d13_what_is_not_listed_yet_is_not_taken_for_what_does_not_exist():
    """Else a child fails, or waits a second, for an owner that is there."""
    version = (
        builtin().kind(GroupKind("resources.azure.com", "ResourceGroup")).version()
    )
    for full in (False, True):
        kinds = KindRegistry()
        kinds.add(running(version, Filling(full=full)))
        if full:
            assert kinds.get(version.group_kind, RG) is None
            continue
        with pytest.raises(RetryError):
            kinds.get(version.group_kind, RG)


def test_d13_a_wake_up_is_left_to_the_pass_under_way():
    """Which may have read the change; a kind that does not run is not woken."""
    networks = GroupKind("network.azure.com", "VirtualNetwork")
    woken, kinds = [], KindRegistry()
    in_flight_reads = InFlightReads(woken.append)
    version = builtin().kind(networks).version()
    kinds.add(attrs.evolve(running(version, None), in_flight_reads=in_flight_reads))
    group = ObjectReference(GroupKind("resources.azure.com", "ResourceGroup"), RG)
    network = ObjectReference(networks, ObjectKey("ns", "vnet"))
    kinds.wake(
        ObjectReference(GroupKind("network.azure.com", "Subnet"), network.key),
        group,
        "7",
    )
    assert woken == []
    with in_flight_reads.during(network.key) as glances:
        glances.note(group, {"metadata": {"resourceVersion": "7"}})
        kinds.wake(network, group, "7")
    assert woken == []
    with in_flight_reads.during(network.key):
        kinds.wake(network, group, "7", waits=lambda: False)
    assert woken == []
    kinds.wake(network, group, "7")
    assert woken == [network.key]


class Reached:
    """A cache that is the state of a version."""

    def __init__(self, version):
        self.synced_version = version


def test_each_kind_has_seen_what_its_own_cache_has_reached():
    kinds = KindRegistry()
    names = ("ResourceGroup", "VirtualNetwork")
    for name, reached in zip(names, ("20", "7"), strict=True):
        group = "resources" if name == "ResourceGroup" else "network"
        version = builtin().kind(GroupKind(f"{group}.azure.com", name)).version()
        kinds.add(running(version, Reached(reached)))
    assert kinds.seen(GroupKind("resources.azure.com", "ResourceGroup")) == "20"
    assert kinds.seen(GroupKind("network.azure.com", "VirtualNetwork")) == "7"
    assert kinds.seen(GroupKind("network.azure.com", "Subnet")) == ""


def test_no_id_is_taken_for_free_before_its_kind_is_listed():
    """After a restart the older one of two may be listed last."""
    version = (
        builtin().kind(GroupKind("resources.azure.com", "ResourceGroup")).version()
    )
    kinds = KindRegistry()
    kinds.add(running(version, Filling(full=False)))
    with pytest.raises(RetryError):
        [*kinds.objects_with_arm_id("/subscriptions/s/resourceGroups/rg")]
    network = "/subscriptions/s/resourceGroups/rg/providers/M.N/virtualNetworks/v"
    assert [*kinds.objects_with_arm_id(network)] == []


class Indexed:
    """A full cache of one object, whose indexes all name the object."""

    def __init__(self, only):
        self._only = only

    def has_synced(self):
        return True

    def by_index(self, _index, _value):
        return [self._only.key]

    def entry(self, _key):
        return self._only


def test_an_object_that_cannot_be_converted_keeps_what_it_has_claimed():
    """Otherwise another object would take its resource over."""
    kind = builtin().kind(GroupKind("network.azure.com", "VirtualNetwork"))
    version = kept_stored(kind)
    arm_id = f"/subscriptions/s/resourceGroups/g/providers/{version.arm_type}/v"
    only = with_notes(**{RESOURCE_ID: arm_id})
    stored = {**only.deep_copy(), "apiVersion": "network.azure.com/v20990101"}
    form, informer = storage_codec_of(version, kind), Indexed(Entry(stored))
    with pytest.raises(KindConversionError):
        form.read(stored)
    kinds = KindRegistry()
    kinds.add(RunningKind(version, informer, None, form, None, None))
    assert [*kinds.objects_with_arm_id(arm_id)] == [(version, stored)]
