"""The documents' promises about particular kinds."""

import pytest
from world import World, resource_group, virtual_network

GROUPS = "resources.azure.com/ResourceGroup"
NETWORK = "network.azure.com/v20250301"


@pytest.fixture(scope="module")
def start(module_path):
    with World(module_path, retry_after=1) as running:
        running.install(GROUPS)
        running.settled(resource_group())
        yield running


def id_of(world, rest):
    subscription = world.azure.subscription_id
    return f"/subscriptions/{subscription}/resourceGroups/rg/providers/{rest}"


def cr(api_version, kind, name, owner="rg", **spec):
    return {
        "apiVersion": api_version,
        "kind": kind,
        "metadata": {"name": name},
        "spec": {"owner": {"name": owner}, **spec},
    }


@pytest.fixture
def endpoint(world):
    """A private endpoint that asks for a connection."""
    world.install(
        "network.azure.com/VirtualNetwork",
        "network.azure.com/VirtualNetworksSubnet",
        "network.azure.com/PrivateEndpoint",
    )
    subnet = cr(
        *(NETWORK, "VirtualNetworksSubnet", "web", "vnet"), addressPrefix="10.0.1.0/24"
    )
    for obj in (virtual_network(), subnet):
        world.apply(obj)
        world.settle(obj)
    account = id_of(world, "Microsoft.Storage/storageAccounts/account")
    world.azure.seed(account, {"location": "westeurope"})
    return cr(
        *(NETWORK, "PrivateEndpoint", "blobs"),
        location="westeurope",
        subnet={"reference": {"armId": subnet_id(world)}},
        manualPrivateLinkServiceConnections=[
            {
                "name": "blobs",
                "groupIds": ["blob"],
                "privateLinkServiceReference": {"armId": account},
            }
        ],
    )


def subnet_id(world):
    return id_of(world, "Microsoft.Network/virtualNetworks/vnet/subnets/web")


def passes(world, obj, count=4):
    for _ in range(count):
        world.clock.advance(world.run(obj).requeue_after_seconds)


def set_connection(world, state):
    """Return the decision of the other end's owner, or None if Azure lists no
    connection.
    """
    (id_,) = [i for i in world.azure.resources() if "/privateEndpoints/" in i]
    body = world.azure.resources()[id_]
    connections = body["properties"]["manualPrivateLinkServiceConnections"]
    if state is None:
        body["properties"]["manualPrivateLinkServiceConnections"] = []
    else:
        said = {"status": state, "description": "by its owner"}
        connections[0]["properties"]["privateLinkServiceConnectionState"] = said
    world.azure.seed(id_, body)


@pytest.mark.parametrize("state", ["Pending", "Rejected", "Disconnected"])
def test_a_private_endpoint_is_not_ready_until_it_is_approved(world, endpoint, state):
    world.apply(endpoint)
    world.run(endpoint)
    set_connection(world, state)
    passes(world, endpoint)
    ready = world.ready(endpoint)
    assert (ready["status"], ready["reason"]) == ("False", "PostReconciliationFailure")
    assert state in ready["message"]
    set_connection(world, "Approved")
    world.settle(endpoint)


def test_a_private_endpoint_without_manual_connections_is_ready(world, endpoint):
    world.apply(endpoint)
    world.run(endpoint)
    set_connection(world, None)
    world.settle(endpoint)


@pytest.mark.parametrize(
    ("state", "blocked"),
    [
        ("Creating", True),
        ("Deleting", True),
        ("Moving", True),
        ("Succeeded", False),
        ("failed", False),
        ("Canceled", False),
    ],
)
def test_a_kusto_database_waits_while_its_cluster_is_in_transition(
    world, state, blocked
):
    world.install("kusto.azure.com/Cluster", "kusto.azure.com/Database")
    sku = {"name": "Dev(No SLA)_Standard_D11_v2", "tier": "Basic", "capacity": 1}
    version = "kusto.azure.com/v1api20240413"
    cluster = cr(version, "Cluster", "logs", location="westeurope", sku=sku)
    database = cr(
        *(version, "Database", "events", "logs"),
        readWriteDatabase={"kind": "ReadWrite", "location": "westeurope"},
    )
    world.apply(cluster)
    world.settle(cluster)
    id_ = id_of(world, "Microsoft.Kusto/clusters/logs")
    body = world.azure.resources()[id_]
    body["properties"]["provisioningState"] = state
    world.azure.seed(id_, body)
    world.apply(database)
    world.run(database)
    puts = world.requests("PUT", "databases/events")
    if blocked:
        ready = world.ready(database)
        assert ready["reason"] == "ReconciliationBlocked"
        said = f'Owning cluster is in provisioning state "{state}"'
        assert ready["message"] == said
    assert (puts == []) is blocked


@pytest.mark.parametrize(
    ("state", "blocked"),
    [
        ("Creating", True),
        ("Updating", True),
        ("Stopping", True),
        ("Succeeded", False),
        ("Failed", False),
        ("Canceled", False),
    ],
)
def test_a_managed_cluster_is_put_in_a_stable_state_only(world, state, blocked):
    world.install("containerservice.azure.com/ManagedCluster")
    version = "containerservice.azure.com/v1api20250801"
    obj = cr(version, "ManagedCluster", "aks", location="westeurope")
    id_ = id_of(world, "Microsoft.ContainerService/managedClusters/aks")
    seeded = {
        "location": "westeurope",
        "properties": {"provisioningState": state},
    }
    world.azure.seed(id_, seeded)
    world.apply(obj)
    world.run(obj)
    assert (world.requests("PUT", "managedClusters/aks") == []) is blocked
    if blocked:
        assert world.ready(obj)["reason"] == "ReconciliationBlocked"
        assert state in world.ready(obj)["message"]
