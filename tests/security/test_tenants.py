"""Tenant a, with all rights in namespace a, against tenant b.

One API server with RBAC for all attacks, also a real kube-apiserver if there is one,
and a manager process with the roles of `deploy/`. After each attack nothing was sent with
b's identity, and nothing of b's was written or deleted.
"""

import json
from pathlib import Path

import pytest
import yaml
from applications import until
from clusters import TARGETS, cluster
from operation import NAMESPACE, Operation, free_port, resource_for
from world import postgres_server, resource_group, virtual_network

from asoreconcile.azure.arm.credentials_secret import REQUIRED
from asoreconcile.azure.catalogue.reserved import RECORD_KEY_SECRET
from asoreconcile.azure.catalogue.webhook_manifests import webhook_configurations
from asoreconcile.azure.controllers import secret_access
from asoreconcile.azure.controllers.catalogue import builtin
from asoreconcile.azure.controllers.webhooks import WebhookOptions
from asoreconcile.azure.reconcile.model.annotations import (
    ALLOWED_SCOPES,
    CLAIM,
    CREDENTIAL_FROM,
    POLLER_ID,
    POLLER_TOKEN,
    PUT_POLLER,
    RESOURCE_ID,
)
from asoreconcile.azure.reconcile.model.conditions import (
    SECRETS_UNCHECKED,
    find_ready,
)
from asoreconcile.base.objects import ObjectKey, annotations, gvk_of, key_of, status
from asoreconcile.kube.client import KubeClient
from asoreconcile.kube.config import load
from asoreconcile.kube.errors import ForbiddenError, InvalidError
from asoreconcile.kube.resources import (
    CUSTOM_RESOURCE_DEFINITIONS,
    LEASES,
    NAMESPACES,
    SECRETS,
    ApiResource,
)
from asoreconcile.testing.arm import ArmServer
from asoreconcile.testing.arm.applications import EntraApplication
from asoreconcile.testing.arm.cloud import bearer_token
from asoreconcile.testing.throwaway_certificates import certificate_authority

DEPLOY = Path(__file__).resolve().parents[2] / "deploy"
RBAC = "rbac.authorization.k8s.io"
ROLES = {
    kind: ApiResource(RBAC, "v1", f"{kind.lower()}s", kind, namespaced=namespaced)
    for kind, namespaced in (
        ("Role", True),
        ("RoleBinding", True),
        ("ClusterRole", False),
        ("ClusterRoleBinding", False),
    )
}
HOOKS = tuple(
    ApiResource(
        "admissionregistration.k8s.io",
        "v1",
        f"{kind.lower()}s",
        kind,
        namespaced=False,
    )
    for kind in ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")
)
POLICIES = {one.kind: one for one in (secret_access.POLICIES, secret_access.BINDINGS)}
ALL = ["get", "list", "watch", "create", "update", "patch", "delete"]
CLIENTS = {name: f"00000000-0000-0000-0000-0000000000{name * 2}" for name in "ab"}


class Witness(ArmServer):
    """Azure, which knows by whose identity each request was sent."""

    def __init__(self, **options):
        super().__init__(**options)
        self.seen = []

    def answer(self, request):
        grant = self.entra.grant(bearer_token(request))
        client = grant.client_id if grant else ""
        self.seen.append((client, request.method, request.path.lower()))
        return super().answer(request)


