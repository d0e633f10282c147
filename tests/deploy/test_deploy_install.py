"""The chart in a real cluster's API: installed, upgraded over ASO's, and run.

The API server has no controllers, so nothing makes pods: the tests start a manager
themselves, with the arguments and variables of the stored Deployment and as its service
account.
"""

import base64
import json
import ssl
import urllib.error
import urllib.request

import pytest
import yaml
from blocks import shown
from charts import CASES, HERE, command, rendered
from clusters import HAS_REAL, RealCluster, cluster
from operation import NAMESPACE, Operation, free_port
from routing import endpoints, own_address
from tools import CHART, attempt, one, program, run
from world import resource_group, virtual_network

from asoreconcile.azure.catalogue.crd import crd
from asoreconcile.azure.catalogue.webhook_manifests import WebhookClient
from asoreconcile.azure.controllers.catalogue import builtin
from asoreconcile.base.objects import gvk_of
from asoreconcile.kube.errors import ApiError
from asoreconcile.kube.resources import CUSTOM_RESOURCE_DEFINITIONS
from asoreconcile.testing.throwaway_certificates import certificate_authority

ACCOUNT = "azureserviceoperator-default"
DEPLOYMENT = "azureserviceoperator-controller-manager"
GROUPS_ONLY = "resources.azure.com/*"
pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(
        not HAS_REAL, reason="KUBEBUILDER_ASSETS names no kube-apiserver"
    ),
    pytest.mark.timeout(300),
]


@pytest.fixture
def operation(tmp_path):
    with Operation(tmp_path, cluster=cluster("real")) as made:
        yield made


@pytest.fixture
def helm(operation):
    """Runs helm on the cluster: `helm("install", ...)`; its output."""
    return programs(operation)[1]


@pytest.fixture
def kubectl(operation):
    return programs(operation)[0]


def programs(operation):
    """kubectl and helm on the cluster, as functions."""
    kubeconfig = operation.folder / "kubeconfig"

    def kubectl(*arguments, given=None, may_fail=False):
        line = (program("envtest", "kubectl"), "--kubeconfig", kubeconfig, *arguments)
        if may_fail:
            return attempt(*line, given=given).stdout.strip()
        return run(*line, given=given)

    def helm(verb, release, *arguments, namespace=NAMESPACE):
        return run(
            *command(verb, release, *arguments, "--namespace", namespace),
            *("--kubeconfig", kubeconfig),
        )

    return kubectl, helm


def values_file(operation, name="values", **values):
    path = operation.folder / f"{name}.json"
    path.write_text(json.dumps(values))
    return ("--values", path)


def of_azure(operation):
    """The values that name the simulator."""
    given = operation.azure.settings()
    return {
        "azureSubscriptionID": given["AZURE_SUBSCRIPTION_ID"],
        "azureTenantID": given["AZURE_TENANT_ID"],
        "azureClientID": given["AZURE_CLIENT_ID"],
        "azureClientSecret": given["AZURE_CLIENT_SECRET"],
        "azureResourceManagerEndpoint": given["AZURE_RESOURCE_MANAGER_ENDPOINT"],
        "azureResourceManagerAudience": given["AZURE_RESOURCE_MANAGER_AUDIENCE"],
        "azureAuthorityHost": given["AZURE_AUTHORITY_HOST"],
    }


def read(kubectl, kind, name, namespace=NAMESPACE):
    place = ("--namespace", namespace)
    return json.loads(kubectl("get", kind, name, *place, "--output", "json"))


