"""The documents' promises to a user whose resource does not become Ready.

One manager process serves all tests of this file; each has resources of its own.
"""

import json
import re
from datetime import UTC, datetime, timedelta

import pytest
from operation import Operation
from world import postgres_server, resource_group, role_assignment, virtual_network

from asoreconcile.azure.reconcile.model.annotations import (
    FINALIZER,
    OPERATOR_NAMESPACE,
    RESOURCE_ID,
)
from asoreconcile.azure.reconcile.model.conditions import find_ready
from asoreconcile.base.objects import annotations, finalizers, generation

NAMESPACE = "azureserviceoperator-system"
STAMP = "%Y-%m-%dT%H:%M:%SZ"
LONG = {
    "error": {
        "code": "InvalidTemplateDeployment",
        "message": "Validation failed.",
        "details": [{"code": f"Rule{n}", "message": "x" * 100} for n in range(100)],
    }
}


def cluster(name):
    return {
        "apiVersion": "containerservice.azure.com/v1api20250801",
        "kind": "ManagedCluster",
        "metadata": {"name": name},
        "spec": {"location": "westeurope", "owner": {"name": "rg"}},
    }


@pytest.fixture(scope="module")
def operation(tmp_path_factory):
    with Operation(tmp_path_factory.mktemp("diagnosing")) as running:
        group = resource_group()
        kinds = (virtual_network(), postgres_server(), cluster("any"))
        running.install(group, *kinds, role_assignment("Reader"))
        running.answer_at_once(
            "Network/virtualNetworks",
            "DBforPostgreSQL/flexibleServers",
            "ContainerService/managedClusters",
        )
        running.start_manager(AZURE_SYNC_PERIOD="never")
        running.apply(group)
        running.wait_ready(group)
        yield running


def network(operation, name, owner="rg"):
    obj = virtual_network(name, owner)
    operation.apply(obj)
    return obj


def id_of(operation, name):
    return (
        f"/subscriptions/{operation.azure.subscription_id}/resourceGroups/rg"
        f"/providers/Microsoft.Network/virtualNetworks/{name}"
    )


def refuse(operation, method, name, status=400, code="Refused", **more):
    path = f"virtualNetworks/{name}$"
    operation.azure.faults.answer(method, path, status, code=code, **more)


def test_a_rejection_by_azure_is_in_ready_word_for_word(operation):
    words = "Address prefix '10.0.0.0/33' of 'vnet' is \u201cinvalid\u201d."
    refuse(operation, "PUT", "rejected", code="InvalidPrefix", message=words)
    obj = network(operation, "rejected")
    condition = operation.wait_condition(obj, "InvalidPrefix")
    time = condition.pop("lastTransitionTime")
    assert condition == {
        "type": "Ready",
        "status": "False",
        "severity": "Warning",
        "reason": "InvalidPrefix",
        "message": words,
        "observedGeneration": 1,
    }
    assert datetime.strptime(time, STAMP)  # noqa: DTZ007 - the form is the claim


def test_success_notes_whose_object_it_is_and_which_resource(operation):
    obj = network(operation, "noted")
    notes = annotations(operation.wait_ready(obj))
    assert notes[OPERATOR_NAMESPACE] == NAMESPACE
    assert notes[RESOURCE_ID] == id_of(operation, "noted")


def test_errors_are_logged_in_full(operation):
    refuse(operation, "PUT", "logged", code="", body=LONG)
    obj = network(operation, "logged")
    operation.wait_condition(obj, "InvalidTemplateDeployment")
    (record,) = [
        r
        for r in operation.log_records("Error during CreateOrUpdate")
        if r["name"] == "logged"
    ]
    request, response, code, body = record["armError"].split("\n", 3)
    assert request == f"PUT {operation.azure.url}{id_of(operation, 'logged')}"
    assert response == "RESPONSE 400: 400 Bad Request"
    assert code == "ERROR CODE: InvalidTemplateDeployment"
    assert json.loads(body) == LONG
    assert len(body) > 8192
    assert (record["namespace"], record["azureName"]) == ("default", "logged")
    assert record["action"] == "CreateOrUpdate"