class Tenants:
    """Both tenants and the operator. Use as a context manager."""

    def __init__(self, folder, target):
        self.operation = Operation(
            folder, cluster=cluster(target, rbac=True), azure=Witness(lro=0.0)
        )
        self.folder = folder

    def __enter__(self):
        operation = self.operation.__enter__()
        self.admin, self.azure = operation.client, operation.azure
        for name in ("a", "b", NAMESPACE):
            self.admin.create(NAMESPACES, {"metadata": {"name": name}})
        for name in CLIENTS:
            self._credential(name)
        operation.answer_at_once(
            "Network/virtualNetworks", "DBforPostgreSQL/flexibleServers"
        )
        self.tenant = self._user("attacker", ["secrets", "configmaps", "events"])
        self.author = self._user("author", [])
        self._start()
        self.theirs = [
            self.settled(resource_group("b-rg"), "b"),
            self.settled(virtual_network("b-vnet", owner="b-rg"), "b"),
        ]
        self.settled(resource_group("a-rg"), "a")
        self.ids = [status(one)["id"] for one in self.theirs]
        return self

    def __exit__(self, *exc):
        for client in (self.tenant, self.author):
            client.close()
        self.operation.__exit__(*exc)

    def _credential(self, name):
        secret = f"0123456789-{name}"
        self.azure.entra.register(EntraApplication(CLIENTS[name], secret))
        values = {key: self.azure.settings()[key] for key in REQUIRED}
        values |= {"AZURE_CLIENT_ID": CLIENTS[name], "AZURE_CLIENT_SECRET": secret}
        self.write_secret(self.admin, name, "aso-credential", **values)

    def write_secret(self, client, namespace, name, **values):
        body = {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": name, "namespace": namespace},
            "stringData": values,
        }
        return self._apply(client, SECRETS, body)

    def _user(self, name, resources):
        """Return a client with all rights in namespace a on Azure's kinds and these."""
        token = self.operation.cluster.add_service_account("a", name)
        groups = sorted({kind.group for kind in builtin().kinds()})
        rules = [{"apiGroups": groups, "resources": ["*"], "verbs": ALL}]
        if resources:
            rules.append({"apiGroups": [""], "resources": resources, "verbs": ALL})
        meta = {"name": name, "namespace": "a"}
        self.admin.create(ROLES["Role"], {"metadata": meta, "rules": rules})
        self.admin.create(
            ROLES["RoleBinding"],
            {
                "metadata": meta,
                "roleRef": {"apiGroup": RBAC, "kind": "Role", "name": name},
                "subjects": [
                    {"kind": "ServiceAccount", "name": name, "namespace": "a"}
                ],
            },
        )
        return self._signed_in(token, name)

    def _signed_in(self, token, name):
        path = self.folder / name
        self.operation.cluster.write_kubeconfig(path, token)
        return KubeClient(load(str(path)), user_agent=name)

    def _start(self):
        operation = self.operation
        token = operation.cluster.add_service_account(
            NAMESPACE, "azureserviceoperator-default"
        )
        for file in ("operator.yaml", "rbac.yaml"):
            for obj in yaml.safe_load_all((DEPLOY / file).read_text()):
                if obj["kind"] in ROLES:
                    self._apply(self.admin, ROLES[obj["kind"]], obj)
        operation.cluster.write_kubeconfig(self.folder / "operator", token)
        kinds = [resource_group(), virtual_network(), postgres_server()]
        operation.install(*kinds)
        authority, folder = certificate_authority(), self.folder / "certificates"
        folder.mkdir()
        certificate, key = authority.issue(["127.0.0.1"])
        pems = {"tls.crt": certificate, "tls.key": key, "ca.crt": authority.pem}
        for name, pem in pems.items():
            (folder / name).write_bytes(pem)
        port = free_port()
        url = f"https://127.0.0.1:{port}"
        options = WebhookOptions(address=f":{port}", cert_dir=folder, url=url)
        operation.start_manager(
            "--enable-leader-election",
            "--all-versions=false",
            f"--webhook-port={port}",
            f"--webhook-cert-dir={folder}",
            f"--webhook-url={url}",
            KUBECONFIG=str(self.folder / "operator"),
            ASORECONCILE_CHECK_SECRET_ACCESS="true",
        )
        self.settled(resource_group("first"), "a")  # so the webhooks are served
        catalogue = builtin()
        found = [catalogue.kind(gvk_of(obj).group_kind) for obj in kinds]
        for resource, hook in zip(
            HOOKS, webhook_configurations(found, options.client()), strict=True
        ):
            self.admin.create(resource, hook)
        for obj in yaml.safe_load_all((DEPLOY / "secret-policy.yaml").read_text()):
            self._apply(self.admin, {**ROLES, **POLICIES}[obj["kind"]], obj)

    def _apply(self, client, resource, obj):
        return client.patch(
            resource,
            key_of(obj),
            obj,
            kind="apply",
            field_manager="tests",
            force=True,
        )

    def write(self, obj, namespace="a", *, client=None, **notes):
        """Apply an object, by the tenant if no other client is given."""
        obj["metadata"]["namespace"] = namespace
        if notes:
            obj["metadata"]["annotations"] = notes
        return self._apply(client or self.tenant, resource_for(obj), obj)

    def settled(self, obj, namespace):
        self.write(obj, namespace, client=self.admin)
        return self.operation.wait_ready(obj)

    def reason(self, obj):
        """Block until the operator has judged an object; return its reason."""

        def is_judged(found):
            reason = (find_ready(status(found).get("conditions")) or {}).get("reason")
            return reason not in (None, "Reconciling", "WaitingForOwner")

        found = self.operation.wait_for(obj, is_judged)
        return find_ready(status(found)["conditions"])["reason"]

    def deleted(self, obj):
        self.tenant.delete(resource_for(obj), key_of(obj))
        self.operation.wait_gone(obj)


