"""The roles deploy/ gives the manager: enough for it, and each verb accounted for."""

import ssl
import urllib.error
import urllib.request
from contextlib import closing
from pathlib import Path

import pytest
import yaml
from operation import (
    Operation,
    free_port,
    resource_for,
    samples,
)
from world import virtual_network

from asoreconcile.azure.catalogue.crd import crd
from asoreconcile.azure.controllers.catalogue import builtin
from asoreconcile.azure.controllers.stored_versions import StoredVersions
from asoreconcile.base.objects import (
    GroupKind,
    ObjectKey,
    copy_json,
    gvk_of,
    key_of,
)
from asoreconcile.kube.client import KubeClient
from asoreconcile.kube.config import load
from asoreconcile.kube.errors import ForbiddenError
from asoreconcile.kube.resources import (
    CUSTOM_RESOURCE_DEFINITIONS,
    SECRETS,
    ApiResource,
)
from asoreconcile.runtime.reconciler import Request
from asoreconcile.testing.clock import FakeClock
from asoreconcile.testing.kube import KubeServer

DEPLOY = Path(__file__).resolve().parents[2] / "deploy"
NAMESPACE = "azureserviceoperator-system"
ACCOUNT = "azureserviceoperator-default"
USER = f"system:serviceaccount:{NAMESPACE}:{ACCOUNT}"
CRD_MANAGER = "azureserviceoperator-crd-manager-role"
GROUP = "rbac.authorization.k8s.io"
KINDS = {
    "Namespace": ApiResource("", "v1", "namespaces", "Namespace", namespaced=False),
    "ServiceAccount": ApiResource("", "v1", "serviceaccounts", "ServiceAccount"),
    "Role": ApiResource(GROUP, "v1", "roles", "Role"),
    "RoleBinding": ApiResource(GROUP, "v1", "rolebindings", "RoleBinding"),
    "ClusterRole": ApiResource(
        GROUP, "v1", "clusterroles", "ClusterRole", namespaced=False
    ),
    "ClusterRoleBinding": ApiResource(
        GROUP, "v1", "clusterrolebindings", "ClusterRoleBinding", namespaced=False
    ),
}
_LISTS = "a server that streams no initial state is listed, and again after a 410"
_EXISTS = "what is exported goes into an object that was there before"
_GRANTED = "a Namespace's scopes do not allow a resource"
_OLDER = "a CRD that is there is brought up to date"
_TOLD = "whom to trust is told with --webhook-port and no --webhook-cert-dir"
# What the samples' whole life does not ask for, and when it is asked for.
UNUSED = {
    ("list", "kind"): _LISTS,
    ("list", "namespaces"): _LISTS,
    ("list", "secrets"): _LISTS,
    ("list", "configmaps"): _LISTS,
    ("list", "leases.coordination.k8s.io"): _LISTS,
    ("list", "referencegrants.gateway.networking.k8s.io"): _GRANTED,
    ("patch", "secrets"): _EXISTS,
    ("patch", "configmaps"): _EXISTS,
    ("patch", "customresourcedefinitions.apiextensions.k8s.io"): _OLDER,
    ("patch", "customresourcedefinitions.apiextensions.k8s.io/status"): _OLDER,
    **{
        (verb, f"{kind}webhookconfigurations.admissionregistration.k8s.io"): _TOLD
        for verb in ("get", "patch")
        for kind in ("mutating", "validating")
    },
}
# Before a PUT an object is read anew, unless its pass has just written it (D2); an event
# that repeats, as that of a second poll does, is counted and not told again. A process
# that leads at once may end its watch of the lease before that has begun.
SOMETIMES = {
    ("get", "kind"),
    ("patch", "events"),
    ("watch", "leases.coordination.k8s.io"),
}


@pytest.fixture
def operation(make_cluster, tmp_path):
    with Operation(tmp_path, cluster=make_cluster(rbac=True)) as running:
        yield running


def manifests(*names):
    """What deploy/ has about who may do what."""
    for name in names or ("operator.yaml", "rbac.yaml"):
        for obj in yaml.safe_load_all((DEPLOY / name).read_text()):
            if obj["kind"] in KINDS:
                yield obj


def granted(served):
    """All verbs and resources of the roles, the kinds that are served as one."""
    found = set()
    for role in manifests():
        for rule in role.get("rules", ()):
            for group in rule["apiGroups"]:
                for resource in rule["resources"]:
                    at = named(f"{resource}/".partition("/"), group, served)
                    found |= {(verb, at) for verb in rule["verbs"]}
    return {(verb, at) for verb, at in found if at is not None}


