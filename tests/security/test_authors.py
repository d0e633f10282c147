"""An author of custom resources of one namespace."""

import base64
import json
import os
import subprocess
import sys
from contextlib import closing
from functools import partial

import attrs
import pytest
from world import World, postgres_server, resource_group, virtual_network

from asoreconcile.azure.arm.credentials import CloudConfig, CredentialError
from asoreconcile.azure.arm.credentials_secret import (
    REQUIRED,
    SecretRules,
    credential_in,
)
from asoreconcile.azure.catalogue.reserved import EXPORT_MARK
from asoreconcile.azure.controllers.admission import Admission
from asoreconcile.azure.controllers.arm_client_factory import ArmClientFactory
from asoreconcile.azure.controllers.azure_connections import is_own_export
from asoreconcile.azure.controllers.catalogue import builtin
from asoreconcile.azure.controllers.credential_resolver import CredentialResolver
from asoreconcile.azure.controllers.reference_grants import (
    REFERENCE_GRANTS,
    ReferenceGrants,
)
from asoreconcile.azure.controllers.webhooks import reach_problems
from asoreconcile.azure.controllers.workload_tokens import WorkloadTokens
from asoreconcile.azure.expressions.confinement import confine
from asoreconcile.azure.reconcile.model.annotations import (
    ALLOWED_SCOPES,
    ALLOWED_TYPES,
    CREDENTIAL_FROM,
    DELETE_POLLER,
    EXPORTS_AS_CREDENTIALS,
    POLLER_ID,
    POLLER_TOKEN,
    PUT_POLLER,
    RECONCILE_POLICY,
    RESOURCE_ID,
)
from asoreconcile.base.objects import ObjectKey, annotations, gvk_of
from asoreconcile.kube.resources import (
    CUSTOM_RESOURCE_DEFINITIONS,
    NAMESPACES,
    SECRETS,
    SERVICE_ACCOUNTS,
)
from asoreconcile.testing.arm.applications import EntraApplication
from asoreconcile.testing.arm.assertions import Federated
from asoreconcile.webhooks.admission import AdmissionRequest, Allowed, Denied

SERVERS = "dbforpostgresql.azure.com/FlexibleServer"


@pytest.fixture(scope="module")
def start(module_path):
    with World(module_path, lro=0.0) as running:
        running.install(
            "resources.azure.com/ResourceGroup", "network.azure.com/VirtualNetwork"
        )
        running.settled(resource_group())
        yield running


def secret(name, **data):
    encoded = {key: base64.b64encode(v.encode()).decode() for key, v in data.items()}
    return {"metadata": {"name": name, "namespace": "default"}, "data": encoded}


def resolver_of(world, factory):
    azure = world.azure
    return CredentialResolver(
        world.client,
        None,
        connect=factory,
        rules=SecretRules(
            cloud=CloudConfig(authority_host=azure.authority, endpoint=azure.url)
        ),
        settings=lambda: None,
        seen=lambda _group_kind: "",
        clock=world.clock,
        tokens=WorkloadTokens(world.client, world.clock),
        may_use_export=partial(is_own_export, world.client, world.operator.record_key),
    )


def request_for(obj, old=None, *, user=None):
    return AdmissionRequest(
        operation="CREATE" if old is None else "UPDATE",
        gvk=gvk_of(obj),
        key=ObjectKey("default", obj["metadata"]["name"]),
        obj=obj,
        old=old,
        subresource="",
        dry_run=False,
        user=user or {},
        options={},
    )


def admitted(obj, old=None, *, check=None):
    checks = [] if check is None else [check]
    admission = Admission(builtin(), cluster_checks=checks)
    return admission.validate(request_for(obj, old))