@pytest.fixture(scope="module", params=TARGETS)
def all_tenants(request, tmp_path_factory):
    with Tenants(tmp_path_factory.mktemp("tenants"), request.param) as running:
        yield running


@pytest.fixture
def tenants(all_tenants):
    """Both tenants; b's identity and resources are untouched after the test."""
    seen = all_tenants.azure.seen
    before = len(seen)
    yield all_tenants
    sent = seen[before:]
    assert [one for one in sent if one[0] == CLIENTS["b"]] == []
    writes = [one for one in sent if one[1] in ("PUT", "PATCH", "DELETE", "POST")]
    assert [one for one in writes if "/b-rg" in one[2]] == []


@pytest.mark.parametrize(
    "name",
    [
        "b/aso-credential",
        "../b/secrets/aso-credential",
        f"{NAMESPACE}/aso-controller-settings",
        RECORD_KEY_SECRET,
    ],
)
def test_a_tenant_wants_to_sign_in_with_another_namespace_s_secret(tenants, name):
    group, notes = resource_group("named"), {CREDENTIAL_FROM: name}
    if "/" in name:
        with pytest.raises(InvalidError, match="own namespace, without '/'"):
            tenants.write(group, **notes)
        return
    tenants.write(group, **notes)
    assert tenants.reason(group) == "CredentialError"
    tenants.deleted(group)


def test_a_tenant_wants_to_sign_in_as_a_client_whose_secret_it_has_not(tenants):
    values = {key: tenants.azure.settings()[key] for key in REQUIRED}
    values |= {"AZURE_CLIENT_ID": CLIENTS["b"], "AZURE_CLIENT_SECRET": "0123456789-a"}
    tenants.write_secret(tenants.tenant, "a", "guessed", **values)
    group = resource_group("guessed")
    tenants.write(group, **{CREDENTIAL_FROM: "guessed"})
    assert tenants.reason(group) == "CredentialError"
    tenants.deleted(group)


@pytest.mark.parametrize("forged", ["status", "id", "claim", "poller"])
def test_a_tenant_wants_another_namespace_s_resource_deleted(tenants, forged):
    """By records that it forges or copies, and the deletion of its own object."""
    network = tenants.theirs[1]
    victim = virtual_network("b-vnet", owner="b-rg")
    victim["spec"]["owner"] = {"armId": tenants.ids[0]}
    notes = {}
    if forged in ("id", "claim"):
        notes[RESOURCE_ID] = tenants.ids[1]
    if forged == "claim":
        notes[CLAIM] = annotations(network)[CLAIM]
    if forged == "poller":
        url = tenants.azure.url + tenants.ids[1] + "?api-version=2025-03-01"
        inner = {"type": "loc", "pollURL": url, "state": "InProgress"}
        token = {"type": "GenericResource", "token": inner}
        notes |= {POLLER_TOKEN: json.dumps(token), POLLER_ID: PUT_POLLER}
    tenants.write(victim, **notes)
    if forged == "status":
        tenants.tenant.patch(
            resource_for(victim),
            key_of(victim),
            {"status": {"id": tenants.ids[1]}},
            subresource="status",
        )
    assert tenants.reason(victim) == "AlreadyManaged"
    tenants.deleted(victim)


