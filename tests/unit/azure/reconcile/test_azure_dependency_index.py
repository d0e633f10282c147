"""Who names what: the index behind wake-ups."""

from asoreconcile.azure.controllers.catalogue import builtin
from asoreconcile.azure.reconcile.model.object_reference import (
    CONFIG_MAP,
    SECRET,
    ObjectReference,
)
from asoreconcile.azure.reconcile.state.dependency_index import (
    DependencyIndex,
    Relation,
    targets_of,
)
from asoreconcile.base.objects import GroupKind, GroupVersionKind, ObjectKey

VIRTUAL_MACHINE = builtin().kind(GroupKind("compute.azure.com", "VirtualMachine"))
IDENTITY = builtin().kind(
    GroupKind("managedidentity.azure.com", "UserAssignedIdentity")
)


def node(kind, name):
    return ObjectReference(GroupKind("g", kind), ObjectKey("n", name))


def test_edges_are_read_from_both_ends():
    index = DependencyIndex()
    index.update(node("A", "a"), {node("B", "b"): Relation.OWNER})
    index.update(node("A", "c"), {node("B", "b"): Relation.INPUT})
    assert sorted(d.key.name for d, _ in index.of(node("B", "b"))) == ["a", "c"]


def test_update_replaces_what_an_object_named_before():
    index = DependencyIndex()
    index.update(node("A", "a"), {node("B", "b"): Relation.OWNER})
    index.update(node("A", "a"), {node("C", "c"): Relation.INPUT})
    assert index.of(node("B", "b")) == []
    assert index.of(node("C", "c")) == [(node("A", "a"), Relation.INPUT)]


def test_gone_object_leaves_nothing_behind():
    index = DependencyIndex()
    index.update(node("A", "a"), {node("B", "b"): Relation.OWNER})
    index.update(node("A", "a"), {})
    assert index.of(node("B", "b")) == []
    assert index._targets == {}
    assert index._dependents == {}


def test_what_many_name_is_kept_once():
    index = DependencyIndex()
    for name in "acd":
        index.update(node("A", name), {node("B", "b"): Relation.OWNER})
    kept = [index.targets(node("A", name)) for name in "acd"]
    assert all(one == [node("B", "b")] and one[0] is kept[0][0] for one in kept)
    # The first that named it goes; the others' stays.
    index.update(node("A", "a"), {})
    assert index.targets(node("A", "c")) == [node("B", "b")]
    assert sorted(d.key.name for d, _ in index.of(node("B", "b"))) == ["c", "d"]


def test_a_kind_that_runs_no_more_leaves_nothing_behind():
    """What others depend on stays, though it is of that kind."""
    index = DependencyIndex()
    index.update(node("A", "a"), {node("B", "b"): Relation.OWNER})
    index.update(node("A", "c"), {node("B", "b"): Relation.INPUT})
    index.update(node("B", "b"), {node("A", "a"): Relation.INPUT})
    index.forget_kind(GroupKind("g", "A"))
    assert index.of(node("B", "b")) == []
    assert index.targets(node("A", "a")) == []
    assert index.of(node("A", "a")) == [(node("B", "b"), Relation.INPUT)]
    index.forget_kind(GroupKind("g", "B"))
    assert index._targets == {}
    assert index._dependents == {}


def test_targets_are_owner_references_and_secrets_of_the_own_namespace():
    obj = {
        "metadata": {"name": "vm", "namespace": "n"},
        "spec": {
            "owner": {"name": "rg"},
            "osProfile": {"adminPassword": {"name": "pw", "key": "k"}},
            "networkProfile": {
                "networkInterfaces": [
                    {
                        "reference": {
                            "group": "network.azure.com",
                            "kind": "NetworkInterface",
                            "name": "nic",
                        }
                    },
                    {"reference": {"armId": "/subscriptions/s/resourceGroups/g"}},
                ]
            },
        },
    }
    assert targets_of(VIRTUAL_MACHINE.version(), obj) == {
        ObjectReference(
            GroupKind("resources.azure.com", "ResourceGroup"), ObjectKey("n", "rg")
        ): Relation.OWNER,
        ObjectReference(SECRET, ObjectKey("n", "pw")): Relation.INPUT,
        ObjectReference(
            GroupKind("network.azure.com", "NetworkInterface"), ObjectKey("n", "nic")
        ): Relation.INPUT,
    }


def test_exports_are_targets_too():
    version = IDENTITY.version()
    obj = {
        "metadata": {"name": "i", "namespace": "n"},
        "spec": {
            "owner": {"armId": "/subscriptions/s/resourceGroups/g"},
            "operatorSpec": {
                "configMaps": {"clientId": {"name": "out", "key": "id"}},
                "secrets": {"tenantId": {"name": "hidden", "key": "t"}},
            },
        },
    }
    assert targets_of(version, obj) == {
        ObjectReference(CONFIG_MAP, ObjectKey("n", "out")): Relation.EXPORT,
        ObjectReference(SECRET, ObjectKey("n", "hidden")): Relation.EXPORT,
    }
    assert GroupVersionKind("", "v1", "Secret").group_kind == SECRET


def test_exports_that_feed_each_other_are_a_loop():
    index = DependencyIndex()
    exports, reads = Relation.EXPORT, Relation.INPUT
    index.update(node("A", "a"), {node("M", "x"): exports, node("M", "z"): reads})
    index.update(node("A", "b"), {node("M", "x"): reads, node("M", "y"): exports})
    index.update(node("A", "c"), {node("M", "y"): reads})
    assert index.export_loop(node("A", "a")) == []
    index.update(node("A", "c"), {node("M", "y"): reads, node("M", "z"): exports})
    names = [one.key.name for one in index.export_loop(node("A", "a"))]
    assert names == ["a", "x", "b", "y", "c", "z", "a"]
    # An object that only reads from the loop is no part of it.
    index.update(node("A", "d"), {node("M", "x"): reads})
    assert index.export_loop(node("A", "d")) == []
    assert index.export_loop(node("A", "nobody")) == []


def test_ow5_dependence_goes_through_owners_references_and_exports():
    index = DependencyIndex()
    index.update(node("A", "a"), {node("A", "b"): Relation.INPUT})
    index.update(node("A", "b"), {node("A", "c"): Relation.OWNER})
    index.update(node("A", "c"), {node("M", "x"): Relation.INPUT})
    assert not index.leads_to(node("A", "a"), node("A", "d"))
    index.update(node("A", "d"), {node("M", "x"): Relation.EXPORT})
    assert index.leads_to(node("A", "a"), node("A", "d"))
    # What an object exports to does not hold the object back.
    assert not index.leads_to(node("A", "d"), node("M", "x"))
