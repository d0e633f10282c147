"""The owner object of a running child is replaced by another of the same Azure id."""

import pytest
from operation import Operation
from world import resource_group, virtual_network

from asoreconcile.azure.reconcile.model.annotations import (
    ALLOW_OWNER_CHANGE,
    OWNER_UID,
    RECONCILE_POLICY,
)
from asoreconcile.azure.reconcile.model.conditions import ready_of
from asoreconcile.azure.reconcile.policies.hand_over import HANDING_OVER
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
        # The former owner stays named next to the new one until that one manages.
        both = {uid, uid_of(operation.read(old))}
        named = operation.wait_for(network, lambda found: owners(found) == both)
        operation.wait_for(
            network, lambda found: ALLOW_OWNER_CHANGE not in annotations(found)
        )
        operation.delete(old)
        operation.wait_for(old, lambda found: ready_of(found)["reason"] == HANDING_OVER)
        annotate(operation, new, RECONCILE_POLICY, "manage")
        operation.wait_gone(old)
        operation.wait_ready(new)
        # A collected child would not come to Ready at another generation.
        network["spec"]["tags"] = {"team": "red"}
        operation.apply(network)
        assert uid_of(operation.wait_ready(network)) == uid_of(named)
        operation.wait_for(network, lambda found: owners(found) == {uid})
        assert labels(operation.read(network))[OWNER_UID] == uid
        assert operation.requests("DELETE") == []
        assert operation.azure.resources().keys() == before.keys()


def owners(obj):
    return {one["uid"] for one in owner_references(obj)}


def annotate(operation, obj, name, value):
    operation.edit(obj, {"metadata": {"annotations": {name: value}}})
