"""The documents' answers to the most frequent questions of users.

One manager process serves all tests of this file; each has resources of its own.
"""

import pytest
from argohealth import argo_health
from operation import Operation
from world import postgres_server, resource_group, role_assignment, virtual_network

from asoreconcile.azure.reconcile.model.annotations import (
    FINALIZER,
    OPERATOR_NAMESPACE,
    OWNER_UID,
    RECONCILE_POLICY,
    RESOURCE_ID,
)
from asoreconcile.base.objects import (
    ObjectKey,
    annotations,
    finalizers,
    generation,
    labels,
    owner_references,
)
from asoreconcile.kube.resources import CONFIG_MAPS, NAMESPACES, SECRETS

FOREIGN = "example.com/guard"
PRINCIPAL = "11111111-2222-4333-8444-555555555555"
# Computed from the published seeds: namespace default, owner resource group myrg.
VECTOR = "69e1d155-c4e0-5c75-a5fc-7d990bc7325d"


def subnet(name, /, **owner):
    return {
        "apiVersion": "network.azure.com/v20250301",
        "kind": "VirtualNetworksSubnet",
        "metadata": {"name": name},
        "spec": {"owner": owner, "addressPrefix": "10.0.1.0/24"},
    }


def peering(name, owner, /, **remote):
    return {
        "apiVersion": "network.azure.com/v20250301",
        "kind": "VirtualNetworksVirtualNetworkPeering",
        "metadata": {"name": name},
        "spec": {
            "owner": {"name": owner},
            "remoteVirtualNetwork": {"reference": remote},
        },
    }


def identity(name):
    return {
        "apiVersion": "managedidentity.azure.com/v1api20230131",
        "kind": "UserAssignedIdentity",
        "metadata": {"name": name},
        "spec": {
            "owner": {"name": "rg"},
            "location": "westeurope",
            "operatorSpec": {
                "configMaps": {
                    key: {"name": f"{name}-facts", "key": key}
                    for key in ("principalId", "tenantId", "clientId")
                }
            },
        },
    }


def redis(name):
    return {
        "apiVersion": "cache.azure.com/v20241101",
        "kind": "Redis",
        "metadata": {"name": name},
        "spec": {
            "owner": {"name": "rg"},
            "location": "westeurope",
            "sku": {"family": "C", "name": "Standard", "capacity": 1},
            "operatorSpec": {
                "secrets": {"primaryKey": {"name": f"{name}-keys", "key": "primary"}}
            },
        },
    }


def assignment(name, owner="rg", namespace="default", **spec):
    obj = role_assignment("Reader", name, principalId=PRINCIPAL, **spec)
    obj["metadata"]["namespace"] = namespace
    obj["spec"]["owner"]["name"] = owner
    return obj


def namespace(name, **notes):
    metadata = {"name": name, "annotations": notes}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}


@pytest.fixture(scope="module")
def operation(tmp_path_factory):
    with Operation(tmp_path_factory.mktemp("questions")) as running:
        group = resource_group()
        running.install(
            *(group, virtual_network(), subnet("any"), peering("any", "any")),
            *(identity("any"), redis("any"), postgres_server(), assignment("any")),
        )
        running.answer_at_once(
            "Network/virtualNetworks",
            "Network/virtualNetworks/subnets",
            "Network/virtualNetworks/virtualNetworkPeerings",
            "Cache/redis",
            "DBforPostgreSQL/flexibleServers",
        )
        running.start_manager(AZURE_SYNC_PERIOD="never")
        running.apply(group)
        running.wait_ready(group)
        yield running


@pytest.fixture
def ready(operation):
    """Apply objects and wait until all are Ready."""

    def applied(*objs):
        for obj in objs:
            operation.apply(obj)
        return [operation.wait_ready(obj) for obj in objs]

    return applied


def id_of(operation, rest):
    subscription = operation.azure.subscription_id
    return f"/subscriptions/{subscription}/resourceGroups/{rest}"


def network_id(operation, name):
    return id_of(operation, f"rg/providers/Microsoft.Network/virtualNetworks/{name}")


def in_azure(operation, fragment):
    return [id_ for id_ in operation.azure.resources() if fragment in id_]


def test_detach_on_delete_removes_the_object_and_leaves_azure_alone(operation, ready):
    obj = virtual_network("detached")
    ready(obj)
    detach = {RECONCILE_POLICY: "detach-on-delete"}
    operation.edit(obj, {"metadata": {"annotations": detach}})
    operation.delete(obj)
    operation.wait_gone(obj)
    assert operation.requests("DELETE", "detached") == []
    assert in_azure(operation, "detached")