def named(parts, group, served):
    """A resource as rules account for it; None for a kind that is not served."""
    plural, _, subresource = parts
    full = f"{plural}.{group}" if group else plural
    subresource = subresource.rstrip("/")
    if group.endswith(".azure.com"):
        if full not in served:
            return None
        full = "kind"
    return f"{full}/{subresource}" if subresource else full


def used(journal, served):
    """What the manager asked for, in the same words."""
    found = set()
    for entry in journal:
        if entry.user == USER and entry.resource:
            full, _, subresource = entry.resource.partition("/")
            at = "kind" if full in served else full
            at = f"{at}/{subresource}" if subresource else at
            found.add((entry.verb, at))
            if (entry.verb, entry.status) == ("patch", 201):
                found.add(("create", at))  # an apply that creates may create
    return found


def test_the_roles_are_enough_and_each_verb_is_used_or_accounted_for(operation):
    for obj in manifests():
        resource = KINDS[obj["kind"]]
        operation.client.patch(
            resource, key_of(obj), obj, kind="apply", field_manager="tests"
        )
    token = operation.cluster.add_service_account(NAMESPACE, ACCOUNT)
    kubeconfig = operation.folder / "account"
    operation.cluster.write_kubeconfig(kubeconfig, token)
    metrics = free_port()
    objs = samples()
    azure_objs = [obj for obj in objs if obj["kind"] != "Secret"]
    kinds = sorted({f"{gvk_of(o).group}/{gvk_of(o).kind}" for o in azure_objs})
    operation.start_manager(
        *("--enable-leader-election", "--secure-metrics"),
        *("--metrics-addr", f":{metrics}"),
        *("--crd-pattern", ";".join(kinds)),
        KUBECONFIG=str(kubeconfig),
    )
    operation.wait_served(*azure_objs)
    for obj in objs:
        operation.apply(obj)
    for obj in azure_objs:
        operation.wait_ready(obj)
    scrape(metrics, token)
    for obj in azure_objs:
        operation.delete(obj)
    for obj in azure_objs:
        operation.wait_gone(obj)
    assert operation.manager.end() == 0
    assert " is forbidden: " not in operation.logs()
    if isinstance(operation.cluster, KubeServer):  # a real one keeps no journal
        assert_accounted_for(list(operation.cluster.journal), azure_objs)


def assert_accounted_for(journal, azure_objs):
    """Nothing was refused, and of the roles nothing is there for nothing."""
    assert [e for e in journal if e.user == USER and e.status in (401, 403)] == []
    resources = [resource_for(obj) for obj in azure_objs]
    served = {f"{r.plural}.{r.group}" for r in resources}
    asked = used(journal, served)
    assert ("update", "leases.coordination.k8s.io") in asked
    # A watch that stalls on a busy machine ends in a list.
    sometimes = SOMETIMES | {right for right, why in UNUSED.items() if why is _LISTS}
    assert granted(served) - asked - sometimes == set(UNUSED) - sometimes


TEAM = "team-a"
TEAM_S_OPERATOR = "azureserviceoperator-team-a"
# What is followed, and tells nothing of what is in a namespace.
OF_ALL = {"namespaces", "customresourcedefinitions.apiextensions.k8s.io"}


