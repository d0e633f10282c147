"""What is special about a kind, through the whole reconciler against the simulator."""

import base64

import pytest
from world import World, resource_group, role_assignment, virtual_network

from asoreconcile.azure.reconcile.model.annotations import (
    CANCEL_SUBSCRIPTION,
    MAINTENANCE_WINDOWS,
    RECONCILE_POLICY,
    RESOURCE_ID,
)
from asoreconcile.base.objects import ObjectKey, annotations
from asoreconcile.kube.resources import SECRETS

GROUPS = "resources.azure.com/ResourceGroup"


@pytest.fixture(scope="module")
def start(module_path):
    with World(module_path, lro=5.0, retry_after=1) as running:
        running.install(GROUPS)
        running.settled(resource_group())
        yield running


def cr(api_version, kind, name, owner="rg", **spec):
    obj = {
        "apiVersion": api_version,
        "kind": kind,
        "metadata": {"name": name},
        "spec": spec,
    }
    if owner:
        obj["spec"]["owner"] = {"name": owner}
    return obj


def ready(world, *objs):
    for obj in objs:
        world.apply(obj)
        world.settle(obj)


def vault(mode):
    return cr(
        "keyvault.azure.com/v1api20230701",
        "Vault",
        "shop",
        location="westeurope",
        properties={
            "createMode": mode,
            "sku": {"family": "A", "name": "standard"},
            "tenantId": "00000000-0000-0000-0000-000000000001",
        },
    )


def gone(world, obj):
    world.delete(obj)
    assert world.settle(obj) is None


@pytest.mark.parametrize(
    ("mode", "sent", "purges"),
    [("createOrRecover", "recover", 0), ("purgeThenCreate", "default", 1)],
)
def test_i7_a_deleted_vault_is_recovered_or_purged(world, mode, sent, purges):
    world.install("keyvault.azure.com/Vault")
    obj = vault(mode)
    ready(world, obj)
    gone(world, obj)
    ready(world, vault(mode))
    assert world.requests("PUT", "vaults")[-1].body["properties"]["createMode"] == sent
    assert len(world.requests("POST", "/purge")) == purges


@pytest.mark.parametrize("forbids", ["window", "policy", "deleted"])
def test_i7_a_vault_that_may_not_be_changed_is_not_purged(world, forbids):
    """Permission is known before an extension changes anything, as before a PUT."""
    world.install("keyvault.azure.com/Vault")
    ready(world, vault("default"))
    gone(world, vault("default"))
    obj = vault("purgeThenCreate")
    if forbids == "window":
        sunday = "Sun 03:00-03:01 UTC"
        obj["metadata"]["annotations"] = {MAINTENANCE_WINDOWS: sunday}
    world.apply(obj)
    world.run_once(obj)
    before = world.read(obj)
    if forbids == "policy":
        world.annotate(obj, **{RECONCILE_POLICY: "skip"})
    if forbids == "deleted":
        world.delete(obj)
    world.clock.advance(1.0)
    world.run_once(obj, stale=before)
    assert not world.requests("POST", "/purge")


def subnet(name="web"):
    return cr(
        "network.azure.com/v20250301",
        "VirtualNetworksSubnet",
        name,
        owner="vnet",
        addressPrefix="10.0.1.0/24",
    )


def test_a_network_s_subnets_survive_its_own_puts(world):
    world.install(
        "network.azure.com/VirtualNetwork", "network.azure.com/VirtualNetworksSubnet"
    )
    ready(world, virtual_network(), subnet())
    ready(world, virtual_network(tags={"edited": "yes"}))
    put = world.requests("PUT", "virtualNetworks/vnet")[-1]
    assert [s["name"] for s in put.body["properties"]["subnets"]] == ["web"]
    assert any(id_.endswith("/subnets/web") for id_ in world.azure.resources())


