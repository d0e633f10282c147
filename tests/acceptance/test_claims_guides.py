"""The guides' promises: diagnosing, throttling, the number of requests to Azure,
security.

One manager process serves all tests of this file; each has resources of its own.
"""

import pytest
from operation import Operation
from world import SYNC_SECONDS, World, postgres_server, resource_group, virtual_network

from asoreconcile.azure.reconcile.model.annotations import FINALIZER, RECONCILE_POLICY
from asoreconcile.base.objects import ObjectKey, finalizers
from asoreconcile.kube.resources import NAMESPACES, SECRETS


@pytest.fixture(scope="module")
def operation(tmp_path_factory):
    with Operation(tmp_path_factory.mktemp("guides"), lro=0.5) as running:
        group = resource_group()
        running.install(group, virtual_network(), postgres_server())
        running.start_manager(AZURE_SYNC_PERIOD="never")
        running.apply(group)
        running.wait_ready(group)
        yield running


def network(operation, name):
    obj = virtual_network(name)
    operation.apply(obj)
    return obj


def refuse(operation, method, name, status, **more):
    operation.azure.faults.answer(method, f"virtualNetworks/{name}$", status, **more)


def test_ready_appears_as_soon_as_work_begins(operation):
    """Before Azure is done: Reconciling, for information."""
    poll = operation.azure.faults.hold(method="GET", path="/operations/")
    obj = network(operation, "begun")
    condition = operation.wait_condition(obj, "Reconciling")
    assert (condition["status"], condition["severity"]) == ("False", "Info")
    poll.release()
    operation.wait_ready(obj)


def test_skip_frees_a_deletion_that_is_stuck(operation):
    obj = network(operation, "stuck")
    operation.wait_ready(obj)
    refuse(operation, "DELETE", "stuck", 409, code="ScopeLocked", times=999)
    operation.delete(obj)
    operation.wait_condition(obj, "ScopeLocked")
    assert finalizers(operation.read(obj)) == [FINALIZER]
    skip = {"metadata": {"annotations": {RECONCILE_POLICY: "skip"}}}
    operation.edit(obj, skip)
    operation.wait_gone(obj)


def test_throttling_shows_in_the_condition(operation):
    words = "Number of write requests for subscription exceeded the limit of '1200'."
    headers = {"Retry-After": "2"}
    code = "SubscriptionRequestsThrottled"
    refuse(
        *(operation, "PUT", "throttled", 429), code=code, message=words, headers=headers
    )
    obj = network(operation, "throttled")
    condition = operation.wait_condition(obj, code)
    assert condition["message"] == words
    operation.wait_ready(obj)
    first, second = operation.requests("PUT", "virtualNetworks/throttled")
    assert second.at - first.at >= 2.0


def test_a_secret_of_another_namespace_is_not_read(operation):
    """The namespace is the boundary, for owners and credentials too."""
    for kind, obj in (
        (NAMESPACES, {"metadata": {"name": "elsewhere"}}),
        (
            SECRETS,
            {
                "metadata": {"name": "db-admin", "namespace": "elsewhere"},
                "stringData": {"password": "Not-for-you-1"},
            },
        ),
    ):
        whole = {"apiVersion": "v1", "kind": kind.kind, **obj}
        operation.client.create(kind, whole)
    server = postgres_server("curious")
    operation.apply(server)
    condition = operation.wait_condition(server, "SecretNotFound")
    assert "in this namespace" in condition["message"]
    named = postgres_server("daring")
    named["spec"]["administratorLoginPassword"]["name"] = "elsewhere/db-admin"
    operation.apply(named)
    operation.wait_condition(named, "SecretNotFound")
    assert operation.requests("PUT", "flexibleServers") == []
    assert operation.client.get(SECRETS, ObjectKey("elsewhere", "db-admin"))


def test_a_kind_without_crd_is_not_run_and_others_are(operation):
    """Its CRD may come later: it is looked for all the time."""
    obj = network(operation, "alone")
    operation.wait_ready(obj)
    started = operation.log_records("Starting")[-1]
    assert started["kinds"] == 3


def test_skip_goes_on_reading(tmp_path):
    with World(tmp_path) as world:
        world.install("resources.azure.com/ResourceGroup")
        obj = resource_group()
        world.apply(obj)
        world.settle(obj)
        skip = {"metadata": {"annotations": {RECONCILE_POLICY: "skip"}}}
        world.client.patch(world.resource_for(obj), ObjectKey("default", "rg"), skip)
        (id_,) = world.azure.resources()
        world.azure.seed(id_, {"location": "westeurope", "tags": {"by": "hand"}})
        world.azure.journal.clear()
        assert world.run(obj).requeue_after_seconds == SYNC_SECONDS
        assert [request.method for request in world.azure.journal] == ["GET"]
        assert world.read(obj)["status"]["tags"] == {"by": "hand"}
