"""The Kustomize base and overlays, by the real kubectl: the same objects, other
ways.
"""

import os

import pytest
from clusters import HAS_REAL, cluster
from operation import Operation
from tools import DEPLOY, objects, one, program, run

from asoreconcile.azure.cmd.manager import manager

OVERLAYS = DEPLOY / "kustomize" / "overlays"
NAMES = ("single", "multi-tenant/webhooks", "multi-tenant/watchers")


def built(folder):
    return objects(run(program("envtest", "kubectl"), "kustomize", folder))


def manifests(*names):
    return [o for name in names for o in objects((DEPLOY / f"{name}.yaml").read_text())]


def by_name(found):
    """Return the objects by kind and name.

    Lists whose order means nothing are sorted, and the label of `hack/rbac` is removed
    from roles.
    """
    for obj in found:
        if obj["kind"].endswith("Role"):
            obj["metadata"].pop("labels", None)
        if obj["kind"] == "Deployment":
            (container,) = obj["spec"]["template"]["spec"]["containers"]
            container["env"].sort(key=lambda variable: variable["name"])
            container["ports"].sort(key=lambda port: port["name"])
    return {
        (o["kind"], o["metadata"].get("namespace"), o["metadata"]["name"]): o
        for o in found
    }


def arguments(found):
    (container,) = one(found, "Deployment")["spec"]["template"]["spec"]["containers"]
    return container["args"]


def test_the_single_operator_is_that_of_the_manifests():
    made = by_name(built(OVERLAYS / "single"))
    plain = by_name(manifests("operator", "rbac", "webhooks"))
    added = {name for kind, _, name in set(made) - set(plain)}
    assert added == {
        "azureserviceoperator-webhook-certificate-role",
        "azureserviceoperator-webhook-certificate-rolebinding",
    }
    assert plain == {key: obj for key, obj in made.items() if key in plain}
    assert "--webhook-port=9443" in arguments(made.values())


def test_a_tenant_s_operator_is_that_of_the_manifests():
    assert by_name(built(OVERLAYS / "multi-tenant/watchers")) == by_name(
        manifests("tenant")
    )


def test_the_shared_operator_has_no_rights_on_secrets_and_status():
    found = built(OVERLAYS / "multi-tenant/webhooks")
    bound = {o["roleRef"]["name"] for o in found if o["kind"].endswith("Binding")}
    assert "azureserviceoperator-crd-manager-role" in bound
    assert "azureserviceoperator-manager-role" not in bound
    (container,) = one(found, "Deployment")["spec"]["template"]["spec"]["containers"]
    assert {"name": "AZURE_OPERATOR_MODE", "value": "webhooks"} in container["env"]


@pytest.mark.parametrize("name", NAMES)
def test_the_manager_takes_every_argument(name):
    known = {option for parameter in manager.params for option in parameter.opts}
    given = {one.partition("=")[0] for one in arguments(built(OVERLAYS / name))}
    assert given <= known


def test_an_overlay_of_one_s_own_says_image_and_kinds(tmp_path):
    (tmp_path / "kustomization.yaml").write_text(own_overlay(tmp_path))
    found = built(tmp_path)
    (container,) = one(found, "Deployment")["spec"]["template"]["spec"]["containers"]
    assert container["image"] == "registry.example/asoreconcile:0.1.0"
    patterns = [a for a in container["args"] if a.startswith("--crd-pattern")]
    assert patterns == ["--crd-pattern=storage.azure.com/*"]


def own_overlay(folder):
    """Return the README's overlay for a folder that is somewhere else than deploy/."""
    text = (DEPLOY / "README.md").read_text().partition("mine/kustomization.yaml")[2]
    text = text.partition("\n")[2].partition("\nEOF\n")[0]
    place = os.path.relpath(OVERLAYS, folder)
    text = text.replace("../deploy/kustomize/overlays", place)
    assert place in text
    return text.replace("REGISTRY", "registry.example")


@pytest.mark.real
@pytest.mark.timeout(300)
@pytest.mark.skipif(not HAS_REAL, reason="KUBEBUILDER_ASSETS names no kube-apiserver")
def test_a_cluster_takes_them_and_again(tmp_path):
    kubectl = program("envtest", "kubectl")
    with Operation(tmp_path, cluster=cluster("real")) as operation:
        line = (kubectl, "--kubeconfig", operation.folder / "kubeconfig")
        run(*line, "create", "namespace", "team-a")
        apply = (*line, "apply", "--server-side", "--force-conflicts")
        for name in NAMES:
            run(*apply, "--kustomize", OVERLAYS / name)
            stored = generations(line)
            run(*apply, "--kustomize", OVERLAYS / name)
            assert generations(line) == stored
            assert "azureserviceoperator" in stored


def generations(line):
    shown = "jsonpath={range .items[*]}{.metadata.name}={.metadata.generation};{end}"
    kinds = "deployments,networkpolicies,poddisruptionbudgets"
    return run(*line, "get", kinds, "--all-namespaces", "--output", shown)
