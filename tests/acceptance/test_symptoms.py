"""Each row of the guide's table of symptoms, provoked: what it names is what is seen."""

import re
import urllib.error
import urllib.request
from contextlib import ExitStack
from pathlib import Path

import attrs
import pytest
import yaml
from applications import until
from globalconnection import GlobalConnection
from operation import Operation, free_port, resource_for
from world import (
    World,
    postgres_server,
    resource_group,
    role_assignment,
    virtual_network,
)

from asoreconcile.azure.controllers.catalogue import builtin
from asoreconcile.azure.controllers.namespace_annotations import NamespaceAnnotations
from asoreconcile.azure.controllers.record_key_secret import RecordKeySecret
from asoreconcile.azure.controllers.secret_access import SecretAccessCheck
from asoreconcile.azure.reconcile.model.annotations import (
    ALLOWED_SCOPES,
    ALLOWED_TYPES,
    FINALIZER,
    FOREIGN_TAGS,
    IGNORE_FIELDS,
    OPERATOR_NAMESPACE,
    RECONCILE_POLICY,
    RESOURCE_ID,
)
from asoreconcile.azure.reconcile.model.conditions import find_ready
from asoreconcile.azure.reconcile.model.sync_mode import SyncMode
from asoreconcile.base.objects import ObjectKey, annotations, finalizers, key_of, status
from asoreconcile.kube.errors import ApiError, ForbiddenError, NotFoundError
from asoreconcile.kube.resources import (
    CUSTOM_RESOURCE_DEFINITIONS,
    NAMESPACES,
    ApiResource,
)

ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy"
KINDS = (
    "resources.azure.com/ResourceGroup",
    "network.azure.com/VirtualNetwork",
    "network.azure.com/VirtualNetworksSubnet",
    "dbforpostgresql.azure.com/FlexibleServer",
    "authorization.azure.com/RoleAssignment",
)
WEBHOOKS = ApiResource(
    "admissionregistration.k8s.io",
    "v1",
    "validatingwebhookconfigurations",
    "ValidatingWebhookConfiguration",
    namespaced=False,
)


def symptoms():
    """The first cells of the table, by what is in them between backticks."""
    guide = (DEPLOY / "docs" / "operations.md").read_text()
    section = guide.partition("\n## Look at one object\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (.+?) \|", section, re.MULTILINE)
    return [row for row in rows if not row.startswith(("You see", "-"))]


def readiness(port, check):
    """The text of /readyz?verbose, as soon as somebody answers."""
    while True:
        check()
        try:
            with urllib.request.urlopen(
                f"http://127.0.0.1:{port}/readyz?verbose"
            ) as told:
                return told.read().decode()
        except urllib.error.HTTPError as refused:
            with refused:
                return refused.read().decode()
        except OSError:
            continue


def named_in(row):
    return re.findall(r"`([^`]+)`", row)


@pytest.fixture
def make_world(tmp_path):
    with ExitStack() as stack:

        def make(**options):
            world = stack.enter_context(World(tmp_path, **options))
            world.install(*KINDS)
            return world

        yield make


@pytest.fixture
def world(make_world):
    made = make_world()
    made.settled(resource_group())
    return made


@pytest.fixture
def operation(tmp_path):
    with Operation(tmp_path) as running:
        yield running


def reason_of(world, obj, **options):
    world.apply(obj)
    world.run(obj, **options)
    return world.ready(obj)["reason"]


def waiting_for_owner(make_world):
    return {reason_of(make_world(), virtual_network())}


def waiting_for_reference(world):
    world.install("network.azure.com/PublicIPAddress", "network.azure.com/NatGateway")
    owner = {"owner": {"name": "rg"}, "location": "westeurope"}
    named = {"group": "network.azure.com", "kind": "PublicIPAddress", "name": "pip"}
    address, gateway = (
        {
            "apiVersion": "network.azure.com/v20250301",
            "kind": kind,
            "metadata": {"name": name},
            "spec": {**owner, "sku": {"name": "Standard"}, **spec},
        }
        for kind, name, spec in (
            ("PublicIPAddress", "pip", {"publicIPAllocationMethod": "Static"}),
            ("NatGateway", "nat", {"publicIpAddresses": [{"reference": named}]}),
        )
    )
    world.apply(address)
    world.run_once(address)  # claimed: it has an id, and no PUT
    return {reason_of(world, gateway)}