def test_a_refused_deletion_is_logged_kept_and_tried_again(operation):
    obj = network(operation, "kept")
    operation.wait_ready(obj)
    # Fatal for a PUT; nobody could ever edit a deleted object into order.
    refuse(operation, "DELETE", "kept", code="LocationRequired")
    operation.delete(obj)
    condition = operation.wait_condition(obj, "LocationRequired")
    assert condition["severity"] == "Warning"
    assert FINALIZER in finalizers(operation.read(obj))
    operation.wait_gone(obj)
    assert len(operation.requests("DELETE", "virtualNetworks/kept")) == 2
    logged = operation.log_records("Error during Delete")
    assert [r["name"] for r in logged] == ["kept"]


def test_a_failure_heals_by_itself_when_its_cause_goes(operation):
    refuse(operation, "PUT", "heals", 409, code="ResourceQuotaExceeded", times=2)
    obj = network(operation, "heals")
    operation.wait_condition(obj, "ResourceQuotaExceeded")
    assert generation(operation.wait_ready(obj)) == 1
    assert len(operation.requests("PUT", "virtualNetworks/heals")) == 3


def test_conditions_and_log_say_when_in_utc(operation):
    obj = network(operation, "timed")
    condition = find_ready(operation.wait_ready(obj)["status"]["conditions"])
    logged = operation.log_records("Putting resource")[-1]["time"]
    now = datetime.now(UTC)
    for text in (condition["lastTransitionTime"], logged):
        assert text.endswith(("Z", "+00:00"))
        assert abs(datetime.fromisoformat(text) - now) < timedelta(minutes=2)


def test_the_full_id_is_noted_though_the_resource_fails(operation):
    refuse(operation, "PUT", "failing", 403, code="RequestDisallowedByPolicy")
    obj = network(operation, "failing")
    operation.wait_condition(obj, "RequestDisallowedByPolicy")
    notes = annotations(operation.read(obj))
    assert notes[RESOURCE_ID] == id_of(operation, "failing")


def test_azure_is_asked_by_plain_rest_of_its_resource_manager(operation):
    obj = network(operation, "plain")
    operation.wait_ready(obj)
    for request in list(operation.azure.journal):
        assert request.path.startswith(("/subscriptions/", "/providers/"))
        assert re.fullmatch(r"\d{4}-\d\d-\d\d(-preview)?", request.api_version)


def test_nothing_is_created_while_the_owner_is_missing(operation):
    child = network(operation, "orphan", owner="later")
    operation.wait_condition(child, "WaitingForOwner")
    assert operation.requests("PUT", "orphan") == []
    operation.apply(resource_group("later"))
    operation.wait_ready(child)


def test_nothing_is_created_while_a_secret_is_missing(operation):
    obj = postgres_server("locked")
    operation.apply(obj)
    assert "'db-admin'" in operation.wait_condition(obj, "SecretNotFound")["message"]
    assert operation.requests("PUT", "flexibleServers") == []
    operation.apply(
        {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": "db-admin"},
            "stringData": {"password": "Sesame-1"},
        }
    )
    operation.wait_ready(obj)


def test_nothing_is_created_while_a_config_map_is_missing(operation):
    principal = {"name": "identity", "key": "principalId"}
    obj = role_assignment("Reader", principalIdFromConfig=principal)
    operation.apply(obj)
    operation.wait_condition(obj, "ConfigMapNotFound")
    assert operation.requests("PUT", "roleAssignments") == []
    operation.apply(
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "identity"},
            "data": {"principalId": "11111111-2222-4333-8444-555555555555"},
        }
    )
    operation.wait_ready(obj)


def test_a_cluster_in_transition_is_left_in_peace(operation):
    seeded = {
        "location": "westeurope",
        "properties": {"provisioningState": "Upgrading"},
    }
    id_ = id_of(operation, "busy").replace(
        "Microsoft.Network/virtualNetworks",
        "Microsoft.ContainerService/managedClusters",
    )
    operation.azure.seed(id_, seeded)
    obj = cluster("busy")
    operation.apply(obj)
    condition = operation.wait_condition(obj, "ReconciliationBlocked")
    assert "Upgrading" in condition["message"]
    assert operation.requests("PUT", "managedClusters/busy") == []
    # Success is not required: a resource whose state is Failed or Canceled may be PUT,
    # too.
    seeded["properties"]["provisioningState"] = "Failed"
    operation.azure.seed(id_, seeded)
    operation.wait_ready(obj)


def test_whose_identity_is_used_can_be_seen(operation):
    obj = network(operation, "identified")
    event = operation.wait_event(obj, "CredentialFrom")
    assert event["type"] == "Normal"
    assert f"{NAMESPACE}/aso-controller-settings" in event["message"]