def test_a_namespace_s_policy_is_inherited_and_wakes_its_objects(operation, ready):
    operation.client.create(NAMESPACES, namespace("team", **{RECONCILE_POLICY: "skip"}))
    obj = resource_group("inherits")
    obj["metadata"]["namespace"] = "team"
    operation.apply(obj)
    operation.wait_condition(obj, "AzureResourceNotFound")
    assert operation.requests("PUT", "inherits") == []
    nothing = {"metadata": {"annotations": {RECONCILE_POLICY: None}}}
    operation.client.patch(NAMESPACES, ObjectKey("", "team"), nothing)
    operation.wait_ready(obj)
    assert in_azure(operation, "inherits")


def test_a_finalizer_of_others_keeps_the_object_until_they_clear_it(operation, ready):
    obj = virtual_network("guarded")
    obj["metadata"]["finalizers"] = [FOREIGN]
    ready(obj)
    operation.delete(obj)
    left = operation.wait_for(obj, lambda found: FINALIZER not in finalizers(found))
    assert finalizers(left) == [FOREIGN]
    assert not in_azure(operation, "guarded")
    operation.edit(obj, {"metadata": {"finalizers": None}})
    operation.wait_gone(obj)
    assert len(operation.requests("DELETE", "guarded")) == 1


def test_gitops_and_the_operator_share_an_object(operation, ready):
    """Server-side apply of a manifest that knows nothing of the operator's marks."""
    obj = virtual_network("gitops")
    ready(obj)
    before = operation.read(obj)
    again = operation.apply(virtual_network("gitops"))
    assert again["metadata"]["resourceVersion"] == before["metadata"]["resourceVersion"]
    operation.apply(virtual_network("gitops", tags={"from": "git"}))
    after = operation.wait_ready(obj)
    assert finalizers(after) == finalizers(before)
    assert annotations(after)[RESOURCE_ID] == annotations(before)[RESOURCE_ID]
    assert in_azure(operation, "gitops")


def test_marks_that_are_stripped_come_back_by_themselves(operation, ready):
    """A replace takes all that the manifest does not say."""
    obj = virtual_network("stripped")
    ready(obj)
    stripped = {"annotations": None, "finalizers": None, "labels": None}
    operation.edit(obj, {"metadata": stripped})
    healed = operation.wait_for(obj, lambda o: FINALIZER in finalizers(o))
    assert generation(healed) == 1
    assert annotations(healed)[OPERATOR_NAMESPACE]
    assert annotations(healed)[RESOURCE_ID] == network_id(operation, "stripped")
    assert OWNER_UID in labels(healed)
    assert len(in_azure(operation, "stripped")) == 1
    operation.delete(obj)
    operation.wait_gone(obj)
    assert not in_azure(operation, "stripped")


def test_owner_names_order_the_creation_however_it_was_applied(operation, ready):
    objs = [
        subnet("first-applied", name="second-applied"),
        virtual_network("second-applied", owner="last-applied"),
        resource_group("last-applied"),
    ]
    ready(*objs)
    created = [
        r.path.rpartition("/")[2].removesuffix("$")
        for r in list(operation.azure.journal)
        if r.method == "PUT" and r.path.endswith("-applied") and r.status < 300
    ]
    order = ["last-applied", "second-applied", "first-applied"]
    assert list(dict.fromkeys(created)) == order


def test_owners_and_references_are_given_by_name_or_by_id(operation, ready):
    one, other = virtual_network("one"), virtual_network("other")
    by_name = {"group": "network.azure.com", "kind": "VirtualNetwork", "name": "other"}
    ready(
        peering("by-name", "one", **by_name),
        peering("by-id", "one", armId=network_id(operation, "other")),
        subnet("owned-by-id", armId=network_id(operation, "one")),
        *(one, other),
    )
    for name in ("by-name", "by-id"):
        put = operation.requests("PUT", f"one/virtualNetworkPeerings/{name}")[-1]
        remote = put.body["properties"]["remoteVirtualNetwork"]
        assert remote == {"id": network_id(operation, "other")}
    assert in_azure(operation, "virtualNetworks/one/subnets/owned-by-id")
    (owner,) = owner_references(operation.read(peering("by-name", "one")))
    assert owner["name"] == "one"
    assert owner_references(operation.read(subnet("owned-by-id"))) == []


