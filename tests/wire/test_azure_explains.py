"""What a person can read of a resource: its condition, its events, the log."""

import base64
import json
import logging

import pytest
from world import World, postgres_server, resource_group, virtual_network

from asoreconcile.azure.arm.correlation import correlated
from asoreconcile.azure.arm.errors import ArmError
from asoreconcile.azure.reconcile.model.annotations import POLLER_TOKEN, RESOURCE_ID
from asoreconcile.azure.reconcile.model.conditions import MAX_MESSAGE, find_ready
from asoreconcile.base.log import JsonFormatter
from asoreconcile.base.objects import annotations
from asoreconcile.base.reconcile_context import Context, running
from asoreconcile.kube.errors import ApiError
from asoreconcile.testing.http import HttpResponse

GROUPS = "resources.azure.com/ResourceGroup"
NETWORKS = "network.azure.com/VirtualNetwork"
SERVERS = "dbforpostgresql.azure.com/FlexibleServer"
PASSWORD = 'Sesame-"1"-9f8e7d'
ID = "0c7b3a52-6c35-4b4b-a8f3-3d5a0f5f1f11"


@pytest.fixture(scope="module")
def start(module_path):
    with World(module_path, lro=30.0, retry_after=10) as one:
        one.install(GROUPS, NETWORKS, SERVERS)
        one.settled(resource_group())
        yield one


@pytest.fixture
def network(world):
    obj = virtual_network()
    world.apply(obj)
    return obj


@pytest.fixture
def server(world):
    """A database whose password is in a Secret."""
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "db-admin"},
        "stringData": {"password": PASSWORD},
    }
    obj = postgres_server()
    world.apply(secret)
    world.apply(obj)
    return obj


@pytest.fixture
def log(caplog):
    """All records as the operator would write them."""
    caplog.set_level(logging.DEBUG, logger="asoreconcile")
    formatter = JsonFormatter()
    return lambda: [json.loads(formatter.format(r)) for r in caplog.records]


def refuse(world, message="No.", status=409, **more):
    world.azure.faults.answer(
        "PUT", "virtualNetworks", status, code="Conflict", message=message, **more
    )


def warnings(world):
    return [text for _, type_, _, text in world.events if type_ == "Warning"]


def test_a_message_is_bounded_in_the_condition_and_in_the_log(world, network, log):
    whole = "x" * (2 * MAX_MESSAGE)
    refuse(world, whole)
    world.run(network)
    shown = world.ready(network)["message"]
    assert 10_000 < len(shown) <= MAX_MESSAGE
    assert shown == "x" * (len(shown) - 3) + "..."
    (told,) = (line["armError"] for line in log() if "armError" in line)
    assert "x" * 1000 in told
    assert len(told) < 2 * MAX_MESSAGE


def test_a_bounded_message_is_the_same_message_next_time(world, network):
    refuse(world, "x" * (2 * MAX_MESSAGE), times=2)
    world.run(network)
    before = world.read(network)["status"]
    world.clock.advance(60.0)
    world.run(network)
    assert world.ready(network)["reason"] == "Conflict"
    assert world.read(network)["status"] == before
    first, again = warnings(world)
    assert first.endswith(")")  # the id of that request
    assert again.startswith("Conflict: xxx")
    assert not again.endswith(")")


def test_the_correlation_id_is_in_request_event_and_log(world, network, log):
    """The id of the pass is the one that Azure's support can look for."""
    refuse(world, headers={"x-ms-correlation-request-id": ID})
    with running(Context(world.clock, ID)):
        world.run(network)
    (put,) = world.requests("PUT", "virtualNetworks")
    assert put.headers["x-ms-correlation-request-id"] == ID
    assert warnings(world) == [f"Conflict: No. (correlation id {ID})"]
    (record,) = [r for r in log() if r["message"] == "Error during CreateOrUpdate"]
    assert record["correlationId"] == ID
    assert ID not in world.ready(network)["message"]


def test_a_lost_answer_has_its_correlation_id_too(world, network):
    world.azure.faults.drop("PUT", "virtualNetworks", phase="after")
    with running(Context(world.clock, ID)):
        world.run(network)
    (text,) = warnings(world)
    assert text.startswith("UnknownError: Azure did not answer")
    assert text.endswith(f"(correlation id {ID})")


def test_the_correlation_id_survives_a_long_message(world, network):
    refuse(world, "x" * 5000, headers={"x-ms-correlation-request-id": ID})
    world.run(network)
    (text,) = warnings(world)
    assert text.endswith(f"... (correlation id {ID})")
    assert len(text) <= 1024


def test_a_failed_operation_has_its_correlation_id_too(world, network):
    world.azure.faults.fail_operation("virtualNetworks", "AllocationFailed", "Full.")
    with correlated(ID):
        world.run(network)
        world.clock.advance(60.0)
        world.run(network)
    (text,) = warnings(world)
    assert text.startswith("AllocationFailed: Full. (correlation id ")


