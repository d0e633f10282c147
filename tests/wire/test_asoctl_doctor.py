"""`asoctl doctor` over the embedded API server: what it reads, and its exit codes."""

import base64
import json

import pytest
from click.testing import CliRunner
from kubeapi import kube_server

from asoreconcile.catalogue.crd import crd
from asoreconcile.cmd.asoctl import main
from asoreconcile.controllers.catalogue import builtin
from asoreconcile.objects import GroupKind
from asoreconcile.testing.arm import ArmServer

NAMESPACE = "azureserviceoperator-system"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
GROUPS = "/apis/resources.azure.com/v1api20200601/namespaces/default/resourcegroups"


@pytest.fixture
def cluster(tmp_path, monkeypatch):
    with kube_server(rbac=True) as (kube, client):
        kube.write_kubeconfig(tmp_path / "kubeconfig")
        monkeypatch.setenv("KUBECONFIG", str(tmp_path / "kubeconfig"))
        client.post("/api/v1/namespaces", {"metadata": {"name": NAMESPACE}}).expect(201)
        kind = builtin().kind(GroupKind("resources.azure.com", "ResourceGroup"))
        client.post(CRDS, crd(kind, versions=["v1api20200601"])).expect(201)
        client.kube = kube
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


def test_a_cluster_without_an_operator(cluster):
    found = findings()
    assert found["cluster"][0]["level"] == "ok"
    assert "there is no Deployment" in found["operator"][0]["text"]
    assert "there is no Secret" in found["settings"][0]["text"]
    assert found["kinds"][0]["text"] == "1 kinds are installed"
    assert found["objects"][0]["text"] == "all 0 are Ready"
    assert found["rights"][0]["level"] == "error"
    assert "Azure" not in found
    assert doctor().exit_code == 1


def test_settings_leader_and_rights_are_looked_at(cluster):
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


def test_what_may_not_be_read_is_said_and_the_rest_goes_on(cluster, tmp_path):
    """As a user who may read nothing but what everybody may."""
    token = cluster.kube.add_service_account("default", "reader")
    cluster.kube.write_kubeconfig(tmp_path / "kubeconfig", token)
    found = findings()
    assert found["cluster"][0]["level"] == "ok"
    assert found["settings"][0]["level"] == "unknown"
    assert "somebody who may read this" in found["settings"][0]["mend"]
    assert found["kinds"][0]["level"] == "unknown"


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


def test_a_cluster_that_does_not_answer(tmp_path, monkeypatch):
    with kube_server() as (kube, _):
        kube.write_kubeconfig(tmp_path / "kubeconfig")
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "kubeconfig"))
    done = doctor()
    assert done.exit_code == 1
    assert "Error" in done.stderr