def test_values_go_out_into_config_maps_and_come_in_from_them(operation, ready):
    source = {"name": "app-facts", "key": "principalId"}
    reader = role_assignment("Reader", "imports", principalIdFromConfig=source)
    ready(reader, identity("app"))
    facts = operation.client.get(CONFIG_MAPS, ObjectKey("default", "app-facts"))["data"]
    assert set(facts) == {"principalId", "tenantId", "clientId"}
    assert facts["tenantId"] == operation.azure.tenant_id
    (id_,) = in_azure(operation, "userAssignedIdentities/app")
    properties = operation.azure.resources()[id_]["properties"]
    assert facts["principalId"] == properties["principalId"]
    sent = [r.body["properties"] for r in operation.requests("PUT", "roleAssignments")]
    assert facts["principalId"] in [properties["principalId"] for properties in sent]


def test_values_go_out_into_secrets_and_come_in_from_them(operation, ready):
    """Here from one resource into another, to show both ends."""
    server = postgres_server("imports")
    source = {"name": "source-keys", "key": "primary"}
    server["spec"]["administratorLoginPassword"] = source
    ready(server, redis("source"))
    (put,) = operation.requests("PUT", "flexibleServers/imports")
    secret = operation.client.get(SECRETS, ObjectKey("default", "source-keys"))
    assert set(secret["data"]) == {"primary"}
    sent = put.body["properties"]["administratorLoginPassword"]
    listed = operation.requests("POST", "source/listKeys")
    assert sent
    assert len(listed) == 1


def test_a_role_assignment_is_named_by_uuid_of_what_it_is(operation, ready):
    """The same name in another namespace is another assignment."""
    operation.client.create(NAMESPACES, namespace("other"))
    group = resource_group("myrg")
    twin = resource_group("myrg")
    twin["metadata"]["namespace"] = "other"
    # Of two objects with one id one manages it; the other may only look on.
    twin["metadata"]["annotations"] = {RECONCILE_POLICY: "skip"}
    here = assignment("myroleassignment", owner="myrg")
    there = assignment("myroleassignment", owner="myrg", namespace="other")
    *_, first, second = ready(group, twin, here, there)
    first_id, second_id = (annotations(o)[RESOURCE_ID] for o in (first, second))
    assert first_id.endswith(f"/roleAssignments/{VECTOR}")
    assert second_id.rpartition("/")[0] == first_id.rpartition("/")[0]
    assert second_id != first_id


def test_a_role_assignment_s_own_azure_name_wins(operation, ready):
    own = "0c7b3a52-6c35-4b4b-a8f3-3d5a0f5f1f11"
    (obj,) = ready(assignment("named", azureName=own))
    assert annotations(obj)[RESOURCE_ID].endswith(f"/roleAssignments/{own}")


def test_a_role_assignment_that_azure_will_not_change_says_so(operation):
    own = "5d0a4a52-5a0b-4f8e-8f14-8c4b3c1b7a10"
    code = "RoleAssignmentUpdateNotPermitted"
    words = "Tenant ID, application ID, principal ID, and scope cannot be updated."
    path = f"roleAssignments/{own}"
    operation.azure.faults.answer("PUT", path, 409, code=code, message=words)
    obj = assignment("unchangeable", azureName=own)
    operation.apply(obj)
    assert operation.wait_condition(obj, code)["message"] == words


def test_what_exists_already_is_adopted(operation, ready):
    """The same subscription, type and name are the same resource."""
    id_ = network_id(operation, "adopted")
    found = {"location": "westeurope", "tags": {"made": "by hand"}, "properties": {}}
    operation.azure.seed(id_, found)
    before = len(operation.azure.resources())
    (obj,) = ready(virtual_network("adopted", tags={"made": "to order"}))
    assert annotations(obj)[RESOURCE_ID] == id_
    assert len(operation.azure.resources()) == before
    assert operation.azure.resources()[id_]["tags"] == {"made": "to order"}


def test_argo_s_health_script_tells_the_three_states_apart(operation):
    obj = virtual_network("argo", owner="not-there-yet")
    applied = operation.apply(obj)
    assert argo_health(applied)[0] == "Progressing"
    operation.wait_condition(obj, "WaitingForOwner")
    state, message = argo_health(operation.read(obj))
    assert state == "Degraded"
    assert "not-there-yet" in message
    operation.apply(resource_group("not-there-yet"))
    assert argo_health(operation.wait_ready(obj))[0] == "Healthy"