def missing_inputs(world):
    world.settled(virtual_network())
    nowhere = {
        "group": KINDS[0].partition("/")[0],
        "kind": "ResourceGroup",
        "name": "x",
    }
    subnet = {
        "apiVersion": "network.azure.com/v20250301",
        "kind": "VirtualNetworksSubnet",
        "metadata": {"name": "web"},
        "spec": {
            "owner": {"name": "vnet"},
            "addressPrefix": "10.0.1.0/24",
            "networkSecurityGroup": {"reference": nowhere},
        },
    }
    who = {"principalIdFromConfig": {"name": "who", "key": "id"}}
    objs = (subnet, postgres_server(), role_assignment("Reader", **who))
    return {reason_of(world, obj) for obj in objs}


def unchecked_secrets(world):
    check = SecretAccessCheck(
        world.client, builtin(), world.clock, asks_for_certificates=False
    )
    operator = attrs.evolve(world.operator, why_secrets_unchecked=check)
    server = postgres_server()
    reason_of(world, server, operator=operator)
    shown = {one["type"] for one in status(world.read(server))["conditions"]}
    return shown - {"Claim", "Ready"}


def skipped_and_gone(world):
    network = world.settled(virtual_network())
    world.annotate(network, **{RECONCILE_POLICY: "skip"})
    world.azure.remove(annotations(world.read(network))[RESOURCE_ID])
    return {reason_of(world, network), "skip"}


def not_allowed(world):
    refusal = {"code": "AuthorizationFailed", "message": "The client may not."}
    world.azure.faults.answer("PUT", "virtualNetworks", 403, **refusal)
    return {reason_of(world, virtual_network())}


def unreadable_policy(world):
    network = world.settled(virtual_network())
    world.annotate(network, **{RECONCILE_POLICY: "detach-on-delte"})
    world.run(network)
    return {world.ready(network)["reason"], RECONCILE_POLICY}


class Forbidden:
    """The API server, as it answers without the permission."""

    def get(self, resource, key):
        raise ForbiddenError(f"{resource.plural} {key.name}", status=403)


def unreadable_namespace(world):
    world.settled(virtual_network())
    cached = world.operator.namespace_annotations._cache
    namespaces = NamespaceAnnotations(cached, Forbidden(), world.clock)
    operator = attrs.evolve(world.operator, namespace_annotations=namespaces)
    edited = virtual_network(tags={"a": "b"})
    return {reason_of(world, edited, operator=operator)}


def out_of_reach(world):
    """Each annotation alone forbids a network of its own."""
    seen = set()
    for name, allowed in (
        (ALLOWED_SCOPES, "/subscriptions/other"),
        (ALLOWED_TYPES, "Microsoft.Storage"),
    ):
        notes = {ALLOWED_SCOPES: None, name: allowed}
        body = {"metadata": {"annotations": notes}}
        world.client.patch(NAMESPACES, ObjectKey("", "default"), body)
        network = virtual_network(name.rpartition("-")[2])
        seen |= {name, reason_of(world, network)}
    assert world.requests("PUT", "virtualNetworks") == []
    return seen


def other_subscription(world):
    network = world.settled(virtual_network())
    other = GlobalConnection(world.arm, subscription_id="other", source="a/b")
    operator = attrs.evolve(world.operator, connections=other)
    return {reason_of(world, network, operator=operator)}


def managed_by_another(world):
    world.settled(virtual_network("n1", azureName="shared"))
    return {reason_of(world, virtual_network("n2", azureName="shared"))}


