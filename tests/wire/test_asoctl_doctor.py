"""`asoctl doctor` over the embedded API server: what it reads, and its exit codes."""

import base64
import json
from contextlib import closing
from datetime import UTC, datetime, timedelta

import pytest
from click.testing import CliRunner
from kubeapi import kube_server

from asoreconcile.azure.catalogue.crd import crd
from asoreconcile.azure.cmd.asoctl import main
from asoreconcile.azure.controllers.catalogue import builtin
from asoreconcile.azure.controllers.diagnosis.finding import CheckSubject
from asoreconcile.azure.controllers.diagnosis.fixes import mend
from asoreconcile.base.certificates import Authority
from asoreconcile.base.objects import GroupKind
from asoreconcile.kube.client import KubeClient
from asoreconcile.kube.config import load
from asoreconcile.testing.arm import ArmServer
from asoreconcile.testing.http import HttpResponse

NAMESPACE = "azureserviceoperator-system"
DEPLOYMENT = "azureserviceoperator-controller-manager"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
GROUP_CRD = "resourcegroups.resources.azure.com"
GROUPS = "/apis/resources.azure.com/v1api20200601/namespaces/default/resourcegroups"


@pytest.fixture
def cluster(tmp_path, monkeypatch):
    with kube_server(rbac=True) as (kube, client):
        kube.write_kubeconfig(tmp_path / "kubeconfig")
        monkeypatch.setenv("KUBECONFIG", str(tmp_path / "kubeconfig"))
        client.post("/api/v1/namespaces", {"metadata": {"name": NAMESPACE}}).expect(201)
        kind = builtin().kind(GroupKind("resources.azure.com", "ResourceGroup"))
        client.post(CRDS, crd(kind, versions=["v1api20200601"])).expect(201)
        client.kube = kube  # type: ignore[attr-defined]
        yield client


def doctor(*arguments):
    return CliRunner().invoke(main, ["doctor", *arguments])


def findings(*arguments):
    done = doctor("-o", "json", *arguments)
    assert done.exit_code in (0, 1), done.output
    found = {}
    for line in done.stdout.splitlines():
        one = json.loads(line)
        found.setdefault(one["check"], []).append(one)
    return found


def deployed(cluster, namespace, image="asoreconcile", **variables):
    """Install an operator's Deployment, and its namespace if it is missing."""
    env = [{"name": name, "value": value} for name, value in variables.items()]
    container = {"name": "manager", "image": image, "env": env}
    labels = {"a": "b"}
    spec = {
        "replicas": 1,
        "selector": {"matchLabels": labels},
        "template": {
            "metadata": {"labels": labels},
            "spec": {"containers": [container]},
        },
    }
    cluster.post("/api/v1/namespaces", {"metadata": {"name": namespace}})
    body = {"metadata": {"name": DEPLOYMENT}, "spec": spec}
    path = f"/apis/apps/v1/namespaces/{namespace}/deployments"
    cluster.post(path, body).expect(201)


def test_a_cluster_without_an_operator(cluster):
    found = findings()
    assert found["cluster"][0]["level"] == "ok"
    assert "there is no Deployment" in found["operator"][0]["text"]
    assert not {"settings", "leader", "rights"} & found.keys()
    assert found["kinds"][0]["text"] == "1 kinds are installed"
    assert found["objects"][0]["text"] == "there is no Azure object yet"
    assert "Azure" not in found
    assert doctor().exit_code == 1


def test_settings_leader_and_rights_are_looked_at(cluster):
    deployed(cluster, NAMESPACE)
    values = {"AZURE_CLIENT_SECRET": "hunter2", "AZURE_SYNC_PERIOD": "soon"}
    data = {k: base64.b64encode(v.encode()).decode() for k, v in values.items()}
    body = {"metadata": {"name": "aso-controller-settings"}, "data": data}
    cluster.post(f"/api/v1/namespaces/{NAMESPACE}/secrets", body).expect(201)
    role = {
        "metadata": {"name": "all"},
        "rules": [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}],
    }
    rbac = "/apis/rbac.authorization.k8s.io/v1"
    cluster.post(f"{rbac}/clusterroles", role).expect(201)
    binding = {
        "metadata": {"name": "all"},
        "roleRef": {
            "apiGroup": "rbac.authorization.k8s.io",
            "kind": "ClusterRole",
            "name": "all",
        },
        "subjects": [
            {
                "kind": "ServiceAccount",
                "name": "azureserviceoperator-default",
                "namespace": NAMESPACE,
            }
        ],
    }
    cluster.post(f"{rbac}/clusterrolebindings", binding).expect(201)
    found = findings()
    assert found["rights"][0]["level"] == "ok"
    assert "AZURE_SYNC_PERIOD" in str(found["settings"])
    assert "hunter2" not in str(found)


