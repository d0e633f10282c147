"""How the simulator's providers answer writes and polls: W1-W12, W16, W22, W25."""

import pytest

from asoreconcile.testing.arm import ArmServer
from asoreconcile.testing.clock import FakeClock

LRO_SECONDS = 60.0
BODY = {"location": "westeurope", "properties": {}}


@pytest.fixture
def clock():
    return FakeClock()


@pytest.fixture
def azure(clock):
    # The way of an answer is the subject: bodies are as short as can be.
    with ArmServer(clock=clock, lro=LRO_SECONDS, strict=False) as server:
        yield server


@pytest.fixture
def make(azure, session, group):
    """PUT a new resource of a type: (its path, the answer). Parents are there."""

    def put(type_, *names, **body):
        namespace, *types = type_.split("/")
        path = f"{group}/providers/{namespace}"
        for index, (part, name) in enumerate(zip(types, names, strict=True)):
            path += f"/{part}/{name}"
            if index < len(types) - 1:
                azure.seed(path, {"location": "westeurope"})
        return path, session.put(path, json=body or BODY)

    return put


def state(response):
    return response.json()["properties"].get("provisioningState")


def test_w1_async_operation_then_the_resource(session, clock, make):
    path, created = make("Microsoft.Network/virtualNetworks", "v")
    assert (created.status_code, state(created)) == (201, "Updating")
    assert created.headers["Retry-After"] == "3"
    assert "Location" not in created.headers
    monitor = created.headers["Azure-AsyncOperation"]
    assert session.get(monitor).json() == {"status": "InProgress"}
    clock.advance(LRO_SECONDS - 1)
    assert session.get(monitor).json() == {"status": "InProgress"}
    clock.advance(1)
    assert session.get(monitor).json() == {"status": "Succeeded"}
    assert state(session.get(path)) == "Succeeded"


def test_w2_answer_is_the_operation_not_the_resource(session, clock, make):
    path, created = make("Microsoft.DBforPostgreSQL/flexibleServers", "s")
    assert created.status_code == 202
    assert created.json().keys() == {"operation", "startTime"}
    assert created.headers["Retry-After"] == "60"
    assert "/azureAsyncOperation/" in created.headers["Azure-AsyncOperation"]
    location = created.headers["Location"]
    assert "/operationResults/" in location
    running = session.get(location)
    assert (running.status_code, running.content) == (202, b"")
    clock.advance(LRO_SECONDS)
    ended = session.get(location)
    assert (ended.status_code, ended.json()["id"]) == (200, path)
    assert "provisioningState" not in session.get(path).json()["properties"]


def test_w3_location_only_with_nothing_in_it(session, clock, make):
    path, created = make("Microsoft.Storage/storageAccounts", "account")
    assert (created.status_code, created.content) == (202, b"")
    assert created.headers["Retry-After"] == "17"
    assert "Azure-AsyncOperation" not in created.headers
    location = created.headers["Location"]
    assert session.get(location).status_code == 202
    clock.advance(LRO_SECONDS)
    ended = session.get(location)
    assert (ended.status_code, ended.json()["id"]) == (200, path)


@pytest.mark.parametrize(
    ("type_", "busy", "done"),
    [
        ("Microsoft.EventHub/namespaces", "Creating", "Succeeded"),
        ("Microsoft.KeyVault/vaults", "RegisteringDns", "Succeeded"),
        ("Microsoft.Search/searchServices", "provisioning", "succeeded"),
    ],
)
def test_w4_state_alone_tells(session, clock, make, type_, busy, done):
    path, created = make(type_, "it")
    assert not {"Azure-AsyncOperation", "Location"} & created.headers.keys()
    assert state(created) == state(session.get(path)) == busy
    clock.advance(LRO_SECONDS)
    assert state(session.get(path)) == done


def test_w4_state_alone_tells_a_failure_too(azure, session, clock, make):
    azure.faults.fail_operation("sourcecontrols", "Failed", "no such repository")
    path, created = make("Microsoft.Web/sites/sourcecontrols", "site", "web")
    assert (created.status_code, state(created)) == (201, "InProgress")
    clock.advance(LRO_SECONDS)
    assert state(session.get(path)) == "Failed"


def test_w5_relative_location_is_the_resource_itself(make):
    type_ = "Microsoft.ManagedIdentity/userAssignedIdentities"
    path, created = make(type_, "mi")
    assert (created.status_code, created.headers["Location"]) == (201, path)
    assert state(created) is None


def test_w6_operation_though_the_state_says_succeeded(session, make):
    _, created = make("Microsoft.Network/loadBalancers", "lb")
    assert (created.status_code, state(created)) == (201, "Succeeded")
    monitor = created.headers["Azure-AsyncOperation"]
    assert session.get(monitor).json()["status"] == "InProgress"