def test_a_private_endpoint_waits_for_its_approval(world):
    world.install(
        "network.azure.com/VirtualNetwork",
        "network.azure.com/VirtualNetworksSubnet",
        "network.azure.com/PrivateEndpoint",
    )
    ready(world, virtual_network(), subnet())
    group = f"/subscriptions/{world.azure.subscription_id}/resourceGroups/rg"
    account = f"{group}/providers/Microsoft.Storage/storageAccounts/account"
    world.azure.seed(account, {"location": "westeurope"})
    endpoint = cr(
        "network.azure.com/v20250301",
        "PrivateEndpoint",
        "blobs",
        location="westeurope",
        subnet={
            "reference": {
                "group": "network.azure.com",
                "kind": "VirtualNetworksSubnet",
                "name": "web",
            }
        },
        manualPrivateLinkServiceConnections=[
            {
                "name": "blobs",
                "groupIds": ["blob"],
                "requestMessage": "please",
                "privateLinkServiceReference": {"armId": account},
            }
        ],
    )
    world.apply(endpoint)
    world.run(endpoint)
    world.clock.advance(5.0)
    pending = {"status": "Pending", "description": "please"}
    _set_connection(world, pending)
    for _ in range(3):
        world.run(endpoint)
        world.clock.advance(5.0)
    assert world.ready(endpoint)["reason"] == "PostReconciliationFailure"
    assert "Pending" in world.ready(endpoint)["message"]
    _set_connection(world, {"status": "Approved"})
    world.settle(endpoint)


def _set_connection(world, state):
    (id_,) = [i for i in world.azure.resources() if "/privateEndpoints/" in i]
    body = world.azure.resources()[id_]
    (connection,) = body["properties"]["manualPrivateLinkServiceConnections"]
    connection["properties"]["privateLinkServiceConnectionState"] = state
    world.azure.seed(id_, body)


def _shared_link(world):
    """A watcher, a SQL server, and a link from one to the other."""
    world.install(
        "databasewatcher.azure.com/Watcher",
        "databasewatcher.azure.com/SharedPrivateLink",
        "sql.azure.com/Server",
    )
    version = "databasewatcher.azure.com/v20241001preview"
    server = cr("sql.azure.com/v20250101", "Server", "shop", location="westeurope")
    ready(world, cr(version, "Watcher", "watcher", location="westeurope"), server)
    reference = {"group": "sql.azure.com", "kind": "Server", "name": "shop"}
    return server, cr(
        version,
        "SharedPrivateLink",
        "to-shop",
        owner="watcher",
        groupId="sqlServer",
        requestMessage="please",
        privateLinkResourceReference=reference,
    )


def _approvals(world):
    return world.requests("PUT", "/privateEndpointConnections/")


def test_a_shared_private_link_approves_the_connection_that_it_opened(world):
    _, link = _shared_link(world)

    ready(world, link)

    (approval,) = _approvals(world)
    state = approval.body["properties"]["privateLinkServiceConnectionState"]
    assert state["status"] == "Approved"
    assert "/servers/shop/privateEndpointConnections/to-shop-" in approval.path


@pytest.mark.parametrize(
    ("state", "told"),
    [("Pending", "policy of shop is skip"), ("Rejected", "was rejected")],
)
def test_a_connection_that_is_not_ours_to_approve_stays(world, state, told):
    server, link = _shared_link(world)
    world.apply({**server, "metadata": {"name": "shop", "annotations": SKIP}})
    world.apply(link)
    world.run(link)
    (id_,) = [i for i in world.azure.resources() if "/privateEndpointConn" in i]
    body = world.azure.resources()[id_]
    body["properties"]["privateLinkServiceConnectionState"]["status"] = state
    world.azure.seed(id_, body)

    for _ in range(3):
        world.clock.advance(5.0)
        world.run(link)

    assert told in world.ready(link)["message"]
    assert not _approvals(world)


SKIP = {"serviceoperator.azure.com/reconcile-policy": "skip"}