@pytest.mark.parametrize("messages", [("One.", "One."), ("One.", "Two.")])
def test_d1_the_time_of_ready_changes_with_its_status_alone(world, network, messages):
    times = []
    for message in messages:
        refuse(world, message)
        world.run(network)
        times.append(world.ready(network)["lastTransitionTime"])
        world.clock.advance(100.0)
    assert world.ready(network)["message"] == messages[1]
    assert times[0] == times[1]
    world.settle(network)
    assert world.ready(network)["lastTransitionTime"] > times[1]


def test_each_attempt_is_an_event_and_a_log_line(world, network, log):
    refuse(world, times=3)
    for _ in range(3):
        world.run(network)
        world.clock.advance(60.0)
    first, *again = warnings(world)
    assert first.startswith("Conflict: No. (correlation id ")
    assert again == ["Conflict: No."] * 2  # one event, counted
    lines = [line for line in log() if line["message"] == "Reconcile failed"]
    told = [(line["attempt"], line["failingSeconds"]) for line in lines]
    assert told == [(1, 0.0), (2, 60.0), (3, 120.0)]
    world.settle(network)
    refuse(world, times=1)
    world.apply(virtual_network(tags={"a": "b"}))
    world.run(network)
    assert [x["attempt"] for x in log() if x["message"] == "Reconcile failed"][-1] == 1


def test_a_child_that_waits_for_its_owner_has_no_warning(world):
    child = virtual_network("early", owner="late")
    world.apply(child)
    world.run(child)
    assert world.ready(child)["reason"] == "WaitingForOwner"
    world.clock.advance(30.0)
    owner = resource_group("late")
    world.apply(owner)
    world.azure.faults.answer("PUT", "resourcegroups/late", 409, code="Conflict")
    world.run(owner)
    world.run(child)
    assert world.ready(child)["reason"] == "WaitingForOwner"
    world.clock.advance(3600.0)
    world.run(child)
    named = [(name, type_) for name, type_, *_ in world.events]
    assert ("late", "Warning") in named
    assert ("early", "Warning") not in named


def test_an_owner_that_does_not_come_is_an_event_after_a_minute(world):
    child = virtual_network("early", owner="never")
    world.apply(child)
    world.run(child)
    assert warnings(world) == []
    world.clock.advance(61.0)
    world.run(child)
    (text,) = warnings(world)
    assert text.startswith("WaitingForOwner: owner ResourceGroup 'never' does not")


def all_said(world, obj, log):
    return json.dumps([world.read(obj), world.events, log()])


def test_a_secret_is_nowhere_when_all_goes_well(world, server, log):
    world.settle(server)
    (put,) = world.requests("PUT", "flexibleServers")
    assert put.body["properties"]["administratorLoginPassword"] == PASSWORD
    said = all_said(world, server, log)
    assert "9f8e7d" not in said


def test_a_secret_that_azure_quotes_is_hidden(world, server, log):
    world.azure.faults.answer(
        "PUT",
        "flexibleServers",
        400,
        code="InvalidParameterValue",
        message=f"The password {PASSWORD} is too simple.",
    )
    world.run(server)
    assert world.ready(server)["message"] == "The password *** is too simple."
    assert "9f8e7d" not in all_said(world, server, log)
    assert "The password *** is too simple." in all_said(world, server, log)


def test_a_secret_that_a_failed_operation_quotes_is_hidden(world, server, log):
    world.azure.faults.fail_operation(
        "flexibleServers", "InvalidParameterValue", f"The password {PASSWORD} is bad."
    )
    world.run(server)
    world.clock.advance(60.0)
    world.run(server)
    assert world.ready(server)["message"] == "The password *** is bad."
    assert "9f8e7d" not in all_said(world, server, log)


def test_the_token_of_an_operation_is_not_in_the_log(world, network, log):
    world.run(network)
    token = annotations(world.read(network))[POLLER_TOKEN]
    world.settle(network)
    assert token not in json.dumps(log())


def refusal(status, reason, message):
    body = {"kind": "Status", "reason": reason, "message": message, "code": status}
    return HttpResponse(status, json.dumps(body).encode())


def test_what_the_operator_may_not_read_is_said(world, server):
    """3c: an answer of the Kubernetes API is a reason like any other."""
    forbidden = refusal(403, "Forbidden", "secrets is forbidden: User cannot get")
    world.cluster.faults.respond("GET", "/secrets/db-admin", forbidden)
    result = world.run(server)
    ready = world.ready(server)
    assert (ready["severity"], ready["reason"]) == ("Warning", "Failed")
    assert "secrets is forbidden" in ready["message"]
    assert result.requeue_after_seconds == 1.0
    world.settle(server)


