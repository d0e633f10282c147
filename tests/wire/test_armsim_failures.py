"""What goes wrong at the simulator on demand and by itself: W13-W15, W17-W21, W26."""

import pytest
import requests

from asoreconcile.testing.arm import ArmServer
from asoreconcile.testing.arm.envelopes import NAMES
from asoreconcile.testing.clock import FakeClock

LRO_SECONDS = 60.0
BODY = {"location": "westeurope", "properties": {}}
NETWORKS = "/providers/Microsoft.Network/virtualNetworks"
ENDPOINTS = (
    "/providers/Microsoft.DBforPostgreSQL/flexibleServers/pg-db/virtualEndpoints"
)


@pytest.fixture
def clock():
    return FakeClock()


@pytest.fixture
def azure(clock):
    with ArmServer(clock=clock, lro=LRO_SECONDS) as server:
        yield server


def test_w13_status_reads_break_and_mend(azure, session, clock, group):
    created = session.put(f"{group}{NETWORKS}/v", json=BODY)
    monitor = created.headers["Azure-AsyncOperation"]
    azure.faults.break_polls("virtualNetworks/v", status=500)
    azure.faults.break_polls("virtualNetworks/v", status=503)
    clock.advance(LRO_SECONDS)
    for status in (500, 503):
        broken = session.get(monitor)
        assert broken.status_code == status
        assert broken.headers["Content-Type"] == "text/html"
        assert "</html>" in broken.text
    assert session.get(monitor).json()["status"] == "Succeeded"


def test_w14_failed_operation_then_the_same_put_works(azure, session, clock, group):
    azure.seed(f"{group}{ENDPOINTS.rpartition('/')[0]}", BODY)
    code = "VirtualEndpointOwnerServerNotInReadyState"
    azure.faults.fail_operation("virtualEndpoints/end", code, "not ready")
    path = f"{group}{ENDPOINTS}/end"
    created = session.put(path, json={"properties": {}})
    clock.advance(LRO_SECONDS)
    ended = session.get(created.headers["Azure-AsyncOperation"])
    assert ended.status_code == 200
    assert ended.json()["status"] == "Failed"
    assert ended.json()["error"] == {"code": code, "message": "not ready"}
    assert session.get(path).status_code == 404  # L25: nothing exists
    again = session.put(path, json={"properties": {}})
    clock.advance(LRO_SECONDS)
    ended = session.get(again.headers["Azure-AsyncOperation"])
    assert ended.json()["status"] == "Succeeded"


def test_w14_failed_networks_stay_and_say_so(azure, session, clock, group):
    azure.faults.fail_operation("virtualNetworks/v", "InternalServerError", "oops")
    session.put(f"{group}{NETWORKS}/v", json=BODY)
    clock.advance(LRO_SECONDS)
    shown = session.get(f"{group}{NETWORKS}/v").json()
    assert shown["properties"]["provisioningState"] == "Failed"


def test_w15_canceled_operation(azure, session, clock, group):
    azure.faults.cancel_operation("virtualNetworks/v")
    created = session.put(f"{group}{NETWORKS}/v", json=BODY)
    clock.advance(LRO_SECONDS)
    ended = session.get(created.headers["Azure-AsyncOperation"]).json()
    assert ended["status"] == "Canceled"
    assert ended["error"]["code"] == "OperationCancelled"
    shown = session.get(f"{group}{NETWORKS}/v").json()
    assert shown["properties"]["provisioningState"] == "Canceled"


@pytest.mark.parametrize("retry_after", [None, 10])
def test_w17_busy_with_and_without_retry_after(azure, session, group, retry_after):
    azure.faults.busy("virtualNetworks/v", retry_after=retry_after, times=2)
    path = f"{group}{NETWORKS}/v"
    for _ in range(2):
        refused = session.put(path, json=BODY)
        assert refused.status_code == 429
        assert refused.headers.get("Retry-After") == (retry_after and str(retry_after))
        error = refused.json()["error"]
        assert error["code"] == "RetryableError"
        inner = error["details"][0]["code"]
        assert inner == "RetryableErrorDueToAnotherOperation"
        assert "x-ms-failure-cause" not in refused.headers
    assert session.put(path, json=BODY).status_code == 201