def start_as_stored(operation, kubectl, namespace=NAMESPACE):
    """A manager as the stored Deployment has it, but for its ports: those are free
    ones.
    """
    pod = read(kubectl, "deployment", DEPLOYMENT, namespace)["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    (source,) = container["envFrom"]
    secret = read(kubectl, "secret", source["secretRef"]["name"], namespace)
    environment = {k: base64.b64decode(v).decode() for k, v in secret["data"].items()}
    for variable in container["env"]:
        environment[variable["name"]] = variable.get("value", namespace)
    mounted = "/tmp/k8s-webhook-server/client-ca"
    arguments = [
        f"{option}=127.0.0.1:{free_port()}" if option.endswith("-addr") else argument
        for argument in (
            one.replace(mounted, str(operation.folder)) for one in container["args"]
        )
        for option in [argument.partition("=")[0]]
    ]
    token = operation.cluster.add_service_account(namespace, pod["serviceAccountName"])
    kubeconfig = operation.folder / f"account-{namespace}"
    operation.cluster.write_kubeconfig(kubeconfig, token)
    return operation.start_manager(
        *arguments, **{**environment, "KUBECONFIG": str(kubeconfig)}
    )


def test_a_release_is_installed_runs_is_upgraded_and_goes(operation, helm, kubectl):
    settings = {
        **of_azure(operation),
        "crdPattern": GROUPS_ONLY,
        "allVersions": False,
        "webhook": {"enable": False},
    }
    given = values_file(operation, **settings)
    helm("install", "aso2", CHART, "--create-namespace", *given)
    group = resource_group()
    start_as_stored(operation, kubectl)
    operation.wait_served(group)
    operation.apply(group)
    operation.wait_ready(group)
    assert operation.manager.end() == 0
    assert " is forbidden: " not in operation.logs()
    operation.manager = None

    before = read(kubectl, "deployment", DEPLOYMENT)["metadata"]
    helm("upgrade", "aso2", CHART, *given)
    again = read(kubectl, "deployment", DEPLOYMENT)["metadata"]
    assert again["generation"] == before["generation"]
    more = values_file(operation, "more", maxConcurrentReconciles=9)
    helm("upgrade", "aso2", CHART, *given, *more)
    changed = read(kubectl, "deployment", DEPLOYMENT)["metadata"]
    assert changed["generation"] == before["generation"] + 1

    helm("uninstall", "aso2")
    left = kubectl(
        "get", "deployment,secret,service,role", "-n", NAMESPACE, "-o", "name"
    )
    assert "azureserviceoperator" not in left
    # CRDs, and so the users' objects, do not belong to a release.
    assert operation.read(group)["metadata"]["name"] == "rg"


def with_a_client_certificate(folder):
    """Write the files of the page on access; returns kube-apiserver's option."""
    authority = certificate_authority()
    crt, key = authority.issue(["kube-apiserver"], client=True)
    admission, kubeconfig = shown(
        "deploy/docs/webhook-access.md", "A client certificate"
    )
    place = "/etc/kubernetes/admission"
    for name, content in {
        "ca.crt": authority.pem,
        "client.crt": crt,
        "client.key": key,
        "webhooks.yaml": kubeconfig.replace(place, str(folder)).encode(),
        "admission.yaml": admission.replace(
            f"{place}/kubeconfig", f"{folder}/webhooks.yaml"
        ).encode(),
    }.items():
        (folder / name).write_bytes(content)
    return f"--admission-control-config-file={folder}/admission.yaml"


def test_the_api_server_calls_the_webhooks_by_their_service(tmp_path):
    """The chart as it is by default: every version, and a certificate of our own making.

    The API server shows the certificate that the page on access has it show; a
    client without one is refused. It finds what a Service leads to by its endpoints, made here as no
    controller does: they must be of an address that is not the loopback's.
    """
    address = own_address()
    config = with_a_client_certificate(tmp_path)
    routed = RealCluster("--enable-aggregator-routing=true", config)
    with Operation(tmp_path, cluster=routed) as operation:
        kubectl, helm = programs(operation)
        port = free_port()
        given = values_file(
            operation,
            **of_azure(operation),
            crdPattern=f"{GROUPS_ONLY};network.azure.com/VirtualNetwork",
            webhook={"port": port, "clientCASecret": "api-servers"},
        )
        helm("install", "aso2", CHART, "--create-namespace", *given)
        kubectl("apply", "-f", "-", given=json.dumps(endpoints(address, port)))
        start_as_stored(operation, kubectl)
        group = resource_group()
        old = virtual_network() | {"apiVersion": "network.azure.com/v1api20240301"}
        operation.wait_served(group, old)
        operation.apply_once_trusted(group)
        operation.apply_once_trusted(old)
        assert operation.wait_ready(old)["spec"]["azureName"] == "vnet"
        (put,) = operation.requests("PUT", "virtualNetworks/vnet")
        assert put.api_version == "2024-03-01"
        expressions = [{"name": "out", "key": "it", "value": "self.spec.nosuch"}]
        wrong = virtual_network(operatorSpec={"configMapExpressions": expressions})
        with pytest.raises(ApiError, match=r"validate\.azure\.com.*nosuch"):
            operation.apply(wrong)
        with pytest.raises(urllib.error.HTTPError, match="403"):
            urllib.request.urlopen(
                f"https://{address}:{port}/validate",
                data=b"{}",
                context=ssl._create_unverified_context(),
            )
        assert " is forbidden: " not in operation.logs()
        off = ("--reuse-values", "--set", "webhook.enable=false")
        with pytest.raises(AssertionError, match="asoctl clean crds --one-version"):
            helm("upgrade", "aso2", CHART, *off)


def test_aso_s_crds_are_run_as_they_are_after_the_upgrade(tmp_path):
    """Each with ASO's stored form, and the trust in a certificate that is gone."""
    address = own_address()
    routed = RealCluster("--enable-aggregator-routing=true")
    with Operation(tmp_path, cluster=routed) as operation:
        kubectl, helm = programs(operation)
        gone = base64.b64encode(certificate_authority().pem).decode()
        client = WebhookClient(
            namespace=NAMESPACE,
            name="azureserviceoperator-webhook-service",
            ca_bundle=gone,
        )
        group, old = resource_group(), virtual_network()
        old |= {"apiVersion": "network.azure.com/v1api20240301"}
        for gvk in (gvk_of(group), gvk_of(old)):
            kind = builtin().kind(gvk.group_kind)
            stored = [f"{version}storage" for version in kind.versions]
            versions = [*kind.versions, *stored]
            theirs = crd(
                kind,
                versions=versions,
                conversion=client,
                rules=True,
                complete=True,
            )
            operation.client.create(CUSTOM_RESOURCE_DEFINITIONS, theirs)
        port = free_port()
        given = values_file(
            operation,
            **of_azure(operation),
            crdPattern="resources.azure.com/*;network.azure.com/*",
            installCRDs=False,
            webhook={"port": port},
        )
        helm("install", "aso2", CHART, "--create-namespace", *given)
        kubectl("apply", "-f", "-", given=json.dumps(endpoints(address, port)))
        start_as_stored(operation, kubectl)
        operation.apply_once_trusted(group)
        operation.apply_once_trusted(old)
        operation.wait_ready(old)
        (put,) = operation.requests("PUT", "virtualNetworks/vnet")
        assert put.api_version == "2024-03-01"
        assert " is forbidden: " not in operation.logs()


def test_pods_are_let_into_a_namespace_that_restricts_them(kubectl):
    kubectl("create", "namespace", NAMESPACE)
    level = "pod-security.kubernetes.io/enforce=restricted"
    kubectl("label", "namespace", NAMESPACE, level)
    for case in CASES:
        template = one(rendered(case), "Deployment")["spec"]["template"]
        pod = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": case, "namespace": NAMESPACE, **template["metadata"]},
            "spec": template["spec"],
        }
        # Of admission's plug-ins one wants this class to be there.
        pod["spec"].pop("priorityClassName", None)
        apply = ("create", "--dry-run=server", "--filename", "-")
        assert kubectl(*apply, given=json.dumps(pod))
        pod["spec"]["securityContext"].pop("seccompProfile")
        assert not kubectl(*apply, given=json.dumps(pod), may_fail=True)


