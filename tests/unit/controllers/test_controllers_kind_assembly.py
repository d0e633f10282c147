"""What is let go of when a kind runs no more."""

from types import SimpleNamespace

from asoreconcile.azure.dependents import Dependents
from asoreconcile.azure.nodes import Node
from asoreconcile.cache.entry import Entry
from asoreconcile.cache.events import Added
from asoreconcile.catalogue.authored import AsWritten
from asoreconcile.controllers.catalogue import builtin
from asoreconcile.controllers.kind_assembly import KindAssembly
from asoreconcile.controllers.kind_set import KindSet
from asoreconcile.controllers.wakeups import Wakeups
from asoreconcile.objects import GroupKind, GroupVersionKind, ObjectKey

GROUP = GroupKind("resources.azure.com", "ResourceGroup")
NETWORK = GroupVersionKind("network.azure.com", "v20250301", "VirtualNetwork")
CHILD = {
    "apiVersion": NETWORK.api_version,
    "kind": NETWORK.kind,
    "metadata": {"name": "vnet", "namespace": "ns", "uid": "2", "resourceVersion": "2"},
    "spec": {"owner": {"name": "rg"}},
}


def test_a_kind_that_runs_no_more_leaves_nothing_that_waits():
    dependents = Dependents()
    wakeups = Wakeups(KindSet(), dependents)
    version = builtin().version(NETWORK)
    wakeups.on_azure_object(AsWritten(version), Added(entry=Entry(CHILD)))
    owner = Node(GROUP, ObjectKey("ns", "rg"))
    assert len(dependents.of(owner)) == 1

    forgotten = []
    others = SimpleNamespace(discard=forgotten.append, forget=forgotten.append)
    assembly = KindAssembly(
        settings=None,
        clock=None,
        metrics=others,
        informers=others,
        operator=None,
        wakeups=wakeups,
        throttle=None,
        synced=others,
        webhooks=None,
        threads=None,
    )
    informer = object()
    assembly.forget(SimpleNamespace(version=version, informer=informer))
    assert dependents.of(owner) == []
    assert informer in forgotten
