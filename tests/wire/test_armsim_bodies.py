"""What the simulated Azure makes of a body: fills in, keeps, keeps back."""

import orjson
import pytest

from asoreconcile.testing.arm import ArmServer
from asoreconcile.testing.clock import FakeClock

SECRET = "canary-2b7e"


@pytest.fixture(scope="module")
def azure():
    # Bodies have no more than what a test is about.
    with ArmServer(clock=FakeClock(), strict=False) as server:
        yield server


@pytest.fixture(scope="module")
def session(azure):
    with azure.session() as signed_in:
        yield signed_in


@pytest.fixture
def put(azure, session):
    group = f"/subscriptions/{azure.subscription_id}/resourceGroups/rg"
    azure.remove(group)
    azure.seed(group, {"location": "westeurope"})

    def put(type_, body):
        path = f"{group}/providers/{type_}/it"
        session.put(path, json={"location": "westeurope", **body})
        azure.advance(1.0)
        return session.get(path).json()

    return put


@pytest.mark.parametrize(
    ("type_", "path", "value"),
    [
        ("Microsoft.Network/virtualNetworks", ["enableDdosProtection"], False),
        ("Microsoft.Network/natGateways", ["idleTimeoutInMinutes"], 4),
        ("Microsoft.EventHub/namespaces", ["status"], "Active"),
        (
            "Microsoft.DBforPostgreSQL/flexibleServers",
            ["backup", "backupRetentionDays"],
            7,
        ),
    ],
)
def test_what_was_not_sent_is_filled_in(put, type_, path, value):
    shown = put(type_, {"properties": {}})["properties"]
    for name in path:
        shown = shown[name]
    assert shown == value


def test_what_was_sent_stays_beside_what_is_filled_in(put):
    sent = {"backup": {"backupRetentionDays": 35}, "version": "16"}
    shown = put("Microsoft.DBforPostgreSQL/flexibleServers", {"properties": sent})
    assert shown["properties"]["backup"]["backupRetentionDays"] == 35
    assert "geoRedundantBackup" in shown["properties"]["backup"]
    assert shown["properties"]["version"] == "16"


def test_two_resources_do_not_share_what_is_filled_in(azure, put):
    shown = put("Microsoft.Network/natGateways", {"properties": {}})
    assert shown["properties"].pop("idleTimeoutInMinutes") == 4
    again = put("Microsoft.Network/natGateways", {"properties": {}})
    assert again["properties"]["idleTimeoutInMinutes"] == 4


def test_addresses_and_identities_are_azures_own(azure, put):
    shown = put(
        "Microsoft.Storage/storageAccounts",
        {"identity": {"type": "SystemAssigned"}, "properties": {}},
    )
    assert shown["properties"]["primaryEndpoints"]["blob"].startswith("https://it.blob")
    assert shown["identity"]["tenantId"] == azure.tenant_id
    assert len(shown["identity"]["principalId"]) == 36


@pytest.mark.parametrize(
    "properties",
    [
        {"administratorLoginPassword": SECRET},
        {"osProfile": {"adminPassword": SECRET, "computerName": "vm"}},
        {"settings": [{"name": "a", "connectionString": SECRET}]},
        {"servicePrincipalProfile": {"clientId": "c", "secret": SECRET}},
    ],
)
def test_secrets_are_kept_back(azure, put, properties):
    shown = put("Microsoft.Example/things", {"properties": properties})
    assert SECRET not in orjson.dumps(shown).decode()
    assert SECRET not in orjson.dumps(azure.resources()).decode()
    assert SECRET in orjson.dumps(azure.requests("PUT")[-1].body).decode()


@pytest.fixture
def group(azure):
    group = f"/subscriptions/{azure.subscription_id}/resourceGroups/rg"
    azure.remove(group)
    azure.seed(group, {"location": "westeurope"})
    return group


@pytest.mark.parametrize(
    ("parent", "child"),
    [
        (
            "Microsoft.ServiceBus/namespaces",
            "AuthorizationRules/RootManageSharedAccessKey",
        ),
        (
            "Microsoft.EventHub/namespaces",
            "authorizationRules/RootManageSharedAccessKey",
        ),
        ("Microsoft.EventHub/namespaces/ns/eventhubs", "consumergroups/$Default"),
        ("Microsoft.Storage/storageAccounts", "blobServices/default"),
        ("Microsoft.Sql/servers", "databases/master"),
        (
            "Microsoft.ServiceBus/namespaces/ns/topics/orders/subscriptions",
            "rules/$Default",
        ),
        (
            "Microsoft.Network/networkSecurityGroups",
            "defaultSecurityRules/DenyAllInBound",
        ),
        ("Microsoft.Cache/redis", "accessPolicies/Data Owner"),
        ("Microsoft.ContainerRegistry/registries", "scopeMaps/_repositories_pull"),
        (
            "Microsoft.Devices/IotHubs",
            "eventHubEndpoints/events/ConsumerGroups/$Default",
        ),
    ],
)
def test_azure_makes_children_of_its_own(azure, session, group, parent, child):
    namespace, *rest = parent.split("/")
    for depth in range(1, len(rest), 2):
        above = f"{group}/providers/{'/'.join([namespace, *rest[: depth + 1]])}"
        session.put(above, json={"location": "westeurope"})
        azure.advance(1.0)
    path = f"{group}/providers/{parent}/it"
    assert session.get(f"{path}/{child}").status_code == 404
    session.put(path, json={"location": "westeurope", "properties": {}})
    azure.advance(1.0)
    found = session.get(f"{path}/{child}")
    assert (found.status_code, found.json()["name"]) == (200, child.split("/")[-1])
    session.delete(path)
    azure.advance(1.0)
    assert session.get(f"{path}/{child}").status_code == 404


