"""Runs what pages show without an operator, as printed, and asserts its outcome."""

import importlib
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from blocks import HOME, ROOT, all_blocks, blocks, shown
from click.testing import CliRunner
from kubeapi import client_of, kube_server

from asoreconcile import CONFIG_MAPS, KubeClient, ObjectKey, crd_of, resource_of
from asoreconcile.azure.catalogue.manifests import read_manifests
from asoreconcile.azure.cmd.asoctl import main as asoctl
from asoreconcile.azure.controllers.reference_grants import grants
from asoreconcile.base.objects import GroupKind
from asoreconcile.kube.config import load
from asoreconcile.testing.ports import free_port

BIN = Path(sys.executable).parent
RBAC = "/apis/rbac.authorization.k8s.io/v1"
CHART = ROOT / "deploy" / "helm" / "asoreconcile"


def test_the_sandbox_shows_the_samples():
    (table,) = [
        one.text
        for one in all_blocks("README.md")
        if one.heading == "Try it" and one.language == "text"
    ]
    head, _, rows = table.partition("\nKIND")
    shown_objects = [tuple(row.split()[:2]) for row in rows.splitlines()[1:-1]]
    samples = [
        one.obj
        for one in read_manifests([ROOT / "deploy" / "samples"])
        if ".azure.com/" in one.obj["apiVersion"]
    ]
    assert shown_objects == sorted((o["kind"], o["metadata"]["name"]) for o in samples)
    assert f"{len(samples)} of {len(samples)} Ready" in head


def test_render_prints_what_the_page_shows(monkeypatch):
    monkeypatch.chdir(ROOT)
    (text,) = shown("README.md", "Use the commands")
    (command, printed) = re.search(
        r"^\$ (asoctl .*?)\n(.*)", text, re.MULTILINE | re.DOTALL
    ).groups()
    done = CliRunner().invoke(asoctl, shlex.split(command)[1:])
    assert (done.exit_code, done.stdout) == (0, printed)


def test_a_database_user_is_rendered(tmp_path, monkeypatch):
    """The statements need the Secrets of the page's other block."""
    monkeypatch.chdir(tmp_path)
    user, secrets = shown("deploy/docs/databases.md", "Users of databases")
    Path("user.yaml").write_text(user)
    Path("secrets.yaml").write_text(secrets)
    command = ["render", "-f", "user.yaml", "--resolve", "secrets.yaml"]
    done = CliRunner().invoke(asoctl, command)
    assert done.exit_code == 0, done.output
    assert "***" in done.stdout
    assert "pg_read_all_data" in done.stdout
    alone = CliRunner().invoke(asoctl, command[:3])
    assert alone.exit_code
    assert "shop-server" in alone.output


def test_the_grant_grants_what_the_page_says():
    (text,) = shown("deploy/docs/security.md", "The reach of a Namespace")
    network = "network.azure.com"
    subnet = GroupKind(network, "VirtualNetworksSubnet")
    hub = GroupKind(network, "VirtualNetwork"), ObjectKey("network", "hub")
    spec = yaml.safe_load(text)["spec"]
    assert grants(spec, subnet, "red", *hub)
    assert not grants(spec, subnet, "blue", *hub)
    assert not grants(spec, GroupKind(network, "NatGateway"), "red", *hub)


@pytest.fixture(scope="module")
def cluster():
    """A server with access control: the administrator's client, and a user's."""
    with kube_server(rbac=True) as (server, admin):
        yield server, admin


def bound(cluster, role):
    """Create a ClusterRole and bind it to a service account; returns its token."""
    server, admin = cluster
    name = role["metadata"]["name"]
    admin.post(f"{RBAC}/clusterroles", role).expect(201)
    subject = {"kind": "ServiceAccount", "name": name, "namespace": "default"}
    reference = {"kind": "ClusterRole", "name": name}
    reference["apiGroup"] = "rbac.authorization.k8s.io"
    binding = {"metadata": {"name": name}, "subjects": [subject], "roleRef": reference}
    admin.post(f"{RBAC}/clusterrolebindings", binding).expect(201)
    return server.add_service_account("default", name)