def test_objects_that_are_not_ready_are_named(cluster):
    group = {
        "apiVersion": "resources.azure.com/v1api20200601",
        "kind": "ResourceGroup",
        "metadata": {"name": "rg"},
        "spec": {"location": "westeurope"},
    }
    cluster.post(GROUPS, group).expect(201)
    condition = {
        "type": "Ready",
        "status": "False",
        "severity": "Error",
        "reason": "Failed",
        "lastTransitionTime": "2026-11-01T00:00:00Z",
    }
    status = {"status": {"conditions": [condition]}}
    cluster.patch(f"{GROUPS}/rg/status", status).expect(200)
    (found,) = findings()["objects"]
    assert found["text"] == "1 not Ready, Failed: ResourceGroup default/rg"
    assert "asoctl explain" in found["mend"]


def test_a_sandbox_and_an_operator_of_a_team_are_no_error(cluster):
    """Without a Deployment objects show that an operator runs; the only one counts."""
    test_objects_that_are_not_ready_are_named(cluster)
    found = findings()
    assert found["operator"][0]["text"].startswith("it runs outside of the cluster")
    assert not {"settings", "leader", "rights"} & found.keys()
    (objects,) = found["objects"]
    command = "asoctl explain ResourceGroup.resources.azure.com/rg -n default"
    assert command in objects["mend"]
    deployment = {
        "metadata": {"name": "azureserviceoperator-controller-manager"},
        "spec": {
            "replicas": 0,
            "selector": {"matchLabels": {"a": "b"}},
            "template": {
                "metadata": {"labels": {"a": "b"}},
                "spec": {"containers": [{"name": "manager", "image": "x"}]},
            },
        },
    }
    cluster.post("/api/v1/namespaces", {"metadata": {"name": "team"}}).expect(201)
    path = "/apis/apps/v1/namespaces/team/deployments"
    cluster.post(path, deployment).expect(201)
    (operator,) = findings()["operator"]
    assert operator["text"].startswith("0 of 0 replicas of team/azureserviceoperator")
    assert operator["mend"].endswith(
        "-n team deployment/azureserviceoperator-controller-manager"
    )


def test_what_may_not_be_read_is_said_and_the_rest_goes_on(cluster, tmp_path):
    """As a user who may read nothing but what everybody may."""
    token = cluster.kube.add_service_account("default", "reader")
    cluster.kube.write_kubeconfig(tmp_path / "kubeconfig", token)
    found = findings()
    assert found["cluster"][0]["level"] == "ok"
    assert "a user who may read this" in found["cluster"][1]["mend"]
    (settings,) = found["settings"]
    assert settings["level"] == "unknown"
    assert settings["text"] == "not checked, for the same reason as cluster"
    assert found["kinds"][0]["level"] == "unknown"
    assert [one["level"] for one in found["objects"]] == ["unknown"]
    refused = CliRunner().invoke(main, ["explain", "-A"])
    assert "name a namespace where you have it with -n" in refused.output


def granted(cluster, account, place, *rules):
    """Grant rules in a namespace, or in all with ""."""
    rbac = "/apis/rbac.authorization.k8s.io/v1"
    path, kind = f"{rbac}/clusterroles", "ClusterRole"
    cluster.post(path, {"metadata": {"name": account}, "rules": rules}).expect(201)
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": account}
    subject = {"kind": "ServiceAccount", "name": account, "namespace": NAMESPACE}
    body = {"metadata": {"name": account}, "roleRef": role, "subjects": [subject]}
    bound = f"namespaces/{place}/rolebindings" if place else "clusterrolebindings"
    cluster.post(f"{rbac}/{bound}", body).expect(201)