def test_the_first_event_subscription_makes_a_topic_and_the_last_ends_it(
    azure, session, group
):
    source = f"{group}/providers/Microsoft.Storage/storageAccounts/files"
    session.put(source, json={"location": "westeurope"})
    topics = f"{group}/providers/Microsoft.EventGrid/systemTopics"
    shown = []
    for method, name in (
        *(("PUT", "one"), ("PUT", "two")),
        *(("DELETE", "one"), ("DELETE", "two")),
    ):
        path = f"{source}/providers/Microsoft.EventGrid/eventSubscriptions/{name}"
        session.request(method, path, json={"properties": {}})
        azure.advance(1.0)
        shown.append(session.get(topics).json()["value"])
    assert [len(found) for found in shown] == [1, 1, 1, 0]
    assert shown[0] == shown[1] == shown[2]
    assert shown[0][0]["properties"]["topicType"] == "Microsoft.Storage.storageAccounts"


def test_a_childs_own_body_outlives_a_write_of_its_parent(azure, session, group):
    path = f"{group}/providers/Microsoft.Storage/storageAccounts/it"
    child = f"{path}/blobServices/default"
    session.put(path, json={"location": "westeurope"})
    azure.advance(1.0)
    session.put(child, json={"properties": {"isVersioningEnabled": True}})
    session.put(path, json={"location": "westeurope", "tags": {"a": "b"}})
    azure.advance(1.0)
    assert session.get(child).json()["properties"]["isVersioningEnabled"] is True


def test_a_namespaces_own_rule_gives_out_keys(azure, session, group):
    path = f"{group}/providers/Microsoft.ServiceBus/namespaces/it"
    session.put(path, json={"location": "westeurope"})
    azure.advance(1.0)
    rule = f"{path}/AuthorizationRules/RootManageSharedAccessKey"
    keys = session.post(f"{rule}/listKeys").json()
    assert keys["keyName"] == "RootManageSharedAccessKey"
    assert keys["primaryConnectionString"] == (
        "Endpoint=sb://it.servicebus.windows.net/;SharedAccessKeyName="
        f"RootManageSharedAccessKey;SharedAccessKey={keys['primaryKey']}"
    )


def test_a_clusters_pools_are_resources(azure, session, group):
    path = f"{group}/providers/Microsoft.ContainerService/managedClusters/it"
    pools = [{"name": "system", "count": 3, "mode": "System"}]
    session.put(path, json={"properties": {"agentPoolProfiles": pools}})
    azure.advance(1.0)
    pool = session.get(f"{path}/agentPools/system").json()
    assert (pool["name"], pool["properties"]["count"]) == ("system", 3)


def test_a_private_endpoints_interface_comes_and_goes_with_it(azure, session, group):
    path = f"{group}/providers/Microsoft.Network/privateEndpoints/it"
    session.put(path, json={"location": "westeurope", "properties": {}})
    azure.advance(1.0)
    interface = session.get(path).json()["properties"]["networkInterfaces"][0]["id"]
    shown = session.get(interface).json()["properties"]["ipConfigurations"][0]
    assert shown["properties"]["privateIPAddress"] == "10.0.0.4"
    session.delete(path)
    azure.advance(1.0)
    assert session.get(interface).status_code == 404


def test_a_security_group_shows_azures_own_rules(put):
    shown = put("Microsoft.Network/networkSecurityGroups", {"properties": {}})
    names = [rule["name"] for rule in shown["properties"]["defaultSecurityRules"]]
    assert names[0] == "AllowVnetInBound"
    assert len(names) == 6
    assert shown["properties"]["securityRules"] == []


def test_addresses_are_given_by_name(put):
    shown = put("Microsoft.CognitiveServices/accounts", {"properties": {}})
    found = shown["properties"]["endpoints"]["OpenAI Language Model Instance API"]
    assert found == "https://it.openai.azure.com/"
    app = {"properties": {"configuration": {"ingress": {"external": True}}}}
    shown = put("Microsoft.App/containerApps", app)
    ingress = shown["properties"]["configuration"]["ingress"]
    assert ingress["fqdn"] == "it.westeurope.azurecontainerapps.io"
    shown = put("Microsoft.App/containerApps", {"properties": {}})
    assert "ingress" not in shown["properties"].get("configuration", {})