def test_w17_write_during_an_operation_is_409(session, clock, group):
    path = f"{group}{NETWORKS}/v"
    assert session.put(path, json=BODY).status_code == 201
    other = {**BODY, "tags": {"a": "b"}}
    for _ in range(2):
        refused = session.put(path, json=other)
        assert refused.status_code == 409
        assert refused.json()["error"]["code"] == "AnotherOperationInProgress"
    clock.advance(LRO_SECONDS)
    assert session.put(path, json=other).status_code == 200


def test_w17_types_can_take_one_write_below_a_parent(azure, session, clock, group):
    subnets = "Microsoft.Network/virtualNetworks/subnets"
    azure.styles.change(subnets, is_exclusive=True)
    azure.seed(f"{group}{NETWORKS}/v", BODY)
    first, second = (f"{group}{NETWORKS}/v/subnets/{name}" for name in "ab")
    assert session.put(first, json={"properties": {}}).status_code == 201
    refused = session.put(second, json={"properties": {}})
    assert refused.status_code == 429
    assert refused.json()["error"]["code"] == "RetryableError"
    clock.advance(LRO_SECONDS)
    assert session.put(second, json={"properties": {}}).status_code == 201


@pytest.mark.parametrize(
    ("status", "code"),
    [(400, "ManagedEnvironmentNotProvisioned"), (404, "ManagedEnvironmentNotFound")],
)
def test_w18_not_yet(azure, session, group, status, code):
    path = f"{group}/providers/Microsoft.App/containerApps/app"
    azure.faults.refuse("PUT", "containerApps/app", status, code, times=2)
    for _ in range(2):
        refused = session.put(path, json=BODY)
        assert (refused.status_code, refused.json()["error"]["code"]) == (status, code)
    assert session.put(path, json=BODY).status_code == 201


def test_w19_v4_links_have_no_get(azure, session, group):
    product = f"{group}/providers/Microsoft.ApiManagement/service/s/products/p"
    azure.seed(product.rpartition("/products")[0], BODY)
    azure.seed(product, {})
    link = f"{product}/apis/a"
    assert session.head(link).status_code == 404
    assert session.put(link).status_code == 400  # no body at all
    assert session.put(link, json={}).status_code == 201
    refused = session.get(link)
    assert refused.status_code == 405
    assert refused.json().keys() == {"Message"}
    assert session.head(link).status_code == 204


@pytest.mark.parametrize(
    ("type_", "status", "content"),
    [
        ("Microsoft.Web/serverfarms", 200, b""),
        ("Microsoft.Authorization/roleAssignments", 200, b"{"),
        ("Microsoft.Communication/emailServices", 202, b"null"),
        ("Microsoft.SignalRService/signalR", 204, b""),
        ("Microsoft.DocumentDB/databaseAccounts", 202, b"{"),
    ],
)
def test_w20_v6_deletes_have_all_kinds_of_bodies(
    azure, session, group, type_, status, content
):
    path = f"{group}/providers/{type_}/it"
    azure.seed(path, BODY)
    deleted = session.delete(path)
    assert deleted.status_code == status
    assert deleted.content[:1] == content[:1]
    if content == b"null":
        assert deleted.json() is None


def test_w20_absent_delete_can_be_404(azure, session, group):
    azure.styles.change("Microsoft.Web/serverfarms", absent_delete=404)
    absent = session.delete(f"{group}/providers/Microsoft.Web/serverfarms/none")
    assert absent.json()["error"]["code"] == "ResourceNotFound"


def test_w20_delete_fails_and_then_works(azure, session, clock, group):
    path = f"{group}{NETWORKS}/v"
    azure.seed(path, BODY)
    azure.faults.answer("DELETE", path, 503, body="<html></html>")
    assert session.delete(path).status_code == 503
    azure.faults.fail_operation("virtualNetworks/v", "VmssGatewayDeploymentFailed", "")
    deleted = session.delete(path)
    clock.advance(LRO_SECONDS)
    ended = session.get(deleted.headers["Azure-AsyncOperation"]).json()
    assert ended["error"]["code"] == "VmssGatewayDeploymentFailed"
    assert session.get(path).status_code == 200
    session.delete(path)
    clock.advance(LRO_SECONDS)
    assert session.get(path).status_code == 404