def test_every_case_is_taken_by_server_side_apply_and_again(kubectl):
    kubectl("create", "namespace", NAMESPACE)
    for namespace in ("red", "blue"):
        kubectl("create", "namespace", namespace)
    for case in CASES:
        found = [
            o
            for o in rendered(case)
            if o["apiVersion"].partition("/")[0]
            not in {"cert-manager.io", "monitoring.coreos.com"}
        ]
        text = yaml.safe_dump_all(found)
        apply = ("apply", "--server-side", "--force-conflicts", "--filename", "-")
        kubectl(*apply, given=text)
        stored = _generations(kubectl)
        kubectl(*apply, given=text)
        assert _generations(kubectl) == stored


def _generations(kubectl):
    shown = "-o=jsonpath={range .items[*]}{.metadata.name}={.metadata.generation};{end}"
    return kubectl("get", "deployments,networkpolicies,pdb", "-n", NAMESPACE, shown)


def test_the_webhooks_certificate_is_all_that_is_granted_of_secrets(
    operation, helm, kubectl
):
    """This holds if target namespaces are named, or if nothing is reconciled."""
    values = ("--values", HERE / "values" / "webhooks.yaml")
    helm("install", "aso2", CHART, "--create-namespace", *values)
    account = f"system:serviceaccount:{NAMESPACE}:{ACCOUNT}"

    def may(verb, resource, namespace=NAMESPACE):
        place = ("--as", account, "--namespace", namespace)
        return kubectl("auth", "can-i", verb, resource, *place, may_fail=True) == "yes"

    certificate = "secrets/asoreconcile-webhook-certificate"
    assert may("create", "secrets")
    assert may("get", certificate)
    assert may("patch", certificate)
    assert not may("get", "secrets/aso-controller-settings")
    assert not may("list", "secrets")
    assert not may("get", certificate, "default")
    assert may("create", "customresourcedefinitions")
    assert may(
        "patch",
        "mutatingwebhookconfigurations/azureserviceoperator-mutating-webhook-configuration",
    )
    assert not may("patch", "mutatingwebhookconfigurations/other")