@pytest.mark.parametrize(
    "name",
    [
        "aso-credential",
        "aso-controller-settings",
        "asoreconcile-webhook-certificate",
        "asoreconcile-record-key",
    ],
)
def test_without_rights_on_secrets_wants_to_read_the_operator_s(world, name):
    """By naming it as the password of a server that the author runs."""
    world.install(SERVERS)
    world.client.create(SECRETS, secret(name, AZURE_CLIENT_SECRET="S3cret-Value"))
    server = postgres_server("mine")
    server["spec"]["administratorLoginPassword"] = {
        "name": name,
        "key": "AZURE_CLIENT_SECRET",
    }
    assert isinstance(admitted(server), Denied)
    world.apply(server)
    world.run(server)
    world.run(server)
    assert name in world.ready(server)["message"]
    assert world.requests("PUT", "flexibleServers") == []


@pytest.mark.parametrize(
    "host",
    [
        "tenant.example",
        "login.microsoftonline.com.tenant.example",
        "login.microsoftonline.com:8443@tenant.example",
        "127.0.0.1",
        "169.254.169.254",
        "kubernetes.default.svc",
    ],
)
@pytest.mark.parametrize(
    "login",
    [
        {},
        {"AUTH_MODE": "workloadidentity"},
        {"AUTH_MODE": "podidentity"},
        {"AZURE_USER_ASSIGNED_IDENTITY_CREDENTIALS": "/var/run/secrets/identity"},
        {"AZURE_CLIENT_SECRET": "its own"},
    ],
    ids=["default", "workload", "pod", "file", "secret"],
)
def test_with_a_cloud_of_its_own_wants_the_operator_s_token(host, login):
    """The token of the pod is good for every identity that trusts the operator."""
    data = {
        "AZURE_SUBSCRIPTION_ID": "s",
        "AZURE_TENANT_ID": "t",
        "AZURE_CLIENT_ID": "c",
        "AZURE_AUTHORITY_HOST": f"https://{host}/",
        "AZURE_RESOURCE_MANAGER_ENDPOINT": f"https://{host}",
        "AZURE_RESOURCE_MANAGER_AUDIENCE": "https://management.core.windows.net/",
        **login,
    }
    encoded = {key: value.encode() for key, value in data.items()}
    rules = SecretRules(allow_clouds=True)
    with pytest.raises(CredentialError):
        credential_in(encoded, rules, origin="Secret shop/aso-credential")


@pytest.mark.parametrize("policy", ["detach-on-delte", "Detach-On-Delete", "skipp"])
def test_with_a_misspelt_policy_loses_no_resource(world, policy):
    network = world.settled(virtual_network())
    world.annotate(network, **{RECONCILE_POLICY: policy})
    world.delete(network)
    world.run(network)
    world.run(network)
    assert world.requests("DELETE") == []


@pytest.mark.parametrize("policy", ["mange", "MANAGE", "manage "])
def test_wants_to_switch_off_the_administrator_s_skip(world, policy):
    body = {"metadata": {"annotations": {RECONCILE_POLICY: "skip"}}}
    world.client.patch(NAMESPACES, ObjectKey("", "default"), body)
    network = virtual_network()
    network["metadata"]["annotations"] = {RECONCILE_POLICY: policy}
    assert isinstance(admitted(network), Denied)
    world.apply(network)
    world.run(network)
    world.run(network)
    assert world.requests("PUT", "virtualNetworks") == []


