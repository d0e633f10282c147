"""`asoctl uninstall`: what stays, what goes, and in which order."""

import pytest
import yaml
from click.testing import CliRunner
from kubeapi import kube_server
from world import World, resource_group, virtual_network

from asoreconcile.azure.catalogue.crd import crd
from asoreconcile.azure.catalogue.webhook_manifests import WebhookClient
from asoreconcile.azure.cmd.asoctl import main
from asoreconcile.azure.controllers.catalogue import builtin
from asoreconcile.azure.reconcile.model.annotations import RECONCILE_POLICY
from asoreconcile.azure.reconcile.planning.exported_manifest import exported_manifest
from asoreconcile.base.objects import GroupKind, copy_json

GROUP = builtin().kind(GroupKind("resources.azure.com", "ResourceGroup"))
VNET = "network.azure.com/VirtualNetwork"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
STORED = f"/apis/resources.azure.com/{GROUP.storage}storage"
OBJECTS = f"{STORED}/namespaces/default/resourcegroups"
SECRETS = "/api/v1/namespaces/default/secrets"
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
CLUSTER_ROLES = "/apis/rbac.authorization.k8s.io/v1/clusterroles"
FINALIZER = "serviceoperator.azure.com/finalizer"
POLICY = {"serviceoperator.azure.com/reconcile-policy": "skip"}


@pytest.fixture
def cluster(tmp_path, monkeypatch):
    """An installation whose conversion webhook does not answer."""
    with kube_server() as (kube, client):
        kube.write_kubeconfig(tmp_path / "kubeconfig")
        monkeypatch.setenv("KUBECONFIG", str(tmp_path / "kubeconfig"))
        hook = WebhookClient(url="https://127.0.0.1:1", ca_bundle="")
        document = crd(GROUP, versions=GROUP.versions, conversion=hook)
        client.post(CRDS, copy_json(document)).expect(201)
        obj = {
            "apiVersion": f"resources.azure.com/{GROUP.storage}storage",
            "kind": "ResourceGroup",
            "metadata": {
                "name": "rg",
                "finalizers": [FINALIZER],
                "annotations": POLICY,
            },
            "spec": {"location": "westeurope", "originalVersion": GROUP.versions[0]},
        }
        made = client.post(OBJECTS, obj).expect(201).json
        owner = {
            "apiVersion": f"resources.azure.com/{GROUP.storage}",
            "kind": "ResourceGroup",
            "name": "rg",
            "uid": made["metadata"]["uid"],
        }
        secret = {"name": "exported", "ownerReferences": [owner]}
        client.post(SECRETS, {"metadata": secret}).expect(201)
        client.post(SECRETS, {"metadata": {"name": "asoreconcile-record-key"}})
        for name in ("azureserviceoperator-manager-role", "other"):
            client.post(CLUSTER_ROLES, {"metadata": {"name": name}}).expect(201)
        labels = {"control-plane": "controller-manager"}
        spec = {
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": [{"name": "manager", "image": "it"}]},
            },
        }
        name = "azureserviceoperator-controller-manager"
        deployment = {"metadata": {"name": name}, "spec": spec}
        client.post(DEPLOYMENTS, deployment).expect(201)
        kube.journal.clear()
        yield kube, client


def uninstall(*arguments):
    return CliRunner().invoke(main, ["uninstall", *arguments])


def writes(kube):
    return [one.path for one in kube.journal if one.method not in ("GET", "HEAD")]


def test_without_yes_it_only_says_what_would_be_done(cluster, tmp_path):
    done = uninstall("--keep-azure", "--save", str(tmp_path / "saved.yaml"))
    assert done.exit_code == 0, done.output
    for said in ("rg: is kept", "exported: stays", "1 objects, 1 CRDs: nothing was"):
        assert said in done.stdout
    assert not (tmp_path / "saved.yaml").exists()
    assert writes(cluster[0]) == []


def test_with_azure_kept_only_exports_and_the_manifests_stay(cluster, tmp_path):
    _, client = cluster
    saved = tmp_path / "saved.yaml"
    done = uninstall("--keep-azure", "--save", str(saved), "--yes")
    assert done.exit_code == 0, done.output
    assert "Secret default/exported: stays" in done.stdout
    (manifest,) = yaml.safe_load_all(saved.read_text())
    assert manifest["apiVersion"] == f"resources.azure.com/{GROUP.versions[0]}"
    assert manifest["metadata"]["annotations"] == POLICY
    assert manifest["spec"] == {"location": "westeurope"}
    for path in (f"{CRDS}/resourcegroups.resources.azure.com", OBJECTS):
        assert client.get(path).status == 404
    secrets = client.get(SECRETS).json["items"]
    assert [one["metadata"]["name"] for one in secrets] == ["exported"]
    assert "ownerReferences" not in secrets[0]["metadata"]
    assert client.get(DEPLOYMENTS).json["items"] == []
    roles = client.get(CLUSTER_ROLES).json["items"]
    assert "azureserviceoperator-manager-role" not in str(roles)
    assert "other" in str(roles)
    again = uninstall("--keep-azure", "--save", str(tmp_path / "again"), "--yes")
    assert again.exit_code == 0, again.output


def without_etags(resources):
    return {
        i: {k: v for k, v in r.items() if k != "etag"} for i, r in resources.items()
    }


def test_what_was_saved_changes_nothing_in_azure_when_it_is_applied_later(tmp_path):
    objects = [resource_group(tags={"team": "a"}), virtual_network(tags={"b": "c"})]
    with World(tmp_path) as world:
        world.install("resources.azure.com/ResourceGroup", VNET)
        for obj in objects:
            world.settled(obj)
        saved = [exported_manifest(world.read(obj)) for obj in objects]
        before = without_etags(world.azure.resources())
        for obj in reversed(objects):
            world.annotate(obj, **{RECONCILE_POLICY: "skip"})
            world.delete(obj)
            assert world.settle(obj) is None
        world.restart()
        world.azure.journal.clear()
        for obj in saved:
            world.apply(obj)
            world.settle(obj)
        assert without_etags(world.azure.resources()) == before
        assert len(world.requests("PUT")) <= len(objects)
        assert not world.requests("DELETE")


def test_without_an_operator_nothing_in_azure_can_be_deleted(cluster):
    kube, client = cluster
    done = uninstall("--delete-azure", "--yes", "--wait-seconds", "0")
    assert done.exit_code == 1
    assert "still being deleted in Azure after 0 s: ResourceGroup default/rg" in (
        done.stderr
    )
    name = "azureserviceoperator-controller-manager"
    client.delete(f"{DEPLOYMENTS}/{name}").expect(200)
    kube.journal.clear()
    done = uninstall("--delete-azure", "--yes", "--wait-seconds", "0")
    assert "no operator is there" in done.stderr
    assert writes(kube) == []