def test_tenants_have_releases_beside_the_shared_one(operation, helm, kubectl):
    for namespace in ("red", "blue"):
        kubectl("create", "namespace", namespace)
    # The shared release may also reconcile in its own namespace alone. The guide
    # explains azureOperatorMode webhooks, which needs a server that converts.
    shared = values_file(
        operation,
        "shared",
        **of_azure(operation),
        azureTargetNamespaces=[NAMESPACE],
        crdPattern=GROUPS_ONLY,
        allVersions=False,  # no server can convert: see below
    )
    helm("install", "shared", CHART, "--create-namespace", *shared)
    installs = start_as_stored(operation, kubectl)
    group = resource_group()
    operation.wait_served(group)
    assert installs.end(30) == 0  # the webhooks drain first
    assert " is forbidden: " not in operation.logs()
    # Nothing leads to a Service here: there are no pods that could answer.
    for configuration in ("mutating", "validating"):
        kubectl("delete", f"{configuration}webhookconfigurations", "--all")
    for team in ("red", "blue"):
        given = values_file(
            operation,
            team,
            **of_azure(operation),
            multitenant={"enable": True},
            azureOperatorMode="watchers",
            azureTargetNamespaces=[team],
            installCRDs=False,
        )
        helm(
            *("install", team, CHART, "--create-namespace", *given),
            namespace=f"operator-{team}",
        )
    group["metadata"]["namespace"] = "red"
    start_as_stored(operation, kubectl, "operator-red")
    operation.apply(group)
    operation.wait_ready(group)
    assert operation.manager.end() == 0
    assert " is forbidden: " not in operation.logs()
    operation.manager = None
    helm("uninstall", "red", namespace="operator-red")
    kubectl("get", "clusterrole", "azureserviceoperator-manager-role")
    kubectl(
        "get",
        "rolebinding",
        "--namespace",
        "blue",
        "azureserviceoperator-manager-rolebinding-operator-blue",
    )


def test_a_release_of_aso_is_upgraded_in_place(operation, helm, kubectl):
    """Objects of the same name stay the same objects; ASO's other objects are
    deleted.
    """
    theirs = operation.folder / "theirs"
    (theirs / "templates").mkdir(parents=True)
    chart = {"apiVersion": "v2", "name": "azure-service-operator", "version": "2.20.0"}
    (theirs / "Chart.yaml").write_text(json.dumps(chart))
    (theirs / "templates" / "all.yaml").write_text(yaml.safe_dump_all(_theirs()))
    given = ("--values", HERE / "values" / "theirs.yaml")
    helm("install", "aso2", theirs, "--create-namespace", *given)
    hooks = (
        "mutatingwebhookconfiguration",
        "azureserviceoperator-mutating-webhook-configuration",
    )
    before = {
        (kind, name): read(kubectl, kind, name)["metadata"]["uid"]
        for kind, name in (
            ("deployment", DEPLOYMENT),
            ("service", "azureserviceoperator-webhook-service"),
            ("serviceaccount", ACCOUNT),
            ("secret", "aso-controller-settings"),
            hooks,
        )
    }

    kept = operation.folder / "kept.yaml"
    kept.write_text(helm("get", "values", "aso2", "--output", "yaml"))
    helm("upgrade", "aso2", CHART, "--reset-values", "--values", kept)
    for (kind, name), uid in before.items():
        assert read(kubectl, kind, name)["metadata"]["uid"] == uid
    deployment = read(kubectl, "deployment", DEPLOYMENT)
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    assert container["image"].startswith("asoreconcile:")
    assert [p["name"] for p in container["ports"]] == ["health", "metrics", "webhooks"]
    assert [e["name"] for e in container["env"] if e["name"].startswith("GO")] == []
    (hook,) = read(kubectl, *hooks)["webhooks"]
    assert hook["clientConfig"]["service"]["path"] == "/mutate"
    role = read(kubectl, "clusterrole", "azureserviceoperator-manager-role")
    assert "delete" not in json.dumps(role["rules"])
    left = kubectl("get", "networkpolicy,clusterrole", "-n", NAMESPACE, "-o", "name")
    assert "allow-egress" not in left
    assert "crd-reader" not in left

    # The operator's writes to its webhooks survive another upgrade.
    bundle = json.dumps(
        [{"op": "add", "path": "/webhooks/0/clientConfig/caBundle", "value": BUNDLE}]
    )
    kubectl("patch", *hooks, "--type=json", "--patch", bundle)
    helm("upgrade", "aso2", CHART, "--reset-values", "--values", kept)
    (hook,) = read(kubectl, *hooks)["webhooks"]
    assert hook["clientConfig"]["caBundle"] == BUNDLE

    helm("rollback", "aso2", "1")
    (container,) = read(kubectl, "deployment", DEPLOYMENT)["spec"]["template"]["spec"][
        "containers"
    ]
    assert container["image"].startswith("mcr.example/")


