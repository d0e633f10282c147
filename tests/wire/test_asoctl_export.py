"""`asoctl export objects`: what a cluster has, as somebody would write it."""

from datetime import UTC, datetime

import yaml
from click.testing import CliRunner
from kubeapi import kube_server

from asoreconcile.azure.catalogue.crd import crd
from asoreconcile.azure.cmd.asoctl import main
from asoreconcile.azure.cmd.manifests import AppliedManifests
from asoreconcile.azure.controllers.catalogue import builtin
from asoreconcile.azure.reconcile.model.annotation_table import TABLE
from asoreconcile.azure.reconcile.model.annotations import RECONCILE_AT, ROTATE
from asoreconcile.azure.reconcile.planning.exported_manifest import exported_manifest
from asoreconcile.base.objects import GroupKind, annotations

PREFIX = "serviceoperator.azure.com/"
OBJ = {
    "apiVersion": "resources.azure.com/v1api20200601",
    "kind": "ResourceGroup",
    "metadata": {
        "name": "rg",
        "namespace": "default",
        "uid": "u",
        "resourceVersion": "7",
        "generation": 3,
        "creationTimestamp": "2026-01-01T00:00:00Z",
        "managedFields": [{}],
        "finalizers": [f"{PREFIX}finalizer"],
        "ownerReferences": [{"name": "x"}],
        "labels": {"team": "shop", f"{PREFIX}owner-name": "x"},
        "annotations": {
            f"{PREFIX}reconcile-policy": "skip",
            f"{PREFIX}credential-from": "mine",
            f"{PREFIX}resource-id": "/subscriptions/s/resourceGroups/rg",
            "asoreconcile/observed": "{}",
            "kubectl.kubernetes.io/last-applied-configuration": "{}",
            "note": "hello",
        },
    },
    "spec": {"azureName": "rg", "location": "westeurope"},
    "status": {"id": "x"},
}


def test_only_what_an_author_writes_is_exported():
    assert exported_manifest(OBJ) == {
        "apiVersion": "resources.azure.com/v1api20200601",
        "kind": "ResourceGroup",
        "metadata": {
            "name": "rg",
            "namespace": "default",
            "labels": {"team": "shop"},
            "annotations": {
                f"{PREFIX}reconcile-policy": "skip",
                f"{PREFIX}credential-from": "mine",
                "note": "hello",
            },
        },
        "spec": {"azureName": "rg", "location": "westeurope"},
    }


def test_each_annotation_that_steers_the_operator_is_exported():
    """A manifest without its deletion protection would give the resource up."""
    steering = TABLE.by_name.keys() - {RECONCILE_AT, ROTATE}
    obj = {
        **OBJ,
        "metadata": {"name": "rg", "annotations": dict.fromkeys(steering, "x")},
    }
    assert annotations(exported_manifest(obj)).keys() == steering


def test_who_adopts_gets_what_the_operator_keeps():
    found = exported_manifest(OBJ, adopt=True)["metadata"]
    assert found["annotations"][f"{PREFIX}resource-id"].endswith("/rg")
    assert "asoreconcile/observed" in found["annotations"]
    assert found["labels"][f"{PREFIX}owner-name"] == "x"
    assert "finalizers" not in found


def test_a_cluster_s_objects_are_exported_in_order_and_apply_again(
    tmp_path, monkeypatch
):
    with kube_server() as (kube, client):
        kube.write_kubeconfig(tmp_path / "kubeconfig")
        monkeypatch.setenv("KUBECONFIG", str(tmp_path / "kubeconfig"))
        kind = builtin().kind(GroupKind("resources.azure.com", "ResourceGroup"))
        crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
        client.post(crds, crd(kind, versions=["v1api20200601"])).expect(201)
        none = CliRunner().invoke(main, ["export", "objects"])
        assert none.exit_code == 1
        client.post("/api/v1/namespaces", {"metadata": {"name": "other"}}).expect(201)
        for namespace, name in (("other", "a"), ("default", "b"), ("default", "a")):
            path = f"/apis/{OBJ['apiVersion']}/namespaces/{namespace}/resourcegroups"
            meta = {"name": name}
            client.post(path, {**OBJ, "metadata": meta}).expect(201)
        done = CliRunner().invoke(main, ["export", "objects"])
        assert done.exit_code == 0, done.output
        documents = list(yaml.safe_load_all(done.stdout))
        places = [
            (d["metadata"]["namespace"], d["metadata"]["name"]) for d in documents
        ]
        assert places == [("default", "a"), ("default", "b"), ("other", "a")]
        path = f"/apis/{OBJ['apiVersion']}/namespaces/default/resourcegroups/a"
        client.delete(path).expect(200)
        created = path.removesuffix("/a")
        client.post(created, documents[0]).expect(201)
        note = {f"{PREFIX}resource-id": "/subscriptions/s/resourceGroups/a"}
        other = f"/apis/{OBJ['apiVersion']}/namespaces/other/resourcegroups/a"
        client.patch(other, {"metadata": {"annotations": note}}).expect(200)
        for options, kept in (((), None), (("--adopt",), note)):
            one = CliRunner().invoke(
                main, ["export", "objects", "-n", "other", *options]
            )
            (document,) = yaml.safe_load_all(one.stdout)
            assert document["metadata"].get("annotations") == kept


def test_a_kind_whose_crd_was_just_deleted_has_no_rows(kube_client):
    """The sandbox counts the objects first; it goes on."""
    shown = AppliedManifests(builtin(), [])
    counted, now = {"redis.cache.azure.com": 1}, datetime.now(UTC)
    assert shown.rows(kube_client, objects=counted, requests={}, now=now) == []