def test_who_may_list_one_kind_is_told_which_are_missing(cluster, tmp_path):
    kind = builtin().kind(GroupKind("network.azure.com", "VirtualNetwork"))
    cluster.post(CRDS, crd(kind)).expect(201)
    test_objects_that_are_not_ready_are_named(cluster)
    rule = {"apiGroups": ["resources.azure.com"], "resources": ["*"], "verbs": ["*"]}
    granted(cluster, "reader", "", rule)
    token = cluster.kube.add_service_account(NAMESPACE, "reader")
    cluster.kube.write_kubeconfig(tmp_path / "kubeconfig", token)
    first, unread, *_ = findings()["objects"]
    assert first["text"].startswith("1 not Ready")
    assert (unread["level"], "virtualnetworks" in unread["text"]) == ("unknown", True)
    done = CliRunner().invoke(main, ["explain", "-A"])
    assert "1 Azure object, 1 not Ready" in done.stdout
    assert "may not list 1 kinds: VirtualNetwork.network.azure.com" in done.stderr


def test_an_operator_of_some_namespaces_needs_its_rights_there_alone(cluster):
    targets = {"AZURE_TARGET_NAMESPACES": "default", "AZURE_OPERATOR_MODE": "watchers"}
    deployed(cluster, NAMESPACE, **targets)
    cluster.post("/api/v1/namespaces", {"metadata": {"name": "apart"}}).expect(201)
    group = {"apiVersion": "resources.azure.com/v1api20200601", "kind": "ResourceGroup"}
    group |= {"metadata": {"name": "rg"}, "spec": {"location": "x"}}
    cluster.post(GROUPS.replace("default", "apart"), group).expect(201)
    everything = {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}
    account = "azureserviceoperator-default"
    granted(cluster, account, "default", everything)
    found = findings()
    assert found["objects"][0]["text"] == "there is no Azure object yet"
    assert "namespaces" in found["rights"][0]["text"]  # what the cluster has
    assert "secrets" not in found["rights"][0]["text"]


@pytest.mark.parametrize(
    ("variables", "said"),
    [
        ({}, "both reconcile the objects of namespace default"),
        ({"AZURE_TARGET_NAMESPACES": "b, default"}, "the objects of namespace default"),
        ({"AZURE_TARGET_NAMESPACES": "b"}, ""),
        ({"AZURE_OPERATOR_MODE": "webhooks"}, ""),
    ],
)
def test_two_operators_of_one_namespace_are_seen(cluster, variables, said):
    deployed(cluster, NAMESPACE, AZURE_TARGET_NAMESPACES="default")
    deployed(cluster, "team", **variables)
    texts = [one["text"] for one in findings()["operator"] if one["level"] == "warning"]
    assert len(texts) == bool(said)
    assert said in "".join(texts)


def test_azure_service_operator_is_known_and_its_rights_are_its_own(cluster):
    deployed(cluster, NAMESPACE, "mcr.microsoft.com/k8s/azureserviceoperator:v2.13.0")
    found = findings()
    assert "it is Azure Service Operator" in found["operator"][1]["text"]
    assert "rights" not in found
    (lost,) = findings("-n", "nowhere")["operator"]
    assert (
        lost["mend"] == f"look at one: asoctl doctor --operator-namespace {NAMESPACE}"
    )


def test_a_certificate_whose_secret_was_deleted_is_missed(cluster):
    deployed(cluster, NAMESPACE)
    service = {"namespace": NAMESPACE, "name": "webhooks", "path": "/convert"}
    pem = base64.b64encode(
        Authority.make("ca", now=datetime.now(UTC), days=99).pem
    ).decode()
    client = {"service": service, "caBundle": pem}
    webhook = {"clientConfig": client, "conversionReviewVersions": ["v1"]}
    conversion = {"conversion": {"strategy": "Webhook", "webhook": webhook}}
    cluster.patch(f"{CRDS}/{GROUP_CRD}", {"spec": conversion}).expect(200)
    lost = [one for one in findings()["webhooks"] if "no Secret" in one["text"]]
    assert [one["fix"] for one in lost] == ["restart-operator"]