@pytest.mark.parametrize("cancels", [True, False])
def test_an_alias_cancels_its_subscription_on_request_only(world, cancels):
    world.install("subscription.azure.com/Alias")
    alias = cr(
        "subscription.azure.com/v20211001",
        "Alias",
        "team",
        owner="",
        properties={"displayName": "team", "workload": "Production"},
    )
    body = {"properties": {"subscriptionId": "11111111-0000-0000-0000-000000000001"}}
    world.azure.seed("/providers/Microsoft.Subscription/aliases/team", body)
    cancel = "/subscriptions/11111111-0000-0000-0000-000000000001/providers"
    world.apply(alias)
    world.run(alias)
    world.azure.seed("/providers/Microsoft.Subscription/aliases/team", body)
    present = world.settle(alias)
    override = "serviceoperator.azure.com/child-resource-id-override"
    assert annotations(present)[override] == (
        "/subscriptions/11111111-0000-0000-0000-000000000001"
    )
    world.azure.faults.answer("POST", "Subscription/cancel", 200, body={})
    world.azure.seed("/providers/Microsoft.Subscription/aliases/team", body)
    enabled = {"state": "Enabled"}
    world.azure.faults.answer("GET", "/subscriptions/11111111", 200, body=enabled)
    if cancels:
        world.annotate(alias, **{CANCEL_SUBSCRIPTION: "true"})
    gone(world, alias)
    order = [r.method for r in world.azure.journal if r.method in ("POST", "DELETE")]
    assert order == (["POST", "DELETE"] if cancels else ["DELETE"])
    assert all(r.path.startswith(cancel) for r in world.requests("POST", "/cancel"))
    reasons = {reason for _, _, reason, _ in world.events}
    assert ("SubscriptionKept" in reasons) is not cancels


def test_a_product_goes_with_its_subscriptions(world):
    world.install("apimanagement.azure.com/Service", "apimanagement.azure.com/Product")
    service = cr(
        "apimanagement.azure.com/v20240501",
        "Service",
        "shop",
        location="westeurope",
        publisherEmail="shop@example.com",
        publisherName="shop",
        sku={"name": "Developer", "capacity": 1},
    )
    product = cr(
        "apimanagement.azure.com/v20240501",
        "Product",
        "starter",
        owner="shop",
        displayName="Starter",
    )
    ready(world, service, product)
    gone(world, product)
    first = world.requests("DELETE", "/products/starter")[0]
    assert first.headers["if-match"] == "*"
    assert first.api_version == "2024-05-01"


def test_backup_protection_in_error_is_synced(world):
    world.install(
        "dataprotection.azure.com/BackupVault",
        "dataprotection.azure.com/BackupVaultsBackupInstance",
    )
    settings = [{"datastoreType": "VaultStore", "type": "LocallyRedundant"}]
    backups = cr(
        "dataprotection.azure.com/v20231101",
        "BackupVault",
        "backups",
        location="westeurope",
        properties={"storageSettings": settings},
    )
    instance = cr(
        "dataprotection.azure.com/v20231101",
        "BackupVaultsBackupInstance",
        "disk",
        owner="backups",
    )
    ready(world, backups)
    faults = world.azure.faults
    unprotected = _protection("ProtectionError", "UserErrorMissingPermission")
    faults.answer("PUT", "/backupInstances/disk$", 200, body=unprotected)
    # It is not there before the PUT.
    faults.answer("GET", "/backupInstances/disk$", 404, code="ResourceNotFound")
    faults.answer("GET", "/backupInstances/disk$", 200, body=unprotected)
    faults.answer("POST", "/sync$", 200, body={})
    world.apply(instance)
    world.run(instance)
    ready_condition = world.ready(instance)
    assert ready_condition["reason"] == "PostReconciliationFailure"
    assert "UserErrorMissingPermission" in ready_condition["message"]
    (sync,) = world.requests("POST", "/sync")
    assert sync.body == {"syncType": "Default"}
    world.clock.advance(60.0)
    world.settle(instance)


def _protection(status, code):
    details = {"status": status, "errorDetails": {"code": code, "message": "No."}}
    name = "backupVaults/backups/backupInstances/disk"
    return {
        "id": f"/subscriptions/s/resourceGroups/rg/providers/x/{name}",
        "name": "disk",
        "properties": {"protectionStatus": details},
    }


