"""What the simulated Azure makes of a body: fills in, keeps, keeps back."""

import orjson
import pytest

from asoreconcile.testing.arm import ArmServer
from asoreconcile.testing.clock import FakeClock

SECRET = "canary-2b7e"


@pytest.fixture(scope="module")
def azure():
    with ArmServer(clock=FakeClock()) as server:
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
