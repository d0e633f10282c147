"""The roles deploy/ gives the manager: enough for it, and each verb accounted for."""

import ssl
import urllib.error
import urllib.request
from pathlib import Path

import pytest
import yaml
from operation import (
    Operation,
    free_port,
    resource_for,
    samples,
)

from asoreconcile.kube.resources import ApiResource
from asoreconcile.objects import gvk_of, key_of
from asoreconcile.testing.kube import KubeServer

DEPLOY = Path(__file__).resolve().parents[2] / "deploy"
NAMESPACE = "azureserviceoperator-system"
ACCOUNT = "azureserviceoperator-default"
USER = f"system:serviceaccount:{NAMESPACE}:{ACCOUNT}"
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
_TOLD = "whom to trust is told with --webhook-port and no --webhook-cert-dir"
# What the samples' whole life does not ask for, and when it is asked for.
UNUSED = {
    ("list", "kind"): _LISTS,
    ("list", "namespaces"): _LISTS,
    ("list", "secrets"): _LISTS,
    ("list", "configmaps"): _LISTS,
    ("list", "leases.coordination.k8s.io"): _LISTS,
    ("patch", "secrets"): _EXISTS,
    ("patch", "configmaps"): _EXISTS,
    ("get", "customresourcedefinitions.apiextensions.k8s.io"): _TOLD,
    **{
        (verb, f"{kind}webhookconfigurations.admissionregistration.k8s.io"): _TOLD
        for verb in ("get", "patch")
        for kind in ("mutating", "validating")
    },
}
# Before a PUT an object is read anew, unless its pass has just written it (D2); an event
# that repeats, as that of a second poll does, is counted and not told again.
SOMETIMES = {("get", "kind"), ("patch", "events")}


@pytest.fixture
def operation(make_cluster, tmp_path):
    with Operation(tmp_path, cluster=make_cluster(rbac=True)) as running:
        yield running


def manifests():
    """What deploy/ has about who may do what."""
    for name in ("operator.yaml", "rbac.yaml"):
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
    assert granted(served) - asked - SOMETIMES == set(UNUSED)


def scrape(port, token):
    """Ask for the metrics, with a token that no role lets have them."""
    headers = {"Authorization": f"Bearer {token}"}
    request = urllib.request.Request(f"https://localhost:{port}/metrics", None, headers)
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    with pytest.raises(urllib.error.HTTPError, match="403"):
        urllib.request.urlopen(request, context=context)
