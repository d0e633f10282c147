"""What a user gets wrong: said in the Ready condition and an event, healed by
itself.
"""

import pytest
from world import (
    World,
    postgres_server,
    resource_group,
    role_assignment,
    virtual_network,
)

from asoreconcile.azure.reconcile.model.annotations import RESOURCE_ID
from asoreconcile.base.objects import annotations, finalizers
from asoreconcile.kube.resources import CONFIG_MAPS, SECRETS

GROUPS = "resources.azure.com/ResourceGroup"
NETWORKS = "network.azure.com/VirtualNetwork"
SUBNETS = "network.azure.com/VirtualNetworksSubnet"
SERVERS = "dbforpostgresql.azure.com/FlexibleServer"
ASSIGNMENTS = "authorization.azure.com/RoleAssignment"


@pytest.fixture(scope="module")
def start(module_path):
    with World(module_path, lro=5.0, retry_after=1) as running:
        running.install(GROUPS, NETWORKS, SUBNETS, SERVERS, ASSIGNMENTS)
        running.settled(resource_group())
        yield running


def secret(**data):
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "db-admin", "namespace": "default"},
        "stringData": data,
    }


def warned(world, name, reason):
    return any(e[0] == name and e[1] == "Warning" for e in world.events) and any(
        reason in str(e) for e in world.events
    )


def test_missing_secret_is_named_and_heals(world):
    obj = postgres_server()
    world.apply(obj)
    result = world.run(obj)
    ready = world.ready(obj)
    assert (ready["reason"], ready["severity"]) == ("SecretNotFound", "Warning")
    assert "db-admin" in ready["message"]
    assert world.requests("PUT", "flexibleServers") == []
    assert finalizers(world.read(obj)) == []
    assert result.requeue_after_seconds == 1.0
    world.client.create(SECRETS, secret(password="Sesame-1"))
    world.settle(obj)
    (put,) = world.requests("PUT", "flexibleServers")
    assert put.body["properties"]["administratorLoginPassword"] == "Sesame-1"


def test_missing_key_is_named_and_heals(world):
    world.client.create(SECRETS, secret(pasword="Sesame-1"))
    obj = postgres_server()
    world.apply(obj)
    world.run(obj)
    ready = world.ready(obj)
    assert ready["reason"] == "SecretNotFound"
    assert "password" in ready["message"]
    assert "Sesame-1" not in ready["message"]
    world.apply(secret(password="Sesame-1"), marked=False)
    world.settle(obj)


def test_missing_config_map_is_named_and_heals(world):
    who = {"principalIdFromConfig": {"name": "who", "key": "id"}}
    obj = role_assignment("Reader", **who)
    world.apply(obj)
    world.run(obj)
    assert world.ready(obj)["reason"] == "ConfigMapNotFound"
    assert "who" in world.ready(obj)["message"]
    world.client.create(
        CONFIG_MAPS,
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "who", "namespace": "default"},
            "data": {"id": "00000000-0000-0000-0000-000000000001"},
        },
    )
    world.settle(obj)


def test_unknown_well_known_role_names_the_role(world):
    somebody = "00000000-0000-0000-0000-000000000001"
    obj = role_assignment("Raeder", principalId=somebody)
    world.apply(obj)
    world.run(obj)
    assert world.ready(obj)["status"] == "False"
    assert "Raeder" in world.ready(obj)["message"]
    assert world.requests("PUT", "roleAssignments") == []


def subnet(security_group):
    return {
        "apiVersion": "network.azure.com/v20250301",
        "kind": "VirtualNetworksSubnet",
        "metadata": {"name": "web"},
        "spec": {
            "owner": {"name": "vnet"},
            "addressPrefix": "10.0.1.0/24",
            "networkSecurityGroup": {"reference": security_group},
        },
    }


def test_missing_reference_is_named(world):
    network = virtual_network()
    world.apply(network)
    world.settle(network)
    obj = subnet(
        {"group": "resources.azure.com", "kind": "ResourceGroup", "name": "nowhere"}
    )
    world.apply(obj)
    world.run(obj)
    ready = world.ready(obj)
    assert (ready["reason"], ready["severity"]) == ("ReferenceNotFound", "Warning")
    assert "nowhere" in ready["message"]
    assert world.requests("PUT", "subnets") == []


def test_reference_to_an_unknown_kind_is_named(world):
    network = virtual_network()
    world.apply(network)
    world.settle(network)
    obj = subnet({"group": "network.azure.com", "kind": "SecurityGroop", "name": "x"})
    world.apply(obj)
    world.run(obj)
    assert world.ready(obj)["status"] == "False"
    assert "SecurityGroop" in world.ready(obj)["message"]


@pytest.mark.parametrize(
    ("status", "code", "severity"),
    [
        pytest.param(400, "BadRequest", "Warning", id="R4.1-400"),
        pytest.param(400, "LocationRequired", "Error", id="R4.3-fatal"),
        pytest.param(403, "AuthorizationFailed", "Warning", id="E8-403"),
        pytest.param(409, "Conflict", "Warning", id="E6-409"),
    ],
)
def test_arm_refusals_are_shown_and_heal(world, status, code, severity):
    obj = virtual_network()
    world.azure.faults.answer(
        "PUT", "virtualNetworks", status, code=code, message="Because."
    )
    world.apply(obj)
    world.run(obj)
    ready = world.ready(obj)
    assert (ready["reason"], ready["severity"]) == (code, severity)
    assert ready["message"] == "Because."
    assert warned(world, "vnet", code) or warned(world, "vnet", "Because.")
    world.clock.advance(7200.0)
    world.settle(obj)


def test_kusto_database_of_a_busy_cluster_is_not_even_read(tmp_path):
    """Seed rule: a blocked owner means no request for the child at all."""
    cluster = {
        "apiVersion": "kusto.azure.com/v1api20240413",
        "kind": "Cluster",
        "metadata": {"name": "trail"},
        "spec": {
            "owner": {"name": "rg"},
            "location": "westeurope",
            "sku": {"name": "Standard_E2ads_v5", "tier": "Standard"},
        },
    }
    database = {
        "apiVersion": "kusto.azure.com/v1api20240413",
        "kind": "Database",
        "metadata": {"name": "clicks"},
        "spec": {
            "owner": {"name": "trail"},
            "readWriteDatabase": {"location": "westeurope", "kind": "ReadWrite"},
        },
    }
    with World(tmp_path, lro=5.0, retry_after=1) as world:
        world.install(GROUPS, "kusto.azure.com/Cluster", "kusto.azure.com/Database")
        world.settled(resource_group())
        world.apply(cluster)
        world.settle(cluster)
        arm_id = annotations(world.read(cluster))[RESOURCE_ID]
        body = {
            **{key: cluster["spec"][key] for key in ("location", "sku")},
            "tags": {"by": "somebody else"},
        }
        world.arm.put(arm_id, "2024-04-13", body)
        world.apply(database)
        world.run(database)
        ready = world.ready(database)
        assert ready["reason"] == "ReconciliationBlocked"
        assert 'Owning cluster is in provisioning state "Updating"' in ready["message"]
        assert [r for r in world.azure.journal if "databases" in r.path.lower()] == []
        world.clock.advance(5.0)
        world.settle(database)
        assert len(world.requests("PUT", "databases")) == 1
