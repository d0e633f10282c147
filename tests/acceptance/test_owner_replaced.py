"""The owner object of a running child is replaced by another of the same Azure id."""

import pytest
from operation import Operation
from world import resource_group, virtual_network

from asoreconcile.azure.reconcile.model.annotations import (
    ALLOW_OWNER_CHANGE,
    OWNER_UID,
    RECONCILE_POLICY,
)
from asoreconcile.base.objects import annotations, labels, owner_references, uid_of
from asoreconcile.kube.errors import InvalidError


def test_k1_a_child_outlives_the_object_of_its_owner(tmp_path):
    """The old owner object is deleted afterwards; neither resource is touched."""
    old, network = resource_group(), virtual_network()
    new = resource_group("other", azureName="rg")
    new["metadata"]["annotations"] = {RECONCILE_POLICY: "skip"}
    with Operation(tmp_path) as operation:
        operation.install(old, network)
        operation.start_manager()
        for obj in (old, network, new):
            operation.apply(obj)
            operation.wait_ready(obj)
        before = operation.azure.resources()
        operation.azure.journal.clear()
        network["spec"]["owner"]["name"] = "other"
        with pytest.raises(InvalidError, match=ALLOW_OWNER_CHANGE):
            operation.apply(network)
        annotate(operation, network, ALLOW_OWNER_CHANGE, "true")
        # The rule holds until the operator has taken the id from the status.
        operation.wait_for(network, lambda found: "id" not in found["status"])
        operation.apply(network)
        uid = uid_of(operation.read(new))
        named = operation.wait_for(
            network, lambda found: labels(found).get(OWNER_UID) == uid
        )
        assert [one["uid"] for one in owner_references(named)] == [uid]
        operation.wait_ready(network)
        assert ALLOW_OWNER_CHANGE not in annotations(operation.read(network))
        annotate(operation, old, RECONCILE_POLICY, "detach-on-delete")
        operation.delete(old)
        operation.wait_gone(old)
        annotate(operation, new, RECONCILE_POLICY, "manage")
        operation.wait_ready(new)
        # A collected child would not come to Ready at another generation.
        network["spec"]["tags"] = {"team": "red"}
        operation.apply(network)
        assert uid_of(operation.wait_ready(network)) == uid_of(named)
        assert operation.requests("DELETE") == []
        assert operation.azure.resources().keys() == before.keys()


def annotate(operation, obj, name, value):
    operation.edit(obj, {"metadata": {"annotations": {name: value}}})
