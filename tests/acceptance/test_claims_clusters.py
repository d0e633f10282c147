"""The documents' promises about several clusters, or operators, that share one
Azure.
"""

import pytest
from operation import Operation
from world import resource_group, virtual_network

from asoreconcile.azure.reconcile.model.annotations import FINALIZER, RECONCILE_POLICY
from asoreconcile.base.objects import annotations, finalizers

SKIP = {RECONCILE_POLICY: "skip"}
OBJECTS = (resource_group, virtual_network)


@pytest.fixture(scope="module")
def clusters(tmp_path_factory):
    """Two clusters, each with its operator, and one Azure."""
    first = Operation(tmp_path_factory.mktemp("first"))
    second = Operation(tmp_path_factory.mktemp("second"), neighbour=first)
    with first, second:
        first.answer_at_once("Network/virtualNetworks")
        for name, one in (("first", first), ("second", second)):
            one.install(*(make() for make in OBJECTS))
            one.start_manager(
                AZURE_SYNC_PERIOD="never", AZURE_USER_AGENT_SUFFIX=f"cluster-{name}"
            )
        yield first, second


def skipped(obj):
    obj["metadata"]["annotations"] = dict(SKIP)
    return obj


def ready(operation, *objs):
    for obj in objs:
        operation.apply(obj)
    for obj in objs:
        operation.wait_ready(obj)


def writers(clusters, name):
    """Return the writers of a resource, in order."""
    return [
        request.headers["user-agent"].rpartition("cluster-")[2]
        for request in list(clusters[0].azure.journal)
        if request.method in {"PUT", "DELETE"} and request.path.endswith(f"/{name}")
    ]


def set_policy(operation, obj, policy):
    operation.edit(obj, {"metadata": {"annotations": {RECONCILE_POLICY: policy}}})


def test_a_passive_cluster_watches_and_takes_over_when_skip_goes(clusters):
    active, passive = clusters
    group, network = resource_group("pair"), virtual_network("pair-net", "pair")
    ready(active, group, network)
    twins = [skipped(resource_group("pair")), skipped(virtual_network("pair-net"))]
    twins[1]["spec"]["owner"]["name"] = "pair"
    ready(passive, *twins)
    for name in ("pair", "pair-net"):
        assert set(writers(clusters, name)) == {"first"}
    assert passive.read(twins[1])["status"]["id"].endswith("/pair-net")
    # The active cluster is lost; removing skip activates the other one.
    active.kill_manager()
    try:
        written = len(writers(clusters, "pair-net"))
        set_policy(passive, twins[1], None)
        changed = virtual_network("pair-net", "pair", tags={"by": "second"})
        passive.apply(changed)
        passive.wait_ready(changed)
        assert set(writers(clusters, "pair-net")[written:]) == {"second"}
    finally:
        active.start_manager(
            AZURE_SYNC_PERIOD="never", AZURE_USER_AGENT_SUFFIX="cluster-first"
        )


def test_a_resource_moves_to_another_cluster_and_is_never_deleted(clusters):
    """Skip, apply elsewhere, delete the old object."""
    old, new = clusters
    group, network = resource_group("moves"), virtual_network("moves-net", "moves")
    ready(old, group, network)
    for obj in (network, group):
        set_policy(old, obj, "skip")
    ready(new, resource_group("moves"), virtual_network("moves-net", "moves"))
    for obj in (network, group):
        old.delete(obj)
        old.wait_gone(obj)
    present = [i for i in old.azure.resources() if i.endswith(("moves", "moves-net"))]
    assert len(present) == 2
    assert old.requests("DELETE", "moves") == []
    changed = virtual_network("moves-net", "moves", tags={"in": "its new home"})
    ready(new, changed)
    assert writers(clusters, "moves-net")[-1] == "second"


def test_an_object_of_another_operator_is_left_alone_with_one_event(clusters, tmp_path):
    """Two operators in one cluster: the mark on the object decides."""
    cluster, _ = clusters
    group = resource_group("theirs")
    note = {"serviceoperator.azure.com/operator-namespace": "elsewhere"}
    group["metadata"]["annotations"] = note
    cluster.apply(group)
    event = cluster.wait_event(group, "Overlap")
    assert event["type"] == "Warning"
    assert "elsewhere" in event["message"]
    assert "azureserviceoperator-system" in event["message"]
    # It cannot be told that nothing happens, but that another object is done meanwhile.
    ready(cluster, resource_group("ours"))
    left = cluster.read(group)
    assert annotations(left) == note
    assert FINALIZER not in finalizers(left)
    assert "status" not in left
    assert cluster.requests("PUT", "theirs") == []
    assert cluster.requests("GET", "theirs") == []
    cluster.delete(group)
    cluster.wait_gone(group)
    assert cluster.requests("DELETE", "theirs") == []
    events = [e for e in cluster.events() if e["involvedObject"]["name"] == "theirs"]
    assert [e["reason"] for e in events] == ["Overlap"]