BUNDLE = "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCk1JSUJnVENDQVNlZ0F3SUJBZ0lVWkhCOGxBPT0KLS0tLS1FTkQgQ0VSVElGSUNBVEUtLS0tLQo="


def _theirs():
    """Objects under the names and with the selectors that ASO's chart has."""
    labels = {"control-plane": "controller-manager"}
    name = "azureserviceoperator-manager-role"
    yield {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": {"name": ACCOUNT, "namespace": NAMESPACE},
    }
    yield {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "aso-controller-settings", "namespace": NAMESPACE},
        "data": {"AZURE_CLIENT_ID": "", "AZURE_SYNC_PERIOD": "MWg="},
    }
    for role, verbs in (
        (name, ["*"]),
        ("azureserviceoperator-crd-reader-role", ["get"]),
    ):
        yield {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "ClusterRole",
            "metadata": {"name": role},
            "rules": [
                {
                    "apiGroups": [""],
                    "resources": ["secrets"],
                    "verbs": ["delete", *verbs],
                }
            ],
        }
    yield {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": "azureserviceoperator-manager-rolebinding"},
        "roleRef": {
            "apiGroup": "rbac.authorization.k8s.io",
            "kind": "ClusterRole",
            "name": name,
        },
        "subjects": [
            {"kind": "ServiceAccount", "name": ACCOUNT, "namespace": NAMESPACE}
        ],
    }
    yield {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {
            "name": "azureserviceoperator-webhook-service",
            "namespace": NAMESPACE,
        },
        "spec": {"selector": labels, "ports": [{"port": 443, "targetPort": 9443}]},
    }
    yield {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": {"name": "allow-egress", "namespace": NAMESPACE},
        "spec": {"podSelector": {"matchLabels": labels}, "policyTypes": ["Egress"]},
    }
    yield {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "MutatingWebhookConfiguration",
        "metadata": {"name": "azureserviceoperator-mutating-webhook-configuration"},
        "webhooks": [
            {
                "name": f"default.v20250301.{kind}.network.azure.com",
                "admissionReviewVersions": ["v1"],
                "clientConfig": {
                    "service": {
                        "namespace": NAMESPACE,
                        "name": "azureserviceoperator-webhook-service",
                        "path": f"/mutate-network-azure-com-v20250301-{kind}",
                    }
                },
                "sideEffects": "None",
            }
            for kind in ("virtualnetwork", "publicipaddress")
        ],
    }
    yield {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": DEPLOYMENT, "namespace": NAMESPACE, "labels": labels},
        "spec": {
            "replicas": 2,
            "selector": {"matchLabels": labels},
            "strategy": {"type": "Recreate"},
            "template": {
                "metadata": {"labels": labels},
                "spec": {
                    "serviceAccountName": ACCOUNT,
                    "containers": [
                        {
                            "name": "manager",
                            "image": "mcr.example/k8s/azureserviceoperator:v2.20.0",
                            "args": ["--health-addr=:8081"],
                            "env": [{"name": "GOMEMLIMIT", "value": "400MiB"}],
                            "ports": [
                                {"containerPort": 9443, "name": "webhook-server"},
                                {"containerPort": 8081, "name": "health-port"},
                                {"containerPort": 8443, "name": "metrics-port"},
                            ],
                        }
                    ],
                },
            },
        },
    }