ETCD = refusal(500, "InternalError", "etcdserver: request is too large")
TOO_LARGE = refusal(413, "RequestEntityTooLarge", "limit is 3145728")


SCHEMA = refusal(422, "Invalid", "status.id: Invalid value: must match '^x$'")


@pytest.mark.parametrize(
    "refused", [ETCD, TOO_LARGE, SCHEMA], ids=["etcd", "server", "schema"]
)
def test_a_status_that_cannot_be_stored_does_not_hide_ready(world, log, refused):
    obj = resource_group(name="other")
    world.apply(obj)
    world.cluster.faults.respond("PATCH", "resourcegroups/other/status", refused)
    world.run(obj)
    present = world.read(obj)
    assert world.ready(obj)["status"] == "True"
    assert "id" not in present["status"]
    assert [r["message"] for r in log() if r["level"] == "error"] == [
        "Status refused; its conditions alone"
    ]


def test_a_proxys_page_that_quotes_our_request_shows_no_token(world, network, log):
    world.run(network)
    world.clock.advance(3600.0)
    token = world.azure.entra.tokens()[-1]
    assert len(token) > 30
    page = f"<pre>Authorization: Bearer {token}\nAUTHORIZATION: {token.upper()}</pre>"
    for verb in ("GET", "PUT"):
        world.azure.faults.respond(
            verb, "", HttpResponse(502, page.encode(), {"Content-Type": "text/html"})
        )
    for _ in range(4):
        world.run(network)
        world.clock.advance(60.0)
    said = all_said(world, network, log)
    assert "Authorization: Bearer ***" in said
    assert token not in said
    assert token.upper() not in said


def test_an_error_of_the_client_itself_holds_no_token(world):
    arm_id = f"/subscriptions/{world.azure.subscription_id}/resourceGroups/rg"
    world.arm.get(arm_id, "2021-04-01")
    token = world.azure.entra.tokens()[-1]
    body = f'{{"error": {{"code": "{token}", "message": "m {token}"}}}}'
    world.azure.faults.respond(
        "GET", "resourceGroups", HttpResponse(400, body.encode())
    )
    with pytest.raises(ArmError) as caught:
        world.arm.get(arm_id, "2021-04-01")
    assert token not in str(vars(caught.value)) + str(caught.value)
    assert (caught.value.code, caught.value.message) == ("***", "m ***")


def test_a_refusal_of_the_api_server_that_quotes_a_secret_is_redacted(
    world, server, log
):
    """An admission webhook of somebody's, which says what it was shown."""
    quoted = base64.b64encode(PASSWORD.encode()).decode()
    denied = refusal(403, "Forbidden", f'webhook "a" denied {{"password":"{quoted}"}}')
    world.run(server)
    world.clock.advance(60.0)
    world.cluster.faults.respond("PATCH", "/flexibleservers/pg-db", denied)
    world.run(server)
    assert '{"password":"***="}' in world.ready(server)["message"]
    said = all_said(world, server, log)
    assert "denied" in said
    assert quoted not in said


def test_where_only_the_conditions_fit_they_take_the_place_of_the_rest(world, log):
    obj = resource_group(name="other")
    world.settled(obj)
    world.apply(resource_group(name="other", tags={"a": "b"}))
    world.cluster.faults.respond("PATCH", "resourcegroups/other/status", ETCD, times=2)
    world.run(obj)
    present = world.read(obj)
    ready = find_ready(present["status"]["conditions"])
    assert ready["observedGeneration"] == 2
    assert "id" not in present["status"]


def test_another_trouble_of_the_server_is_not_taken_for_one_of_size(world):
    obj = resource_group(name="other")
    world.apply(obj)
    broken = refusal(500, "InternalError", "etcdserver: leader changed")
    world.cluster.faults.respond("PATCH", "resourcegroups/other/status", broken)
    with pytest.raises(ApiError, match="leader changed"):
        world.run(obj)


def test_what_azure_reports_beyond_what_a_cluster_stores_is_left_out(world, log):
    network = virtual_network("huge")
    world.apply(network)
    world.run(network)
    arm_id = annotations(world.read(network))[RESOURCE_ID]
    body = world.azure.resources()[arm_id]
    body["properties"]["addressSpace"] = {"addressPrefixes": ["10.0.0.0/16"] * 90_000}
    body["properties"]["provisioningState"] = "Succeeded"
    huge = HttpResponse(200, json.dumps(body).encode())
    world.azure.faults.respond("GET", "virtualNetworks/huge", huge, times=9)
    world.settle(network)
    present = world.read(network)
    assert world.ready(network)["status"] == "True"
    assert "addressSpace" not in present["status"]
    assert present["status"]["id"] == arm_id
    (text,) = warnings(world)
    assert text.endswith("more than the cluster stores; without status.addressSpace")
