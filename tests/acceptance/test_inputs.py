"""Secrets that change, and certificates of a cloud of one's own."""

import pytest
from operation import Operation
from world import postgres_server, resource_group

from asoreconcile.azure.reconcile.model.annotations import (
    POLLER_TOKEN,
    RECONCILE_POLICY,
)
from asoreconcile.azure.reconcile.model.conditions import find_ready
from asoreconcile.azure.reconcile.model.drift_baseline import OBSERVED, loads
from asoreconcile.base.objects import ObjectKey, annotations
from asoreconcile.kube.resources import NAMESPACES, SECRETS


@pytest.fixture
def operation(tmp_path):
    with Operation(tmp_path) as running:
        yield running


def secret(value):
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "db-admin"},
        "stringData": {"password": value},
    }


def instruct(operation, obj, policy):
    operation.edit(obj, {"metadata": {"annotations": {RECONCILE_POLICY: policy}}})


def is_recorded(obj):
    """Return whether the record of an accepted PUT counts."""
    record = loads(annotations(obj).get(OBSERVED) or "")
    return record is not None and bool(record.put)


def is_at_rest(obj):
    """Return whether the object is Ready, and no operation of it runs."""
    ready = find_ready(obj["status"]["conditions"])
    return ready["status"] == "True" and POLLER_TOKEN not in annotations(obj)


def test_a_rotated_secret_reaches_azure_at_once(operation):
    group, database = resource_group(), postgres_server()
    operation.install(group, database)
    operation.start_manager(AZURE_SYNC_PERIOD="never")
    operation.apply(group)
    operation.apply(database)
    operation.wait_condition(database, "SecretNotFound")
    operation.apply(secret("Sesame-1"))
    operation.wait_ready(database)
    rotated = operation.azure.faults.hold(
        method="PUT", path="flexibleServers/pg-db$", phase="after"
    )
    operation.client.patch(
        SECRETS,
        ObjectKey("default", "db-admin"),
        {"stringData": {"password": "Sesame-2"}},
    )
    assert rotated.wait_arrived(30.0)
    rotated.release()
    # While the policy is skip others may change values that Azure does not show.
    operation.wait_for(database, lambda obj: is_recorded(obj) and is_at_rest(obj))
    instruct(operation, database, "skip")
    operation.wait_for(database, lambda obj: not is_recorded(obj))
    managed = operation.azure.faults.hold(
        method="PUT", path="flexibleServers/pg-db$", phase="after"
    )
    instruct(operation, database, "manage")
    assert managed.wait_arrived(30.0)
    managed.release()
    operation.manager.end()
    operation.manager = None
    sent = [
        r.body["properties"]["administratorLoginPassword"]
        for r in operation.requests("PUT", "flexibleServers")
    ]
    assert sent == ["Sesame-1", "Sesame-2", "Sesame-2"]


def test_other_namespaces_are_none_of_its_business(operation, eventually):
    """Not even looked at: a role for the namespaces named is enough."""
    theirs, ours = resource_group("theirs"), resource_group("ours")
    operation.install(theirs)
    operation.client.create(NAMESPACES, {"metadata": {"name": "team"}})
    theirs["metadata"]["namespace"] = "team"
    operation.apply(theirs)
    operation.apply(ours)
    operation.start_manager(AZURE_TARGET_NAMESPACES="default,")
    operation.wait_ready(ours)
    assert operation.requests("PUT", "theirs") == []
    expected = {
        "/api/v1/namespaces/default/secrets",
        "/apis/resources.azure.com/v1api20200601/namespaces/default/resourcegroups",
    }
    # A group may be Ready before the Secrets are watched.
    eventually(lambda: read_by_operator(operation) >= expected)
    assert read_by_operator(operation) == expected


def read_by_operator(operation):
    """Return the paths at which the operator reads all Secrets and all groups."""
    return {
        request.path
        for request in operation.cluster.journal
        if request.user_agent.startswith("asoreconcile")
        and request.method == "GET"  # the operator creates a Secret of its own
        and request.path.rpartition("/")[2] in {"secrets", "resourcegroups"}
    }


@pytest.mark.parametrize("variable", ["REQUESTS_CA_BUNDLE", "SSL_CERT_FILE"])
def test_azure_s_authority_is_trusted_by_either_variable(operation, variable):
    """And the connection to the cluster has its own authority all the while."""
    group = resource_group()
    operation.install(group)
    variables = {"REQUESTS_CA_BUNDLE": "", "SSL_CERT_FILE": "", "CURL_CA_BUNDLE": ""}
    variables[variable] = str(operation.folder / "azure-ca.pem")
    operation.start_manager(**variables)
    operation.apply(group)
    operation.wait_ready(group)


def test_an_untrusted_azure_is_said_and_nothing_is_sent(operation):
    group = resource_group()
    operation.install(group)
    untrusting = {"REQUESTS_CA_BUNDLE": "", "SSL_CERT_FILE": "", "CURL_CA_BUNDLE": ""}
    operation.start_manager(**untrusting)
    operation.apply(group)
    found = operation.wait_for(
        group,
        lambda o: bool(find_ready(((o or {}).get("status") or {}).get("conditions"))),
    )
    ready = find_ready(found["status"]["conditions"])
    assert ready["status"] == "False"
    assert "certificate" in ready["message"].lower()
    assert operation.azure.journal == []