def declared_by_another(world):
    network = world.settled(virtual_network("n1", azureName="shared"))
    world.client.create(NAMESPACES, {"metadata": {"name": "other"}})
    theirs = virtual_network("n2", azureName="shared")
    theirs["metadata"]["namespace"] = "other"
    group = annotations(world.read(resource_group()))[RESOURCE_ID]
    theirs["spec"]["owner"] = {"armId": group}
    world.apply(theirs)
    world.delete(network)
    world.run(network)
    return {world.ready(network)["reason"]}


def heir_lacks_something(world):
    manager = world.settled(virtual_network("n1", azureName="shared"))
    world.apply(virtual_network("n2", azureName="shared"))
    world.delete(manager)
    world.run(manager)
    return {world.ready(manager)["reason"]}


def unreadable_key(world):
    def unreadable():
        return RecordKeySecret(Forbidden(), "system", world.clock)()

    operator = attrs.evolve(world.operator, record_key=unreadable)
    return {reason_of(world, virtual_network(), operator=operator)}


def never_accepted(world):
    network = virtual_network()
    refusal = {"code": "InvalidResourceName", "message": "No."}
    world.azure.faults.answer("PUT", "virtualNetworks", 400, **refusal)
    assert reason_of(world, network) == "InvalidResourceName"
    world.delete(network)
    world.run(network)
    assert world.requests("DELETE") == []
    return {reason for *_, reason, text in world.events if "accepted no PUT" in text}


def slow(make_world):
    world = make_world(lro=30.0, retry_after=10)
    world.settled(resource_group())
    return {reason_of(world, virtual_network())}


def hanging_deletion(world):
    network = world.settled(virtual_network())
    refusal = {"code": "InUse", "message": "Subnet web is in use."}
    world.azure.faults.answer("DELETE", "virtualNetworks", 409, **refusal)
    world.delete(network)
    world.run(network)
    assert "Subnet web is in use." in world.ready(network)["message"]
    assert FINALIZER in finalizers(world.read(network))
    world.annotate(network, **{RECONCILE_POLICY: "detach-on-delete"})
    world.run(network)
    assert world.read(network) is None
    assert len(world.requests("DELETE", "virtualNetworks")) == 1
    return set()


def foreign_values(world):
    """A PUT of a sync that looks first takes off a tag of others, as the object asks."""
    world.operator = attrs.evolve(world.operator, sync_mode=SyncMode.COMPARE)
    group = world.settled(resource_group(tags={"team": "red"}))
    world.annotate(group, **{FOREIGN_TAGS: "replace"})
    world.settle(group)
    arm_id = annotations(world.read(group))[RESOURCE_ID]
    body = world.azure.resources()[arm_id]
    world.azure.seed(arm_id, {**body, "tags": {**body["tags"], "cost": "42"}})
    world.clock.advance(3600.0)
    world.settle(group)
    (told,) = (said for said in world.events if said[2] == "ForeignValuesReplaced")
    assert "tags/cost" in told[3]
    return {told[2], IGNORE_FIELDS}


def claimed_by_another(world):
    network = virtual_network()
    network["metadata"]["annotations"] = {OPERATOR_NAMESPACE: "elsewhere"}
    world.apply(network)
    world.run(network)
    assert world.ready(network) is None
    return {world.events[-1][2]}


def not_watched(operation):
    group, watched = resource_group(), resource_group()
    operation.client.create(NAMESPACES, {"metadata": {"name": "team"}})
    watched["metadata"]["namespace"] = "team"
    operation.install(group)
    operation.apply(group)
    port = free_port()
    operation.start_manager(
        *("--health-addr", f"127.0.0.1:{port}"), AZURE_TARGET_NAMESPACES="team"
    )
    operation.apply(watched)
    operation.wait_ready(watched)  # so the other had its time, too
    present = operation.client.get(resource_for(group), key_of(group))
    assert find_ready(present.get("status", {}).get("conditions")) is None
    assert "[+]" in readiness(port, operation.manager.check)
    return set()


def nobody_answers(operation):
    group = resource_group()
    operation.install(group)
    for document in yaml.safe_load_all((DEPLOY / "webhooks.yaml").read_text()):
        if document["kind"] == WEBHOOKS.kind:
            operation.client.create(WEBHOOKS, document)
    with pytest.raises(ApiError) as caught:
        operation.apply(group)
    (text,) = named_in("writes refused: `failed calling webhook`")
    assert text in str(caught.value)
    return {text}


