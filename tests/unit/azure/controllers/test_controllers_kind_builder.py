"""What is let go of when a kind runs no more."""

from types import SimpleNamespace

from asoreconcile.azure.catalogue.storage_codec import SingleVersionCodec
from asoreconcile.azure.controllers.catalogue import builtin
from asoreconcile.azure.controllers.event_mapping import EventMapping
from asoreconcile.azure.controllers.kind_builder import KindBuilder
from asoreconcile.azure.controllers.kind_registry import KindRegistry
from asoreconcile.azure.reconcile.model.object_reference import ObjectReference
from asoreconcile.azure.reconcile.state.dependency_index import DependencyIndex
from asoreconcile.azure.reconcile.state.waiting import Waiting
from asoreconcile.base.objects import GroupKind, GroupVersionKind, ObjectKey
from asoreconcile.cache.entry import Entry
from asoreconcile.cache.events import Added
from asoreconcile.testing.clock import FakeClock

GROUP = GroupKind("resources.azure.com", "ResourceGroup")
NETWORK = GroupVersionKind("network.azure.com", "v20250301", "VirtualNetwork")
CHILD = {
    "apiVersion": NETWORK.api_version,
    "kind": NETWORK.kind,
    "metadata": {"name": "vnet", "namespace": "ns", "uid": "2", "resourceVersion": "2"},
    "spec": {"owner": {"name": "rg"}},
}


def builder_of(app, wakeups):
    return KindBuilder(
        app=app,
        settings=SimpleNamespace(max_concurrent_reconciles=1),
        throttle=None,
        catalogue=builtin(),
        operator=None,
        wakeups=wakeups,
        webhooks=None,
        vanished=None,
    )


def test_a_kind_that_runs_no_more_leaves_nothing_that_waits():
    dependents = DependencyIndex()
    wakeups = EventMapping(KindRegistry(), dependents, Waiting())
    version = builtin().version(NETWORK)
    wakeups.on_azure_object(SingleVersionCodec(version), Added(entry=Entry(CHILD)))
    owner = ObjectReference(GROUP, ObjectKey("ns", "rg"))
    assert len(dependents.of(owner)) == 1

    forgotten = []
    app = SimpleNamespace(
        release=forgotten.append, metrics=SimpleNamespace(forget=forgotten.append)
    )
    builder = builder_of(app, wakeups)
    informer = object()
    builder.forget(SimpleNamespace(version=version, informer=informer))
    assert dependents.of(owner) == []
    assert informer in forgotten


def test_ct7_a_standby_wakes_no_object():
    woken = []
    controller = SimpleNamespace(
        has_synced=False, enqueue=woken.append, watch=lambda _: None
    )
    ignored = SimpleNamespace(
        add_index=lambda *_: None, add_handler=lambda *_, **__: None
    )
    app = SimpleNamespace(
        informer=lambda _: ignored,
        controller=lambda *_, **__: controller,
        clock=FakeClock(),
    )
    builder = builder_of(
        app, EventMapping(KindRegistry(), DependencyIndex(), Waiting())
    )
    kind = builder.build(builtin().version(NETWORK))
    for controller.has_synced in (False, True):
        key = ObjectKey("ns", f"vnet-{controller.has_synced}")
        owner = ObjectReference(GROUP, ObjectKey("ns", "rg"))
        kind.in_flight_reads.changed(key, owner, "2")
    assert [key.name for key in woken] == ["vnet-True"]
