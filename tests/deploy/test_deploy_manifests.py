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


@pytest.fixture(params=TARGETS)
def shell(request, tmp_path):
    """Runs commands as the administrator in the folder that contains deploy/, and
    returns their output.
    """
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
    shell(shown("README.md", "Into a cluster"))
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
    shell(shown("README.md", "Into a cluster"))
    again = shown("docs/operations.md", "Upgrade by manifests")
    version = "-o jsonpath={.metadata.generation}"
    before = shell(f"kubectl get -n {NAMESPACE} {MANAGER} {version}")
    shell(again)
    assert shell(f"kubectl get -n {NAMESPACE} {MANAGER} {version}") == before
    shell(f"kubectl set image -n {NAMESPACE} {MANAGER} manager={IMAGE}")
    shell(again)
    assert images(shell) == IMAGE


def test_an_image_set_by_hand_is_not_overwritten_in_silence(shell):
    shell(shown("README.md", "Into a cluster"))
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
    shell(shown("README.md", "Into a cluster"))
    webhooks = "validatingwebhookconfigurations/azureserviceoperator-validating-webhook-configuration"
    patch = '[{"op":"add","path":"/webhooks/0/clientConfig/caBundle","value":"Y2E="}]'
    shell(
        f"kubectl patch {webhooks} --type json -p '{patch}' --field-manager asoreconcile"
    )
    shell(shown("docs/operations.md", "Upgrade by manifests"))
    path = "-o jsonpath='{.webhooks[0].clientConfig.caBundle}'"
    assert shell(f"kubectl get {webhooks} {path}") == "Y2E="


def test_a_team_s_operator_runs_the_image_that_the_reader_names(shell):
    shell(shown("README.md", "Into a cluster"))
    shell("kubectl create namespace red")
    shell(shown("README.md", "One operator for each team"))
    namespace = "azureserviceoperator-red"
    path = "{.spec.template.spec.containers[*].image}"
    assert shell(f"kubectl get -n {namespace} {MANAGER} -o jsonpath='{path}'") == IMAGE
    shell(f"kubectl get -n {namespace} secret aso-controller-settings")


def test_argo_cd_gets_the_health_script_beside_its_own_settings(shell):
    head = (DEPLOY / "argocd.yaml").read_text()
    (command,) = re.findall(r"^#   (kubectl .*)$", head, re.MULTILINE)
    assert command in (DEPLOY / "README.md").read_text()
    own = "--from-literal=url=https://argo.example"
    shell(
        f"kubectl create namespace argocd; kubectl create cm -n argocd argocd-cm {own}"
    )
    shell(command)
    shell(command)
    found = json.loads(shell("kubectl get cm -n argocd argocd-cm -o json"))
    assert set(found["data"]) == {"url", "resource.customizations"}
    assert found["data"]["url"] == "https://argo.example"


def test_argo_cd_s_own_customizations_are_not_overwritten(shell):
    own = "--from-literal=resource.customizations=theirs"
    shell(
        f"kubectl create namespace argocd; kubectl create cm -n argocd argocd-cm {own}"
    )
    refused = shell("kubectl apply --server-side -f deploy/argocd.yaml", code=1)
    assert "conflict with" in refused
    assert ".data.resource.customizations" in refused
    path = "-o 'jsonpath={.data}'"
    assert "theirs" in shell(f"kubectl get cm -n argocd argocd-cm {path}")