def test_w7_monitor_is_the_resources_path_with_a_query(azure, session, clock, make):
    azure.styles.change("Microsoft.ApiManagement/service/apis", create="202 A 20 empty")
    type_ = "Microsoft.ApiManagement/service/apis"
    path, created = make(type_, "service", "api")
    monitor = created.headers["Azure-AsyncOperation"]
    assert monitor.startswith(f"{azure.url}{path}?azure-asyncId=")
    running = session.get(monitor)
    assert (running.status_code, running.json()["status"]) == (202, "InProgress")
    clock.advance(LRO_SECONDS)
    ended = session.get(monitor)
    assert ended.status_code == 200
    assert "status" not in ended.json()
    assert ended.json()["id"] == path
    assert session.get(path).json()["id"] == path


def test_w7_l11_location_ends_with_201_and_the_resource(session, clock, make):
    path, created = make("Microsoft.ApiManagement/service", "service")
    location = created.headers["Location"]
    assert "?asyncId=" in location
    assert "&asyncCode=201&" in location
    assert session.get(location).status_code == 202
    clock.advance(LRO_SECONDS)
    ended = session.get(location)
    assert (ended.status_code, ended.json()["id"]) == (201, path)


def test_w8_running_status_comes_with_202(session, clock, make):
    _, created = make("Microsoft.Communication/communicationServices", "c")
    monitor = created.headers["Azure-AsyncOperation"]
    running = session.get(monitor)
    assert (running.status_code, running.json()["status"]) == (202, "Running")
    clock.advance(LRO_SECONDS)
    ended = session.get(monitor)
    assert (ended.status_code, ended.json()["status"]) == (200, "Succeeded")


def test_w9_monitors_differ_by_their_query_only(session, make, clock):
    path, _ = make("Microsoft.Compute/disks", "disk")
    clock.advance(LRO_SECONDS)
    deleted = session.delete(path).headers
    first, second = deleted["Azure-AsyncOperation"], deleted["Location"]
    assert first.partition("?")[0] == second.partition("?")[0]
    assert "&monitor=true&" in second
    assert session.get(first).json()["status"] == "InProgress"
    assert session.get(second).status_code == 202


def test_w10_monitors_are_signed_anew_and_old_ones_hold(session, clock, make):
    _, created = make("Microsoft.Storage/storageAccounts", "account")
    seen = [created.headers["Location"]]
    for _ in range(3):
        seen.append(session.get(seen[-1]).headers["Location"])
    assert len(set(seen)) == 4
    assert len({url.partition("&t=")[0] for url in seen}) == 1
    assert all(session.get(url).status_code == 202 for url in seen)


def test_w10_some_polls_bring_no_monitor(session, group):
    location = session.delete(group).headers["Location"]
    brought = ["Location" in session.get(location).headers for _ in range(4)]
    assert brought == [True, False, True, False]


def test_l19_edited_monitors_are_refused(session, make):
    _, created = make("Microsoft.Network/virtualNetworks", "v")
    monitor = created.headers["Azure-AsyncOperation"]
    swapped = monitor.replace("&s=", "&S=")
    head, _, tail = monitor.partition("?")
    reordered = head + "?" + "&".join(reversed(tail.split("&")))
    for edited in (swapped, monitor + "&extra=1", reordered):
        assert session.get(edited).status_code == 400
    assert session.get(monitor).status_code == 200


def test_l20_monitors_are_long(make):
    _, created = make("Microsoft.Network/virtualNetworks", "v")
    assert len(created.headers["Azure-AsyncOperation"]) > 1500


def test_w11_location_on_another_host(group, azure, session):
    cluster = f"{group}/providers/Microsoft.ContainerService/managedClusters/c"
    azure.seed(cluster, BODY)
    path = f"{cluster}/providers/Microsoft.KubernetesConfiguration/extensions/e"
    created = session.put(path, json={"properties": {}})
    assert ".rp.kubernetesconfiguration.azure.com/" in created.headers["Location"]
    monitor = created.headers["Azure-AsyncOperation"]
    assert monitor.startswith(azure.url + path)
    assert session.get(monitor).status_code == 200


def test_w11_location_is_the_resource_beside_an_operation(azure, make):
    path, created = make("Microsoft.Cache/redis", "r")
    assert created.headers["Location"].startswith(f"{azure.url}{path}?api-version=")
    assert "/asyncOperations/" in created.headers["Azure-AsyncOperation"]