@pytest.mark.parametrize(
    ("path", "is_read"),
    [
        ("/subscriptions/other/providers/Microsoft.Network/locations/w/o/1", False),
        ("/subscriptions/{own}/providers/Microsoft.KeyVault/vaults/theirs", False),
        ("/subscriptions/{own}/../other/resourceGroups/theirs", False),
        # Of its own subscription and provider: ASO can have begun it.
        ("/subscriptions/{own}/providers/Microsoft.Network/locations/w/o/1", True),
    ],
    ids=["subscription", "provider", "dots", "operation"],
)
@pytest.mark.parametrize("poller", [PUT_POLLER, DELETE_POLLER])
def test_wants_another_team_s_resource_read_by_a_forged_token(
    world, path, is_read, poller
):
    network = world.settled(virtual_network())
    own = annotations(world.read(network))[RESOURCE_ID].split("/")[2]
    url = world.azure.url + path.format(own=own)
    type_ = "GenericResource" if poller == PUT_POLLER else "GenericDeleteResponse"
    inner = {"type": "loc", "pollURL": url, "state": "InProgress"}
    token = json.dumps({"type": type_, "token": inner})
    error = {"error": {"code": "Quoted", "message": "S3cret-Value"}}
    world.azure.faults.answer("GET", "/o/1|theirs", 400, body=error, times=9)
    world.annotate(network, **{POLLER_TOKEN: token, POLLER_ID: poller})
    if poller == DELETE_POLLER:
        world.delete(network)
    world.run(network)
    world.run(network)
    assert bool(world.requests("GET", "/o/1")) is is_read
    assert world.requests("GET", "theirs") == []
    assert "S3cret-Value" not in json.dumps([world.read(network), world.events])


def test_with_a_credential_of_its_own_wants_another_namespace_s_identity(world):
    """With strict workload identity, by naming the client that trusts the other."""
    subject = "system:serviceaccount:theirs:aso-workload"
    trusted = Federated("https://kubernetes.default.svc", subject)
    client_id = "00000000-0000-0000-0000-0000000000cc"
    world.azure.entra.register(EntraApplication(client_id, federated=(trusted,)))
    azure, cluster = world.azure, world.client
    cluster.create(NAMESPACES, {"metadata": {"name": "theirs"}})
    settings = {**azure.settings(), "AZURE_CLIENT_ID": client_id}
    values = {key: settings[key] for key in REQUIRED}
    for namespace in ("theirs", "default"):
        made = secret("aso-credential", **values)
        made["metadata"]["namespace"] = namespace
        cluster.create(SECRETS, made)
    factory = ArmClientFactory(clock=world.clock)
    resolver = resolver_of(world, factory)

    def signed_in(namespace):
        obj = virtual_network()
        obj["metadata"]["namespace"] = namespace
        return resolver.for_object(obj).client.token(CloudConfig().scope)

    with pytest.raises(CredentialError, match="create the ServiceAccount"):
        signed_in("default")
    for namespace in ("theirs", "default"):
        account = {"metadata": {"name": "aso-workload", "namespace": namespace}}
        cluster.create(SERVICE_ACCOUNTS, account)
    assert signed_in("theirs")
    with pytest.raises(CredentialError, match="AADSTS70021"):
        signed_in("default")
    factory.close()


@pytest.mark.parametrize(
    "reach",
    [
        {ALLOWED_SCOPES: "/subscriptions/other"},
        {ALLOWED_SCOPES: ""},
        {ALLOWED_TYPES: "Microsoft.Storage, Microsoft.Resources"},
        {ALLOWED_SCOPES: "subscriptions"},
    ],
    ids=["scope", "nothing", "type", "unreadable"],
)
@pytest.mark.parametrize("when", ["create", "update", "delete"])
def test_outside_its_namespace_s_reach_wants_a_resource(world, reach, when):
    network = virtual_network()
    # An annotation of the object widens nothing.
    network["metadata"]["annotations"] = dict.fromkeys(reach, "/, Microsoft.Network")
    if when != "create":
        network = world.settled(network)
    body = {"metadata": {"annotations": reach}}
    world.client.patch(NAMESPACES, ObjectKey("", "default"), body)
    before = len(world.requests("PUT", "virtualNetworks"))
    if when == "create":
        network["metadata"]["namespace"] = "default"
        denied = admitted(network, check=partial(reach_problems, world.client))
        assert isinstance(denied, Denied) is ("scope" not in str(reach))
        world.apply(network)
    elif when == "update":
        network["spec"]["addressSpace"]["addressPrefixes"] = ["10.7.0.0/16"]
        world.apply(network)
    else:
        world.delete(network)
    world.run(network)
    world.run(network)
    assert world.ready(network)["reason"] == "NotAllowedInNamespace"
    assert len(world.requests("PUT", "virtualNetworks")) == before
    assert world.requests("DELETE", "virtualNetworks") == []