def test_azure_is_asked_when_wanted(cluster, tmp_path, monkeypatch):
    with ArmServer() as azure:
        azure.write_ca(tmp_path / "ca.pem")
        monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(tmp_path / "ca.pem"))
        for name, value in azure.settings().items():
            monkeypatch.setenv(name, value)
        found = findings("--azure")["Azure"][0]
        monkeypatch.setenv("AZURE_CLIENT_SECRET", "wrong")
        refused = findings("--azure")["Azure"][0]
    assert found["level"] == "ok", found
    assert refused["level"] == "error"
    assert "wrong" not in str(refused)


VNET = builtin().kind(GroupKind("network.azure.com", "VirtualNetwork"))
NAME = "virtualnetworks.network.azure.com"
OLD, NEW = "v1api20240301", "v20250301"


@pytest.fixture
def moved(cluster):
    """A kind whose storage version has moved, an hour ago, and an object from before."""
    cluster.kube.clock.offset_seconds = -3600.0
    old = crd(VNET, versions=[OLD], storage=OLD)
    cluster.post(CRDS, old).expect(201)
    networks = f"/apis/network.azure.com/{OLD}/namespaces/default/virtualnetworks"
    obj = {
        "apiVersion": f"network.azure.com/{OLD}",
        "kind": "VirtualNetwork",
        "metadata": {"name": "a"},
        "spec": {"location": "westeurope", "owner": {"name": "rg"}},
    }
    cluster.post(networks, obj).expect(201)
    there = cluster.get(f"{CRDS}/{NAME}").json
    new = crd(VNET, versions=[OLD, NEW], storage=NEW)["spec"]
    cluster.put(f"{CRDS}/{NAME}", there | {"spec": new}).expect(200)
    cluster.kube.journal.clear()
    return cluster


def listed(cluster):
    return cluster.get(f"{CRDS}/{NAME}").json["status"]["storedVersions"]


def changing(cluster):
    """Requests that changed something: no dry run, no review."""
    return [
        served.path
        for served in cluster.kube.journal
        if served.method in ("POST", "PUT", "PATCH", "DELETE")
        and "reviews" not in served.path
        # A dry run: a test says that it leaves nothing.
        and not served.path.endswith("/configmaps")
    ]


def test_nothing_changes_without_fix_and_with_a_dry_run(moved):
    text = doctor().stdout
    assert "[--fix drop-stored-versions]" in text
    dry = doctor("--fix", "all", "--dry-run").stdout
    assert f"=> drop-stored-versions: would write each object of {NAME} once" in dry
    assert "done" not in dry.replace("not done", "")
    assert listed(moved) == [OLD, NEW]
    assert changing(moved) == []


def test_a_fix_is_said_first_then_done_and_not_needed_again(moved):
    text = doctor("--fix", "drop-stored-versions").stdout
    before = text.index(f"=> drop-stored-versions: write each object of {NAME}")
    assert before < text.index("=> drop-stored-versions: done: 1 objects stored in")
    assert "1 mended" in text
    assert listed(moved) == [NEW]
    again = doctor("--fix", "drop-stored-versions").stdout
    assert "=>" not in again


def test_a_fix_that_fails_leaves_the_finding(moved):
    moved.kube.faults.fail(verb="patch", resource=NAME, status=403)
    text = doctor("--fix", "drop-stored-versions").stdout
    assert "=> drop-stored-versions: not done: " in text
    assert "mended" not in text
    assert listed(moved) == [OLD, NEW]


