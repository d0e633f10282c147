"""The manifests of an installation are stored by the embedded API server."""

from contextlib import closing
from pathlib import Path

import pytest
import yaml

from asoreconcile.base.objects import gvk_of, key_of
from asoreconcile.kube.client import KubeClient
from asoreconcile.kube.config import load
from asoreconcile.kube.resources import ApiResource
from asoreconcile.testing.kube import KubeServer

DEPLOY = Path(__file__).resolve().parents[2] / "deploy"
DEPLOYMENTS = ApiResource("apps", "v1", "deployments", "Deployment")


@pytest.fixture
def client(tmp_path):
    with KubeServer() as server:
        server.write_kubeconfig(tmp_path / "kubeconfig")
        config = load(str(tmp_path / "kubeconfig"))
        with closing(KubeClient(config, user_agent="tests")) as client:
            yield client


def plural(kind):
    return f"{kind[:-1]}ies" if kind.endswith("y") else f"{kind}s"


def test_the_operators_manifests_are_taken_and_an_image_is_changed(client):
    names = ("operator", "rbac", "webhooks")
    documents = [
        document
        for name in names
        for document in yaml.safe_load_all((DEPLOY / f"{name}.yaml").read_text())
        if document
    ]
    for document in documents:
        gvk = gvk_of(document)
        resource = ApiResource(
            gvk.group,
            gvk.version,
            plural(gvk.kind.lower()),
            gvk.kind,
            namespaced="namespace" in document["metadata"],
        )
        client.patch(
            resource, key_of(document), document, kind="apply", field_manager="tests"
        )
    (deployment,) = [d for d in documents if d["kind"] == "Deployment"]
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    change = {"name": container["name"], "image": "example/other:1"}
    answer = client.patch(
        DEPLOYMENTS,
        key_of(deployment),
        {"spec": {"template": {"spec": {"containers": [change]}}}},
        kind="strategic",
    )
    (kept,) = answer["spec"]["template"]["spec"]["containers"]
    assert kept["image"] == change["image"]
    for name in ("args", "resources", "volumeMounts"):
        assert kept.get(name) == container.get(name)
    assert answer["metadata"]["generation"] == 2