GRANT_CRD = {
    "metadata": {
        "name": "referencegrants.gateway.networking.k8s.io",
        "annotations": {"api-approved.kubernetes.io": "unapproved, of a test"},
    },
    "spec": {
        "group": "gateway.networking.k8s.io",
        "scope": "Namespaced",
        "names": {
            "plural": "referencegrants",
            "singular": "referencegrant",
            "kind": "ReferenceGrant",
            "listKind": "ReferenceGrantList",
        },
        "versions": [
            {
                "name": "v1beta1",
                "served": True,
                "storage": True,
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "x-kubernetes-preserve-unknown-fields": True,
                    }
                },
            }
        ],
    },
}
FROM = {
    "group": "network.azure.com",
    "kind": "VirtualNetwork",
    "namespace": "default",
}
TO = {"group": "resources.azure.com", "kind": "ResourceGroup", "name": "theirs"}


@pytest.mark.parametrize(
    ("grant", "forged"),
    [
        ({"from": [FROM], "to": [TO]}, ""),
        ({"from": [{**FROM, "namespace": "other"}], "to": [TO]}, ""),
        ({"from": [{**FROM, "kind": "RouteTable"}], "to": [TO]}, ""),
        ({"from": [FROM], "to": [{**TO, "name": "other"}]}, ""),
        ({"from": [FROM], "to": [{**TO, "kind": "VirtualNetwork"}]}, ""),
        ({"from": [FROM], "to": [{**TO, "name": ""}]}, "id"),
        (None, "no CRD"),
        ({"from": [FROM], "to": [TO]}, "gone"),
    ],
    ids=["granted", "namespace", "kind", "name", "target", "id", "no-crd", "gone"],
)
def test_by_a_grant_that_is_not_the_owner_s_wants_a_resource(world, grant, forged):
    """The first grant is the owner's own; a forged owner has only the id of one."""
    world.client.create(NAMESPACES, {"metadata": {"name": "network"}})
    group = resource_group("theirs")
    group["metadata"]["namespace"] = "network"
    if forged == "id":
        id_ = f"/subscriptions/{world.azure.subscription_id}/resourceGroups/theirs"
        world.azure.seed(id_, {"location": "westeurope"})
        group["metadata"]["annotations"] = {RESOURCE_ID: id_, RECONCILE_POLICY: "skip"}
        world.apply(group)
        world.run(group)
    else:
        id_ = annotations(world.read(world.settled(group)))[RESOURCE_ID]
    if grant:
        world.client.create(CUSTOM_RESOURCE_DEFINITIONS, GRANT_CRD)
        meta = {"name": "g", "namespace": "network"}
        world.client.create(REFERENCE_GRANTS, {"metadata": meta, "spec": grant})
    reach = {"metadata": {"annotations": {ALLOWED_SCOPES: "/subscriptions/other"}}}
    world.client.patch(NAMESPACES, ObjectKey("", "default"), reach)
    operator = world.operator
    world.operator = attrs.evolve(
        operator,
        is_granted=ReferenceGrants(
            world.client, operator.objects_with_arm_id, operator.record_key
        ),
    )
    network = virtual_network()
    network["spec"]["owner"] = {"armId": id_}
    network["metadata"]["namespace"] = "default"
    is_own = grant == {"from": [FROM], "to": [TO]}
    check = partial(reach_problems, world.client)
    assert isinstance(admitted(network, check=check), Allowed) or not is_own
    world.apply(network)
    if forged == "gone":
        world.run_once(network)
        world.client.delete(REFERENCE_GRANTS, ObjectKey("network", "g"))
    world.run(network)
    world.run(network)
    is_put = bool(world.requests("PUT", "virtualNetworks"))
    assert is_put is (is_own and not forged)
    if not is_put:
        assert world.ready(network)["reason"] == "NotAllowedInNamespace"