def waits_to_be_ready(operation):
    """A kind that cannot be listed: what is waited for is said by name."""
    operation.install(resource_group())
    port = free_port()
    held = operation.cluster.faults.hold(method="GET", path="/resourcegroups")
    operation.start_manager("--health-addr", f"127.0.0.1:{port}")
    assert held.wait_arrived(60)
    told = readiness(port, operation.manager.check)
    assert "[-]caches failed" in told
    assert "ResourceGroup.resources.azure.com: not synced" in told
    return set()


def not_run(operation):
    group, port = resource_group(), free_port()
    operation.install(group)
    operation.apply(group)
    operation.start_manager("--health-addr", f"127.0.0.1:{port}")
    operation.wait_ready(group)
    name = "resourcegroups.resources.azure.com"
    operation.client.delete(CUSTOM_RESOURCE_DEFINITIONS, ObjectKey("", name))
    until(lambda: "ResourceGroup" in readiness(port, operation.manager.check))
    return {"asoreconcile_kind_not_running"}


def no_settings(tmp_path):
    """Only a kubelet says so; what makes it do is that no pod starts without the Secret."""
    del tmp_path
    found = []
    for document in yaml.safe_load_all((DEPLOY / "operator.yaml").read_text()):
        if document["kind"] == "Deployment":
            (container,) = document["spec"]["template"]["spec"]["containers"]
            found += [source["secretRef"] for source in container["envFrom"]]
    assert found == [{"name": "aso-controller-settings"}]  # not optional
    return {"CreateContainerConfigError", "aso-controller-settings"}


def version_not_served(operation):
    network = virtual_network()
    network["metadata"]["namespace"] = "default"
    operation.install(network)
    other = {**network, "apiVersion": "network.azure.com/v1api20240301"}
    assert other["apiVersion"] != network["apiVersion"]
    with pytest.raises(NotFoundError):
        operation.client.create(resource_for(other), other)
    return set()


PROVOKED = {
    "no condition at all": not_watched,
    "`WaitingForOwner`": waiting_for_owner,
    "`WaitingForReference`": waiting_for_reference,
    "`ReferenceNotFound`, `SecretNotFound`, `ConfigMapNotFound`": missing_inputs,
    "`SecretsUnchecked`": unchecked_secrets,
    "`AzureResourceNotFound` with policy `skip`": skipped_and_gone,
    "`AuthorizationFailed`": not_allowed,
    "`NamespaceUnreadable`": unreadable_namespace,
    "`ReconcilePolicyUnreadable`": unreadable_policy,
    "`NotAllowedInNamespace`": out_of_reach,
    "`SubscriptionMismatch`": other_subscription,
    "`AlreadyManaged`": managed_by_another,
    "a deletion with `HandingOver`": heir_lacks_something,
    "a deletion with `DeclaredByAnother`": declared_by_another,
    "`RecordKeyUnreadable`": unreadable_key,
    "event `NotDeletedInAzure` after a PUT that Azure refused": never_accepted,
    "`Reconciling` for long": slow,
    "a deletion that hangs": hanging_deletion,
    "event `ForeignValuesReplaced`": foreign_values,
    "event `Overlap`": claimed_by_another,
    "writes refused: `failed calling webhook`": nobody_answers,
    "a pod that is not ready": waits_to_be_ready,
    "pods in `CreateContainerConfigError`": no_settings,
    "the kind's version that you know is refused": version_not_served,
    "no object of a kind is reconciled": not_run,
}


def test_every_row_of_the_table_is_provoked():
    assert set(symptoms()) == set(PROVOKED)


@pytest.mark.parametrize("row", symptoms())
def test_what_a_row_names_is_what_is_seen(row, request):
    provoke = PROVOKED[row]
    (fixture,) = provoke.__code__.co_varnames[: provoke.__code__.co_argcount]
    seen = provoke(request.getfixturevalue(fixture))
    assert set(named_in(row)) <= seen