def test_an_authority_that_ended_is_taken_away_and_a_good_one_is_not(cluster):
    def bundle(days):
        began = datetime.now(UTC) - timedelta(days=100)
        pem = Authority.make("ca", now=began, days=100 + days).pem
        return base64.b64encode(pem).decode()

    def convert_by(text):
        there = cluster.get(f"{CRDS}/resourcegroups.resources.azure.com").json
        there["spec"]["conversion"] = {
            "strategy": "Webhook",
            "webhook": {
                "conversionReviewVersions": ["v1"],
                "clientConfig": {
                    "caBundle": text,
                    "service": {"namespace": NAMESPACE, "name": "hook", "path": "/c"},
                },
            },
        }
        cluster.put(f"{CRDS}/{there['metadata']['name']}", there).expect(200)

    def kept():
        there = cluster.get(f"{CRDS}/resourcegroups.resources.azure.com").json
        return there["spec"]["conversion"]["webhook"]["clientConfig"].get("caBundle")

    convert_by(good := bundle(200))
    text = doctor("--fix", "all").stdout
    assert f"there is no Service {NAMESPACE}/hook" in text
    assert kept() == good
    convert_by(bundle(-1))
    text = doctor("--fix", "remove-ca-bundle").stdout
    assert "=> remove-ca-bundle: done: removed" in text
    assert not kept()


def test_a_restart_is_that_of_kubectl_rollout(cluster):
    labels = {"app": "aso"}
    deployment = {
        "metadata": {"name": "azureserviceoperator-controller-manager"},
        "spec": {
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": [{"name": "manager", "image": "asoreconcile"}]},
            },
        },
    }
    apps = f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments"
    cluster.post(apps, deployment).expect(201)
    name = f"{NAMESPACE}/azureserviceoperator-controller-manager"
    found = CheckSubject("settings").warning(
        "late", "restart", fix="restart-operator", target=name
    )
    client = KubeClient(load(), user_agent="tests")
    with closing(client):
        for minute in (1, 2):
            now = datetime(2026, 11, 1, 12, minute, tzinfo=UTC)
            assert "a rollout has begun" in mend(client, found, now=now)
            there = cluster.get(f"{apps}/{deployment['metadata']['name']}").json
            notes = there["spec"]["template"]["metadata"]["annotations"]
            restarted = notes["kubectl.kubernetes.io/restartedAt"]
            assert restarted == f"2026-11-01T12:0{minute}:00+00:00"
    # What else the template has is as it was.
    assert there["spec"]["template"]["metadata"]["labels"] == labels


def test_the_clock_of_the_cluster_is_compared(cluster):
    assert findings()["clock"][0]["level"] == "ok"
    maps = f"/api/v1/namespaces/{NAMESPACE}/configmaps"
    assert cluster.get(maps).json["items"] == []
    cluster.kube.clock.offset_seconds = -3600.0
    (found,) = findings()["clock"]
    assert "s ahead of the API server" in found["text"]


def test_each_credential_in_use_is_tried(cluster, tmp_path, monkeypatch):
    with ArmServer() as azure:
        azure.write_ca(tmp_path / "ca.pem")
        monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(tmp_path / "ca.pem"))
        given = azure.settings()
        for name, value in given.items():
            monkeypatch.setenv(name, value)

        def secret(name, namespace, **values):
            encoded = {
                key: base64.b64encode(text.encode()).decode()
                for key, text in {**given, **values}.items()
            }
            cluster.post(
                f"/api/v1/namespaces/{namespace}/secrets",
                {"metadata": {"name": name}, "data": encoded},
            ).expect(201)

        secret("aso-controller-settings", NAMESPACE)
        secret("expired", "default", AZURE_CLIENT_SECRET="hunter2")
        for name, credential in (("a", "expired"), ("b", "missing")):
            note = {"serviceoperator.azure.com/credential-from": credential}
            group = {
                "apiVersion": "resources.azure.com/v1api20200601",
                "kind": "ResourceGroup",
                "metadata": {"name": name, "annotations": note},
                "spec": {"location": "westeurope"},
            }
            cluster.post(GROUPS, group).expect(201)
        found = findings("--azure")["credentials"]
    texts = [(one["level"], one["text"]) for one in found]
    assert texts[0] == (
        "ok",
        "the operator's settings signs in, and reads 1 subscriptions",
    )
    assert texts[1][0] == "error"
    assert texts[1][1].startswith("Secret default/expired: ")
    assert texts[2][1].startswith("Secret default/missing does not exist")
    assert "hunter2" not in str(found)