def test_w12_retry_after_grows(azure, session, make):
    type_ = "Microsoft.DBforMySQL/flexibleServers"
    azure.styles.change(type_, create="202 A+L 20,40,80,100,160 op")
    _, created = make(type_, "s")
    monitor = created.headers["Azure-AsyncOperation"]
    asked = [created.headers["Retry-After"]]
    asked += [session.get(monitor).headers["Retry-After"] for _ in range(5)]
    assert asked == ["20", "40", "80", "100", "160", "160"]


def test_retry_after_of_the_server_overrides(clock):
    with (
        ArmServer(clock=clock, lro=60.0, retry_after=1) as azure,
        azure.session() as session,
    ):
        group = f"/subscriptions/{azure.subscription_id}/resourceGroups/rg"
        azure.seed(group, {"location": "westeurope"})
        path = f"{group}/providers/Microsoft.Network/virtualNetworks/v"
        assert session.put(path, json=BODY).headers["Retry-After"] == "1"


def test_w16_busy_for_a_while_after_the_operations_success(azure, session, clock, make):
    type_ = "Microsoft.ContainerService/managedClusters"
    azure.styles.change(type_, lingers_seconds=30.0)
    path, created = make(type_, "c")
    clock.advance(LRO_SECONDS)
    monitor = created.headers["Azure-AsyncOperation"]
    assert session.get(monitor).json()["status"] == "Succeeded"
    assert state(session.get(path)) == "Updating"
    clock.advance(30.0)
    assert state(session.get(path)) == "Succeeded"


def test_w16_a_steady_word_that_is_not_succeeded(session, clock, make):
    path, created = make(
        "Microsoft.Sql/servers/outboundFirewallRules", "s", "storage.example"
    )
    clock.advance(LRO_SECONDS)
    monitor = created.headers["Azure-AsyncOperation"]
    assert session.get(monitor).json()["status"] == "Succeeded"
    clock.advance(86400.0)
    assert state(session.get(path)) == "Ready"


@pytest.mark.parametrize(
    ("type_", "part"),
    [
        ("Microsoft.ManagedIdentity/userAssignedIdentities", "/resourcegroups/"),
        ("Microsoft.ContainerService/managedClusters", "/resourcegroups/"),
        ("Microsoft.Cache/redis", "/Redis/"),
        ("Microsoft.Insights/components", "/microsoft.insights/"),
        ("Microsoft.Cdn/profiles", "/resourcegroups/"),
    ],
)
def test_w22_ids_come_back_in_other_casing(make, type_, part):
    path, created = make(type_, "it")
    id_ = created.json()["id"]
    assert part in id_
    assert part not in path
    assert id_.lower() == path.lower()


def test_w22_action_groups_shout_the_subscription(azure, make):
    _, created = make("Microsoft.Insights/actionGroups", "g")
    assert f"/subscriptions/{azure.subscription_id.upper()}/" in created.json()["id"]


def test_w22_role_definitions_have_an_id_of_another_scope(azure, make):
    path, created = make("Microsoft.Authorization/roleDefinitions", "0a0b")
    id_ = created.json()["id"]
    assert "/resourceGroups/" not in id_
    assert id_.endswith("/providers/Microsoft.Authorization/roleDefinitions/0a0b")
    assert created.url.startswith(azure.url + path)


def test_w22_quotas_answer_with_a_request(azure, session):
    scope = (
        f"/subscriptions/{azure.subscription_id}/providers/Microsoft.Compute"
        "/locations/westus2"
    )
    path = f"{scope}/providers/Microsoft.Quota/quotas/cores"
    asked = session.put(path, json={"properties": {"limit": {"value": 1}}})
    assert asked.status_code == 202
    assert "/providers/Microsoft.Quota/quotaRequests/" in asked.json()["id"]


def test_w25_operations_can_take_any_number_of_polls(azure, session, make):
    type_ = "Microsoft.DocumentDB/databaseAccounts"
    azure.styles.change(type_, polls=216)
    path, created = make(type_, "account")
    monitor = created.headers["Azure-AsyncOperation"]
    words = [session.get(monitor).json()["status"] for _ in range(216)]
    assert words[0] == "Enqueued"
    assert set(words[1:-1]) == {"Dequeued"}
    assert words[-1] == "Succeeded"
    assert state(session.get(path)) == "Succeeded"


def test_seconds_of_a_type_override_the_servers(azure, session, clock, make):
    azure.styles.change("Microsoft.Network/virtualNetworks", seconds=5.0)
    _, created = make("Microsoft.Network/virtualNetworks", "v")
    clock.advance(5.0)
    monitor = created.headers["Azure-AsyncOperation"]
    assert session.get(monitor).json()["status"] == "Succeeded"