def test_a_tenant_wants_a_resource_outside_the_reach_of_its_namespace(tenants):
    own = tenants.ids[0].rpartition("/")[0] + "/a-rg"
    key = ObjectKey("", "a")
    reach = {"metadata": {"annotations": {ALLOWED_SCOPES: own}}}
    tenants.admin.patch(NAMESPACES, key, reach)
    outside = virtual_network("outside")
    outside["spec"]["owner"] = {"armId": tenants.ids[0]}
    lifted = {"metadata": {"annotations": {ALLOWED_SCOPES: None}}}
    try:
        tenants.write(outside)
        assert tenants.reason(outside) == "NotAllowedInNamespace"
        outside["spec"]["tags"] = {"a": "b"}
        with pytest.raises(InvalidError, match="does not allow"):
            tenants.write(outside)
        tenants.deleted(outside)
        with pytest.raises(ForbiddenError):
            tenants.tenant.patch(NAMESPACES, key, lifted)
    finally:
        tenants.admin.patch(NAMESPACES, key, lifted)


@pytest.mark.parametrize("name", ["b/db-admin", "../b/secrets/db-admin", "db-admin"])
def test_a_tenant_wants_to_read_another_namespace_s_secret(tenants, name):
    tenants.write_secret(tenants.admin, "b", "db-admin", password="S3cret-Value")
    server = postgres_server("a-server", owner="a-rg")
    server["spec"]["administratorLoginPassword"]["name"] = name
    tenants.write(server)
    assert tenants.reason(server) == "SecretNotFound"
    tenants.deleted(server)


def test_an_author_wants_a_secret_of_its_namespace_that_it_may_not_read(tenants):
    """Or to send it elsewhere, by an edit of an object whose writer may get it."""
    tenants.write_secret(tenants.admin, "a", "a-admin", password="Passw0rd!Passw0rd")
    server = postgres_server("a-server", owner="a-rg")
    server["spec"]["administratorLoginPassword"]["name"] = "a-admin"
    refused = "you may not get the Secret a-admin"

    def is_refused():
        try:
            tenants.write(server, client=tenants.author)
        except ForbiddenError as error:
            return refused in str(error)
        # A real API server enforces a policy some time after it was written.
        tenants.deleted(server)
        return False

    until(is_refused)
    tenants.write(server)
    ready = tenants.operation.wait_ready(server)
    shown = {one["type"]: one.get("message") for one in status(ready)["conditions"]}
    assert shown.get(SECRETS_UNCHECKED) is None
    server["spec"]["network"] = {"publicNetworkAccess": "Enabled"}
    with pytest.raises(ForbiddenError, match=refused):
        tenants.write(server, client=tenants.author)
    del server["spec"]["network"]
    named = {CREDENTIAL_FROM: "of-another-writer"}
    with pytest.raises(ForbiddenError, match=refused):
        tenants.write(server, client=tenants.author, **named)
    tenants.write(server, client=tenants.author, labelled="by-anyone")
    tenants.deleted(server)


def test_a_tenant_wants_to_write_what_belongs_to_others_in_the_cluster(tenants):
    """By its own rights, which RBAC bounds."""
    tenant, theirs = tenants.tenant, ObjectKey("b", "aso-credential")
    named = {"metadata": {"annotations": {"a": "b"}}}
    crd = ObjectKey("", "virtualnetworks.network.azure.com")
    network = tenants.theirs[1]
    for ask in (
        lambda: tenant.get(SECRETS, theirs),
        lambda: tenant.list_page(SECRETS),
        lambda: tenant.get(SECRETS, ObjectKey(NAMESPACE, RECORD_KEY_SECRET)),
        lambda: tenant.patch(SECRETS, theirs, named),
        lambda: tenant.patch(resource_for(network), key_of(network), named),
        lambda: tenant.delete(resource_for(network), key_of(network)),
        lambda: tenant.patch(NAMESPACES, ObjectKey("", "b"), named),
        lambda: tenant.patch(CUSTOM_RESOURCE_DEFINITIONS, crd, named),
        lambda: tenant.list_page(LEASES),
        lambda: tenant.list_page(HOOKS[0]),
        lambda: tenant.create(
            ApiResource("", "v1", "serviceaccounts", "ServiceAccount"),
            {
                "apiVersion": "authentication.k8s.io/v1",
                "kind": "TokenRequest",
                "metadata": {"name": "aso-workload", "namespace": "b"},
                "spec": {},
            },
            subresource="token",
        ),
    ):
        with pytest.raises(ForbiddenError):
            ask()