def test_all_that_is_found_says_how_to_mend_it(moved):
    for listed_ in findings("--azure").values():
        for one in listed_:
            assert one["level"] == "ok" or one["mend"], one


def test_an_object_that_holds_a_secret_itself_is_named(cluster):
    """Serve the CRD of a release in which the field was a text."""
    kind = builtin().kind(GroupKind("containerservice.azure.com", "ManagedCluster"))
    version = "v1api20240901"
    old = crd(kind, versions=[version], storage=version)
    schema = old["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    spec = schema["properties"]["spec"]["properties"]
    profile = spec["aadProfile"]["properties"]
    assert profile["serverAppSecret"]["type"] == "object"
    profile["serverAppSecret"] = {"type": "string"}
    cluster.post(CRDS, old).expect(201)
    api = f"containerservice.azure.com/{version}"
    for name, told in (("a", {"serverAppSecret": "hush"}), ("b", {})):
        body = {
            "apiVersion": api,
            "kind": "ManagedCluster",
            "metadata": {"name": name},
            "spec": {"owner": {"name": "rg"}, "location": "w", "aadProfile": told},
        }
        cluster.post(f"/apis/{api}/namespaces/default/managedclusters", body).expect(
            201
        )
    found = findings()["objects"]
    (secret,) = [one for one in found if "holds a secret" in one["text"]]
    assert "ManagedCluster default/a" in secret["text"]
    assert "spec.aadProfile.serverAppSecret" in secret["text"]
    assert "asoctl convert" in secret["mend"]
    assert "hush" not in str(found)


def test_a_kind_that_cannot_be_listed_hides_nothing_else(moved):
    """As when its conversion webhook does not answer."""
    group = {
        "apiVersion": "resources.azure.com/v1api20200601",
        "kind": "ResourceGroup",
        "metadata": {"name": "rg"},
        "spec": {"location": "westeurope"},
    }
    moved.post(GROUPS, group).expect(201)
    moved.kube.faults.fail(verb="list", resource=NAME, times=None)
    found = findings()
    texts = [one["text"] for one in found["objects"]]
    assert any("ResourceGroup default/rg" in text for text in texts)
    (failed,) = [one for one in found["objects"] if "cannot be listed" in one["text"]]
    assert failed["text"].startswith("those of VirtualNetwork.network.azure.com")
    assert "findings on webhooks" in failed["mend"]
    assert found["cluster"]


def is_old(cluster):
    cluster.kube.faults.respond("GET", "/apis$", HttpResponse(406, b"{}"), times=99)


def terminates(cluster):
    held = {"metadata": {"finalizers": ["example.com/held"]}}
    cluster.patch(f"{CRDS}/{GROUP_CRD}", held).expect(200)
    cluster.delete(f"{CRDS}/{GROUP_CRD}").expect(200)


def is_not_there(cluster):
    cluster.delete(f"{CRDS}/{GROUP_CRD}").expect(200)


@pytest.mark.parametrize(
    ("breaks", "said"),
    [
        (is_old, "1.30 is the least that works"),
        (terminates, "is being deleted"),
        (is_not_there, "no CRD of an Azure kind is installed"),
    ],
)
def test_kinds_that_do_not_run_are_an_error(cluster, breaks, said):
    breaks(cluster)
    kinds = findings()["kinds"]
    assert {one["level"] for one in kinds} == {"error"}
    assert said in str(kinds)


def test_a_check_that_fails_is_a_finding_of_its_own(cluster):
    cluster.kube.faults.fail(
        verb="get", resource="leases.coordination.k8s.io", times=None
    )
    (found,) = findings()["leader"]
    assert found["level"] == "error"
    assert found["mend"]


def test_a_wrong_call_says_what_to_write():
    assert "give --fix NAME" in doctor("--dry-run").stderr
    assert doctor("--fix", "everything").exit_code == 2


def test_a_cluster_that_does_not_answer(tmp_path, monkeypatch):
    with kube_server() as (kube, _):
        kube.write_kubeconfig(tmp_path / "kubeconfig")
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "kubeconfig"))
    done = doctor()
    assert done.exit_code == 1
    assert "Error" in done.stderr