def test_a_tenant_s_operator_lives_in_its_namespace_and_reads_no_other(operation):
    for obj in manifests("operator.yaml", "rbac.yaml", "tenant.yaml"):
        if obj["kind"] == "RoleBinding" and obj["metadata"]["namespace"] == TEAM:
            team = {"metadata": {"name": TEAM}}
            operation.client.create(KINDS["Namespace"], team)
        operation.client.patch(
            KINDS[obj["kind"]], key_of(obj), obj, kind="apply", field_manager="tests"
        )
    token = operation.cluster.add_service_account(TEAM_S_OPERATOR, ACCOUNT)
    kubeconfig = operation.folder / "tenant"
    operation.cluster.write_kubeconfig(kubeconfig, token)
    objs = samples()
    for obj in objs:
        obj["metadata"]["namespace"] = TEAM
    azure_objs = [obj for obj in objs if obj["kind"] != "Secret"]
    operation.install(*azure_objs)  # by the other operator
    operation.start_manager(
        *("--enable-leader-election", "--crd-pattern=*", "--webhook-port=9443"),
        KUBECONFIG=str(kubeconfig),
        POD_NAMESPACE=TEAM_S_OPERATOR,
        AZURE_OPERATOR_MODE="watchers",
        AZURE_TARGET_NAMESPACES=TEAM,
    )
    for obj in objs:
        operation.apply(obj)
    for obj in azure_objs:
        operation.wait_ready(obj)
    for obj in azure_objs:
        operation.delete(obj)
    for obj in azure_objs:
        operation.wait_gone(obj)
    assert operation.manager.end() == 0
    assert " is forbidden: " not in operation.logs()
    if isinstance(operation.cluster, KubeServer):
        assert_at_home(list(operation.cluster.journal))
    with closing(KubeClient(load(str(kubeconfig)), user_agent="tests")) as tenant:
        for namespace in ("default", NAMESPACE):
            with pytest.raises(ForbiddenError):
                tenant.get(SECRETS, ObjectKey(namespace, "aso-credential"))
        with pytest.raises(ForbiddenError):
            tenant.list_page(SECRETS)
        crd = ObjectKey("", "virtualnetworks.network.azure.com")
        with pytest.raises(ForbiddenError):
            tenant.patch(CUSTOM_RESOURCE_DEFINITIONS, crd, {"metadata": {}})


def assert_at_home(journal):
    """All that was asked for is the tenant's, or what everybody may know."""
    user = f"system:serviceaccount:{TEAM_S_OPERATOR}:{ACCOUNT}"
    asked = [entry for entry in journal if entry.user == user]
    assert asked
    home = (f"/namespaces/{TEAM}/", f"/namespaces/{TEAM_S_OPERATOR}/")
    for entry in asked:
        assert entry.status not in (401, 403)
        if entry.resource and entry.resource not in OF_ALL:
            assert any(part in entry.path for part in home), entry


def scrape(port, token):
    """Ask for the metrics, with a token that no role lets have them."""
    headers = {"Authorization": f"Bearer {token}"}
    request = urllib.request.Request(f"https://localhost:{port}/metrics", None, headers)
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    with pytest.raises(urllib.error.HTTPError, match="403") as refused:
        urllib.request.urlopen(request, context=context)
    refused.value.close()


def test_the_operator_of_the_webhooks_may_drop_what_nothing_is_stored_in(operation):
    """Of several operators it alone has the CRDs: with their role, and no other, it
    stores objects anew and drops the versions of before.
    """
    for obj in manifests("rbac.yaml"):
        if obj["metadata"]["name"] == CRD_MANAGER:
            operation.client.create(KINDS["ClusterRole"], obj)
    binding = {
        "metadata": {"name": CRD_MANAGER},
        "roleRef": {"apiGroup": GROUP, "kind": "ClusterRole", "name": CRD_MANAGER},
        "subjects": [
            {"kind": "ServiceAccount", "name": ACCOUNT, "namespace": NAMESPACE}
        ],
    }
    operation.client.create(KINDS["ClusterRoleBinding"], binding)
    kind = builtin().kind(GroupKind("network.azure.com", "VirtualNetwork"))
    old, new = "v1api20240301", "v20250301"
    network = virtual_network() | {"apiVersion": f"network.azure.com/{old}"}
    for storage in (old, new):
        versions = [old] if storage == old else [old, new]
        document = copy_json(crd(kind, versions=versions, storage=storage))
        operation.client.patch(
            CUSTOM_RESOURCE_DEFINITIONS,
            key_of(document),
            document,
            kind="apply",
            field_manager="tests",
            force=True,
        )
        operation.wait_served(network | {"apiVersion": f"network.azure.com/{storage}"})
        if storage == old:
            operation.apply(network)
    token = operation.cluster.add_service_account(NAMESPACE, ACCOUNT)
    operation.cluster.write_kubeconfig(operation.folder / "webhooks", token)
    config = load(str(operation.folder / "webhooks"))
    name = f"{kind.plural}.{kind.group}"

    def stored():
        at = ObjectKey("", name)
        return operation.client.get(CUSTOM_RESOURCE_DEFINITIONS, at)

    assert stored()["status"]["storedVersions"] == [old, new]
    with closing(KubeClient(config, user_agent="tests")) as limited:
        keeper = StoredVersions(limited, clock=FakeClock(), settle_seconds=0.0)
        keeper.reconcile(Request(ObjectKey("", name)))
        with pytest.raises(ForbiddenError):
            limited.list_page(SECRETS)
    assert stored()["status"]["storedVersions"] == [new]