@pytest.mark.parametrize("notes", [{}, {EXPORT_MARK: "mine"}], ids=["", "forged"])
@pytest.mark.parametrize("is_allowed", [False, True], ids=["refused", "allowed"])
def test_wants_an_export_that_lost_its_owner_to_be_a_credential(
    world, notes, is_allowed
):
    """The collector takes the owner off after `kubectl delete --cascade=orphan`."""
    world.install("cache.azure.com/Redis")
    key = ObjectKey("default", "login")
    target = {"name": key.name, "key": "AZURE_CLIENT_SECRET", "annotations": notes}
    spec = {
        "owner": {"name": "rg"},
        "location": "westeurope",
        "sku": {"family": "C", "name": "Standard", "capacity": 1},
        "operatorSpec": {"secrets": {"primaryKey": target}},
    }
    world.settled(
        {
            "apiVersion": "cache.azure.com/v20241101",
            "kind": "Redis",
            "metadata": {"name": "mine"},
            "spec": spec,
        }
    )
    world.client.patch(SECRETS, key, {"metadata": {"ownerReferences": None}})
    if is_allowed:
        body = {"metadata": {"annotations": {EXPORTS_AS_CREDENTIALS: "true"}}}
        world.client.patch(NAMESPACES, ObjectKey("", "default"), body)
    victim = virtual_network()
    victim["metadata"]["namespace"] = "default"
    victim["metadata"]["annotations"] = {CREDENTIAL_FROM: key.name}
    # If an administrator allows it, the content decides.
    why = "add AZURE_SUBSCRIPTION_ID" if is_allowed else "was exported by"
    with (
        closing(ArmClientFactory(clock=world.clock)) as factory,
        pytest.raises(CredentialError, match=why),
    ):
        resolver_of(world, factory).for_object(victim)


def test_wants_an_object_that_no_person_can_delete():
    """A misspelt policy that is there already keeps no finalizer in place."""
    old = virtual_network()
    old["metadata"] |= {
        "annotations": {RECONCILE_POLICY: "skpi"},
        "deletionTimestamp": "2026-01-01T00:00:00Z",
        "finalizers": ["serviceoperator.azure.com/finalizer"],
    }
    new = {**old, "metadata": {**old["metadata"], "finalizers": []}}
    assert admitted(new, old) == Allowed()


@pytest.mark.parametrize(
    "wanted",
    [
        "open(os.environ['TOKEN']).read()",
        "open(f'/proc/{os.getppid()}/environ', 'rb').read()",
        "open(f'/proc/{os.getppid()}/mem', 'rb').read(1)",
        "os.listdir('/proc/self/fd')",
        "os.listdir(os.path.dirname(os.environ['TOKEN']))",
        "open(os.environ['TOKEN'] + '.new', 'w')",
        "os.rename(os.environ['TOKEN'], os.environ['TOKEN'] + '2')",
        "os.remove(os.environ['TOKEN'])",
        "open('/etc/passwd').read()",
    ],
)
def test_with_an_expression_that_took_over_its_process_wants_tokens(tmp_path, wanted):
    token = tmp_path / "token"
    token.write_text("S3cret-Value")
    code = (
        "import os\n"
        "from asoreconcile.azure.expressions.confinement import confine\n"
        f"print(confine())\ntry:\n    {wanted}\n    print('got it')\n"
        "except OSError as error:\n    print(type(error).__name__)\n"
    )
    done = subprocess.run(
        [sys.executable, "-P", "-c", code],
        env={**os.environ, "TOKEN": str(token)},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    supported, outcome = done.stdout.split()
    if supported == "False":
        pytest.skip(f"{confine.__name__}: this kernel has no Landlock")
    assert outcome == "PermissionError"
    assert token.read_text() == "S3cret-Value"