KEYS = {
    "arm": {"error"},
    "details": {"error"},
    "inner": {"error"},
    "extra": {"error"},
    "twice": {"error", "code", "message"},
    "code-only": {"error"},
    "text": {"error"},
    "bare": {"code", "message"},
    "aks": {"code", "details", "message", "subcode"},
    "web": {"Code", "Message", "Target", "Details", "Innererror"},
    "message": {"Message"},
    "numbered": {"code", "httpStatusCode", "message"},
    "problem": {"type", "title", "status", "traceId"},
}


@pytest.mark.parametrize("name", NAMES)
def test_w21_every_envelope_can_be_had(azure, session, group, name):
    path = f"{group}{NETWORKS}/v"
    azure.styles.change("Microsoft.Network/virtualNetworks", envelope=name)
    azure.faults.refuse("PUT", "virtualNetworks/v", 400, "SomeCode", message="why")
    refused = session.put(path, json=BODY)
    assert refused.status_code == 400
    if name in KEYS:
        assert refused.json().keys() == KEYS[name]
    else:
        assert refused.text.startswith("<!DOCTYPE") == (name == "html")
    if name not in ("message", "problem", "empty", "numbered"):
        assert "SomeCode" in refused.text


@pytest.mark.parametrize(
    ("type_", "keys"),
    [
        ("Microsoft.ContainerService/managedClusters/agentPools", KEYS["aks"]),
        ("Microsoft.EventHub/namespaces", {"error"}),
        ("Microsoft.Authorization/roleAssignments", {"error"}),
    ],
)
def test_w21_providers_have_their_own_404(azure, session, group, type_, keys):
    namespace, *types = type_.split("/")
    path = f"{group}/providers/{namespace}/{types[0]}/it"
    if len(types) > 1:
        azure.seed(path, BODY)
        path += f"/{types[1]}/none"
    absent = session.get(path)
    assert absent.status_code == 404
    assert absent.json().keys() == keys
    assert "x-ms-failure-cause" not in absent.headers


def test_w21_l24_running_and_succeeded_with_an_error_key(session, clock, group):
    path = f"{group}/providers/Microsoft.Cdn/profiles/p"
    created = session.put(path, json=BODY)
    monitor = created.headers["Azure-AsyncOperation"]
    assert session.get(monitor).json() == {
        "status": "InProgress",
        "error": {"code": "None", "message": None},
    }
    clock.advance(LRO_SECONDS)
    assert session.get(monitor).json()["status"] == "Succeeded"
    assert session.get(monitor).json()["error"]["code"] == "None"


def test_w26_gateway_time_out_on_get(azure, session, group):
    azure.faults.time_out("GET", "resourceGroups/rg$")
    timed_out = session.get(group)
    assert timed_out.status_code == 504
    assert timed_out.json()["error"]["code"] == "GatewayTimeout"
    assert session.get(group).status_code == 200


def test_v8_gateway_time_out_of_a_write_that_happened(azure, session, group):
    azure.faults.time_out("PUT", "virtualNetworks/v", applied=True)
    path = f"{group}{NETWORKS}/v"
    assert session.put(path, json=BODY).status_code == 504
    assert session.get(path).status_code == 200


def test_lost_answers_and_lost_requests(azure, session, group):
    path = f"{group}{NETWORKS}/v"
    azure.faults.drop("PUT", "virtualNetworks/v")
    with pytest.raises(requests.ConnectionError):
        session.put(path, json=BODY)
    assert session.get(path).status_code == 404
    azure.faults.drop("PUT", "virtualNetworks/v", phase="after")
    with pytest.raises(requests.ConnectionError):
        session.put(path, json=BODY)
    assert session.get(path).status_code == 200
    assert [r.status for r in azure.journal if r.method == "PUT"] == [0, 0]


def test_l16_l29_monitor_below_a_resource_goes_with_its_group(session, clock, group):
    path = f"{group}/providers/Microsoft.Synapse/workspaces/w"
    monitor = session.put(path, json=BODY).headers["Azure-AsyncOperation"]
    assert session.get(monitor).status_code == 200
    session.delete(group)
    clock.advance(LRO_SECONDS)
    assert session.get(monitor).status_code == 404


def test_unknown_operations_are_404(session, group):
    subscription = group.partition("/resourceGroups")[0]
    path = (
        f"{subscription}/providers/Microsoft.Network/locations/westeurope"
        "/operations/00000000-0000-0000-0000-000000000001"
    )
    assert session.get(path).status_code == 404
