"""A Namespace that protects its objects, and a manager that cannot see it.

The policy is set while no manager runs, so that only the Namespace tells of it.
"""

import pytest
from operation import WAIT_SECONDS, Operation
from world import resource_group

from asoreconcile.azure.reconcile.model.annotations import (
    FINALIZER,
    RECONCILE_POLICY,
)
from asoreconcile.base.objects import ObjectKey, finalizers
from asoreconcile.kube.resources import NAMESPACES
from asoreconcile.testing.http import HttpResponse

LISTS = "/api/v1/namespaces$"
DEFAULT = "/api/v1/namespaces/default$"
ANY = "/api/v1/namespaces(/default)?$"
FOREVER = 100_000


@pytest.fixture
def operation(tmp_path):
    with Operation(tmp_path) as running:
        running.install(resource_group())
        yield running


@pytest.fixture
def group(operation):
    """A group that is Ready, of a manager that was killed."""
    obj = resource_group()
    operation.start_manager()
    operation.apply(obj)
    operation.wait_ready(obj)
    operation.kill_manager()
    return obj


def set_policy(operation, policy):
    body = {"metadata": {"annotations": {RECONCILE_POLICY: policy}}}
    operation.client.patch(NAMESPACES, ObjectKey("", "default"), body)


def refuse(operation, path, status):
    answer = HttpResponse(status, b"{}")
    operation.cluster.faults.respond("GET", path, answer, times=FOREVER)


@pytest.mark.parametrize("status", [503, 403])
def test_r1_18_no_delete_though_namespaces_cannot_be_listed(operation, group, status):
    set_policy(operation, "detach-on-delete")
    refuse(operation, LISTS, status)
    operation.delete(group)
    operation.start_manager()
    operation.wait_gone(group)
    assert operation.requests("DELETE") == []
    assert len(operation.azure.resources()) == 1


@pytest.mark.parametrize("status", [503, 403])
def test_r1_18_no_put_though_namespaces_cannot_be_listed(operation, group, status):
    set_policy(operation, "skip")
    refuse(operation, LISTS, status)
    operation.apply(resource_group(tags={"a": "b"}))
    before = len(operation.requests("PUT"))
    operation.start_manager()
    operation.wait_ready(group)  # as it is in Azure
    assert len(operation.requests("PUT")) == before


@pytest.mark.parametrize("status", [503, 403])
def test_r1_18_a_deletion_waits_for_a_namespace_that_cannot_be_read(
    operation, group, status
):
    set_policy(operation, "detach-on-delete")
    refuse(operation, ANY, status)
    operation.delete(group)
    operation.start_manager()
    operation.wait_condition(group, "NamespaceUnreadable")
    assert operation.requests("DELETE") == []
    operation.cluster.faults.clear()
    operation.wait_gone(group)
    assert operation.requests("DELETE") == []


@pytest.mark.parametrize("is_deletion", [False, True], ids=["put", "delete"])
def test_r1_18_killed_between_the_look_and_the_write_it_looks_again(
    operation, group, is_deletion
):
    """The look allows the write, the process dies, and the Namespace forbids it then."""
    before = len(operation.requests("PUT"))
    look = operation.cluster.faults.hold(method="GET", path=DEFAULT, phase="after")
    operation.start_manager()
    if is_deletion:
        operation.delete(group)
    else:
        operation.apply(resource_group(tags={"a": "b"}))
    assert look.wait_arrived(WAIT_SECONDS)
    operation.kill_manager()
    look.drop()
    set_policy(operation, "detach-on-delete" if is_deletion else "skip")
    operation.start_manager()
    if is_deletion:
        operation.wait_gone(group)
    else:
        operation.wait_ready(group)
        assert FINALIZER in finalizers(operation.read(group))
    assert operation.requests("DELETE") == []
    assert len(operation.requests("PUT")) == before