def test_the_role_opens_the_debug_pages(cluster):
    _, text = shown("asoreconcile/docs/how-to/debug.md", "Look into a running process")
    token = bound(cluster, yaml.safe_load(text))

    def may(path):
        asked = {"nonResourceAttributes": {"path": path, "verb": "get"}}
        reviews = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
        with client_of(cluster[0], token) as user:
            answer = user.post(reviews, {"spec": asked}).expect(201)
        return answer.json["status"]["allowed"]

    assert may("/debug")
    assert may("/debug/threads")
    assert not may("/metrics")


def test_the_role_is_enough_for_the_tutorial(
    cluster, tmp_path, monkeypatch, eventually
):
    """Its controller makes the ConfigMap with the rights of ship.md and no others."""
    (text,) = shown("asoreconcile/docs/how-to/ship.md", "Role and Deployment")
    role, deployment = yaml.safe_load_all(text)
    account = deployment["spec"]["template"]["spec"]["serviceAccountName"]
    assert account == role["metadata"]["name"]
    server, admin = cluster
    deployments = "/apis/apps/v1/namespaces/default/deployments"
    admin.post(deployments, deployment).expect(201)
    token = bound(cluster, role)
    server.write_kubeconfig(tmp_path / "theirs", token)
    server.write_kubeconfig(tmp_path / "admin")
    for _, title, code in blocks(HOME / "tutorial.md", "python")[:2]:
        (tmp_path / title).write_text(code)
    monkeypatch.syspath_prepend(tmp_path)
    controller = importlib.import_module("controller")
    website = importlib.import_module("website").Website
    admin_client = KubeClient(load(str(tmp_path / "admin")), user_agent="test")
    crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    admin.post(crds, crd_of(website)).expect(201)
    app = controller.application(str(tmp_path / "theirs"))
    shop = ObjectKey("default", "shop")
    site = {"metadata": {"name": "shop", "namespace": "default"}}
    with app.running():
        app.wait_until_ready()
        admin_client.create(resource_of(website), {**site, "spec": {"title": "Shoes"}})
        eventually(lambda: admin_client.get(CONFIG_MAPS, shop))
        ready = eventually(
            lambda: admin_client.get(resource_of(website), shop).get("status")
        )
    assert ready["conditions"][0]["status"] == "True"
    admin_client.close()


def test_the_policy_admits_the_sources_of_the_page(tmp_path):
    helm = subprocess.run(
        [ROOT / "hack" / "helm", "--check"], capture_output=True, text=True, check=False
    )
    if helm.returncode:
        pytest.skip("there is no helm (run hack/helm)")
    for text in shown("deploy/docs/webhook-access.md", "A network policy"):
        (tmp_path / "values.yaml").write_text(text)
        done = subprocess.run(
            [
                Path(helm.stdout.strip()) / "helm",
                "template",
                "aso",
                CHART,
                "--values",
                tmp_path / "values.yaml",
                "--show-only",
                "templates/network-policy.yaml",
            ],
            capture_output=True,
            text=True,
            check=True,
        )
        rules = [
            rule
            for policy in yaml.safe_load_all(done.stdout)
            for rule in policy["spec"].get("ingress", [])
        ]
        sources = yaml.safe_load(text)["networkPolicies"]["webhookFrom"]
        assert sources in [rule.get("from") for rule in rules]
        assert [rule for rule in rules if "from" not in rule]  # probes and metrics


def test_a_server_of_one_s_own_takes_objects_and_faults(tmp_path):
    """The object of one block and the fault of the other, at one server."""
    page = "asoreconcile/testing/README.md"
    headings = "A Kubernetes API server in five lines", "Faults and controls"
    found = [one for name in headings for one in shown(page, name) if one[0] == "$"]
    own, faults = (re.sub(r"^\$ ", "", one, flags=re.MULTILINE) for one in found)
    start, _, fault = faults.replace("6443", str(free_port())).partition("\n")
    _, _, create = own.partition("\n")
    wait = "until [ -s kubeconfig ]; do sleep 0.1; done"
    script = f"trap 'kill $(jobs -p)' EXIT\n{start}\n{wait}\n{create}\n{fault}"
    done = subprocess.run(
        ["bash", "-euc", script],
        cwd=tmp_path,
        env={**os.environ, "PATH": f"{BIN}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    created, answered = done.stdout.splitlines()
    assert created == "configmap/settings created"
    assert answered == '{"done":"fault"}'
    assert answered in (ROOT / page).read_text()