def test_a_credential_is_asked_for_once_and_waited_for(world):
    world.install("redhatopenshift.azure.com/HcpOpenShiftCluster")
    cluster = cr(
        "redhatopenshift.azure.com/v1api20260630preview",
        "HcpOpenShiftCluster",
        "hcp",
        location="westeurope",
        operatorSpec={
            "secrets": {"adminCredentials": {"name": "hcp", "key": "kubeconfig"}}
        },
    )
    monitor = (
        f"{world.azure.url}/subscriptions/{world.azure.subscription_id}/providers"
        "/Microsoft.RedHatOpenShift/locations/global/operationresults/1"
        "?api-version=2026-06-30-preview"
    )
    world.azure.faults.answer(
        "POST",
        "requestAdminCredential",
        202,
        headers={"Location": monitor, "Retry-After": "1"},
        body={},
    )
    waiting = {"Location": monitor, "Retry-After": "1"}
    polls = "operationresults/1$"
    world.azure.faults.answer("GET", polls, 202, headers=waiting, body={}, times=2)
    world.azure.faults.answer("GET", polls, 200, body={"kubeconfig": "apiVersion: v1"})
    ready(world, cluster)
    secret = world.client.get(SECRETS, ObjectKey("default", "hcp"))
    assert base64.b64decode(secret["data"]["kubeconfig"]) == b"apiVersion: v1"
    assert len(world.requests("POST", "requestAdminCredential")) == 1


def test_children_of_a_busy_owner_cost_a_handful_of_its_reads(world):
    world.install("kusto.azure.com/Cluster", "kusto.azure.com/Database")
    cluster = cr(
        "kusto.azure.com/v1api20240413",
        "Cluster",
        "trail",
        location="westeurope",
        sku={"name": "Standard_E2ads_v5", "tier": "Standard"},
    )
    ready(world, cluster)
    arm_id = annotations(world.read(cluster))[RESOURCE_ID]
    sent = {key: cluster["spec"][key] for key in ("location", "sku")}
    world.arm.put(arm_id, "2024-04-13", {**sent, "tags": {"x": "y"}})
    before = len(world.requests("GET", arm_id))
    databases = [
        cr(
            "kusto.azure.com/v1api20240413",
            "Database",
            f"d{number}",
            owner="trail",
            readWriteDatabase={"location": "westeurope", "kind": "ReadWrite"},
        )
        for number in range(40)
    ]
    for database in databases:
        world.apply(database)
        world.run(database)
        world.clock.advance(0.01)  # a hundred passes a second
    assert world.ready(databases[-1])["reason"] == "ReconciliationBlocked"
    assert len(world.requests("GET", arm_id)) - before == 1
    assert world.requests("GET", "/databases") == []
    world.clock.advance(3.0)
    other = {"id": arm_id + "2", "properties": {"state": "Running"}}
    world.azure.faults.answer("GET", "/clusters/trail$", 200, body=other)
    world.run(databases[0])
    assert world.requests("PUT", "/databases") == []  # nothing was said of the owner
    before += 1
    world.clock.advance(300.0)
    for database in databases:
        world.run(database)
        world.clock.advance(0.01)
    reads = [r for r in world.requests("GET", arm_id) if "/databases" not in r.path]
    assert len(world.requests("PUT", "/databases")) == 40
    assert len(reads) - before <= 3


def test_a_load_balancer_keeps_rules_of_others(world):
    world.install("network.azure.com/LoadBalancer")

    def balancer(**more):
        mine = {"name": "mine", "protocol": "Tcp", "frontendPort": 80}
        return cr(
            "network.azure.com/v20250301",
            "LoadBalancer",
            "front",
            location="westeurope",
            inboundNatRules=[mine],
            **more,
        )

    ready(world, balancer())
    (id_,) = [i for i in world.azure.resources() if i.endswith("/front")]
    body = world.azure.resources()[id_]
    theirs = {"name": "theirs", "properties": {"protocol": "Udp", "frontendPort": 53}}
    body["properties"]["inboundNatRules"] += [theirs]
    world.azure.seed(id_, body)
    ready(world, balancer(tags={"edited": "yes"}))
    rules = world.requests("PUT", "loadBalancers")[-1].body["properties"]
    assert {rule["name"] for rule in rules["inboundNatRules"]} == {"mine", "theirs"}


def test_a_role_is_found_by_its_name(world):
    world.install("authorization.azure.com/RoleAssignment")
    who = {"principalId": "00000000-0000-0000-0000-000000000001"}
    ready(
        world, role_assignment("reader", **who), role_assignment("Reader", "r2", **who)
    )
    ids = {
        r.body["properties"]["roleDefinitionId"].rpartition("/")[2]
        for r in world.requests("PUT", "roleAssignments")
    }
    assert ids == {"acdd72a7-3385-48ef-bd42-f606fba81ae7"}
    assert len(world.requests("GET", "roleDefinitions")) <= 1
