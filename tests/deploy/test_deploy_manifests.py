"""The plain manifests by the page's own commands: installed, changed by hand, upgraded.

They run on the embedded API server, as in a rehearsal of an installation, and on a real
one.
"""

import json
import os
import re
import subprocess
from pathlib import Path

import pytest
from clusters import TARGETS, cluster
from tools import DEPLOY, KUBECTL, NEEDS_KUBECTL, objects

NAMESPACE = "azureserviceoperator-system"
MANAGER = "deploy/azureserviceoperator-controller-manager"
IMAGE = "registry.example/asoreconcile:0.1.0"
pytestmark = NEEDS_KUBECTL


@pytest.fixture(scope="module", params=TARGETS)
def shell(request, tmp_path_factory):
    """Runs commands as the administrator of an installation, in the folder that
    contains deploy/; returns their output. Each test leaves IMAGE installed.
    """
    tmp_path = tmp_path_factory.mktemp("shell")
    environment = {
        "PATH": f"{Path(KUBECTL).parent}:{os.environ['PATH']}",
        "HOME": str(tmp_path),
        "KUBECONFIG": str(tmp_path / "kubeconfig"),
    }

    def run(commands, *, code=0):
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", commands],
            cwd=DEPLOY.parent,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout + done.stderr

    with cluster(request.param) as started:
        started.write_kubeconfig(tmp_path / "kubeconfig")
        run(shown("README.md", "Into a cluster"))
        yield run


def shown(page, title):
    """Return the commands of a section, with the values that a reader fills in. Nothing
    runs the pods.
    """
    section = (DEPLOY / page).read_text().partition(f"\n## {title}\n")[2]
    (text, *_) = re.findall(r"^```\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)
    text = text.replace("REGISTRY", "registry.example").replace("=...", "=some")
    lines = re.split(r"(?<![\\|])\n", text)
    left_out = ("docker build", "kubectl rollout status")
    return "\n".join(line for line in lines if not line.startswith(left_out))


def images(shell):
    path = "{.spec.template.spec.containers[*].image}"
    return shell(f"kubectl get -n {NAMESPACE} {MANAGER} -o jsonpath='{path}'")


def test_every_object_of_the_page_s_commands_is_there_afterwards(shell):
    documents = [
        document
        for name in ("operator", "rbac", "webhooks")
        for document in objects((DEPLOY / f"{name}.yaml").read_text())
    ]
    wanted = {(d["kind"], d["metadata"]["name"]) for d in documents}
    kinds = ",".join(sorted({kind for kind, _ in wanted}))
    found = json.loads(shell(f"kubectl get {kinds} --all-namespaces -o json"))
    there = {(o["kind"], o["metadata"]["name"]) for o in found["items"]}
    assert wanted <= there
    assert images(shell) == IMAGE


def test_manifests_applied_again_change_nothing_and_fight_with_nobody(shell):
    again = shown("docs/operations.md", "Upgrade by manifests")
    version = "-o jsonpath={.metadata.generation}"
    before = shell(f"kubectl get -n {NAMESPACE} {MANAGER} {version}")
    shell(again)
    assert shell(f"kubectl get -n {NAMESPACE} {MANAGER} {version}") == before
    shell(f"kubectl set image -n {NAMESPACE} {MANAGER} manager={IMAGE}")
    shell(again)
    assert images(shell) == IMAGE


def test_an_image_set_by_hand_is_not_overwritten_in_silence(shell):
    again = shown("docs/operations.md", "Upgrade by manifests")
    shell(f"kubectl set image -n {NAMESPACE} {MANAGER} manager=registry.example/mine:1")
    refused = shell(again, code=1)
    assert 'conflict with "kubectl-set"' in refused
    assert '.spec.template.spec.containers[name="manager"].image' in refused
    assert images(shell) == "registry.example/mine:1"
    forced = again.replace("--server-side", "--server-side --force-conflicts")
    shell(forced)
    assert images(shell) == IMAGE
    shell(again)


def test_a_ca_bundle_that_the_operator_wrote_outlives_an_upgrade(shell):
    webhooks = "validatingwebhookconfigurations/azureserviceoperator-validating-webhook-configuration"
    patch = '[{"op":"add","path":"/webhooks/0/clientConfig/caBundle","value":"Y2E="}]'
    shell(
        f"kubectl patch {webhooks} --type json -p '{patch}' --field-manager asoreconcile"
    )
    shell(shown("docs/operations.md", "Upgrade by manifests"))
    path = "-o jsonpath='{.webhooks[0].clientConfig.caBundle}'"
    assert shell(f"kubectl get {webhooks} {path}") == "Y2E="


def test_a_team_s_operator_runs_the_image_that_the_reader_names(shell):
    shell("kubectl create namespace red")
    shell(shown("README.md", "One operator for each team"))
    namespace = "azureserviceoperator-red"
    path = "{.spec.template.spec.containers[*].image}"
    assert shell(f"kubectl get -n {namespace} {MANAGER} -o jsonpath='{path}'") == IMAGE
    shell(f"kubectl get -n {namespace} secret aso-controller-settings")


def test_argo_cd_gets_the_health_script_beside_its_own_settings(shell):
    """Customizations of Argo CD's own are not overwritten."""
    head = (DEPLOY / "argocd.yaml").read_text()
    (command,) = re.findall(r"^#   (kubectl .*)$", head, re.MULTILINE)
    assert command in (DEPLOY / "README.md").read_text()
    url = "--from-literal=url=https://argo.example"
    made = f"kubectl create cm -n argocd argocd-cm {url}"
    shell(f"kubectl create namespace argocd; {made}")
    shell(command)
    shell(command)
    shown_map = "kubectl get cm -n argocd argocd-cm -o json"
    found = json.loads(shell(shown_map))["data"]
    assert set(found) == {"url", "resource.customizations"}
    assert found["url"] == "https://argo.example"
    theirs = "--from-literal=resource.customizations=theirs"
    shell(f"kubectl delete cm -n argocd argocd-cm; {made} {theirs}")
    refused = shell("kubectl apply --server-side -f deploy/argocd.yaml", code=1)
    assert "conflict with" in refused
    assert ".data.resource.customizations" in refused
    assert "theirs" in shell(shown_map)
