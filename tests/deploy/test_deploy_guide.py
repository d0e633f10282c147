"""Each command of the guide's parts on Helm and Kustomize, in a real cluster's API."""

import json
import os
import re
import shutil
import sys
from pathlib import Path

import pytest
from clusters import HAS_REAL, cluster
from operation import NAMESPACE, Operation
from tools import CHART, DEPLOY, program, run

from asoreconcile.azure.catalogue.crd import crd
from asoreconcile.azure.controllers.catalogue import builtin
from asoreconcile.base.objects import GroupKind

GUIDE = (DEPLOY / "README.md").read_text()
OPERATIONS = (DEPLOY / "docs" / "operations.md").read_text()
MIGRATION = (DEPLOY / "docs" / "migration.md").read_text()
CLUSTERS = (DEPLOY / "docs" / "clusters.md").read_text()
pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(
        not HAS_REAL, reason="KUBEBUILDER_ASSETS names no kube-apiserver"
    ),
    pytest.mark.timeout(300),
]


@pytest.fixture
def shell(tmp_path):
    """Runs commands as the administrator in a folder with a copy of deploy/, as in a
    checkout.
    """
    shutil.copytree(DEPLOY, tmp_path / "deploy")
    folders = [Path(program("helm", "helm")).parent]
    folders.append(Path(program("envtest", "kubectl")).parent)
    path = os.pathsep.join([*map(str, folders), os.environ["PATH"]])
    with Operation(tmp_path, cluster=cluster("real")) as operation:
        kubeconfig = operation.folder / "kubeconfig"
        head = f"set -euo pipefail; cd {tmp_path}; export PATH={path}\n"
        head += f"export KUBECONFIG={kubeconfig}\n"
        yield lambda commands: run("bash", "-c", head + commands)


RUNBOOKS = (DEPLOY / "docs" / "alerts.md").read_text()
OURS = f"export PATH={Path(sys.executable).parent}:$PATH\n"
CRDS = """
asoreconcile kinds crd 'resources*' | kubectl apply --server-side -f -
kubectl wait --for=condition=Established crds --all
"""
# A running operator makes these.
LEASE_AND_CERTIFICATE = f"""
kubectl apply -f - <<END
apiVersion: coordination.k8s.io/v1
kind: Lease
metadata:
  name: controllers-leader-election-azinfra-generated
  namespace: {NAMESPACE}
END
kubectl create secret generic asoreconcile-webhook-certificate -n {NAMESPACE}
{CRDS}
# kubectl remembers for ten minutes which kinds there are; this asks again.
kubectl api-resources
"""


def test_the_commands_of_the_runbooks(shell):
    shell(commands("By Helm")[0])
    shell(OURS + LEASE_AND_CERTIFICATE)
    found = re.findall(r"^```\n(.*?)^```$", RUNBOOKS, re.MULTILINE | re.DOTALL)
    # Each once; one that deletes what others read comes last.
    lines = dict.fromkeys("".join(found).splitlines())
    for line in sorted(lines, key=lambda one: "delete" in one):
        # It finds that no pod runs.
        allowed = " || [ $? = 1 ]" if line == "asoctl doctor" else ""
        shell(f"{OURS}{line}{allowed}")


def commands(title, guide=GUIDE):
    """Return the blocks of a section, with the values that a reader fills in."""
    section = guide.partition(f"\n## {title}\n")[2].partition("\n## ")[0]
    blocks = re.findall(r"^```\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)
    assert blocks
    for name, value in (
        ("REGISTRY", "registry.example"),
        ("NAMESPACE/NAME", "system/name"),
        ("RELEASE", "asoreconcile"),
        ("-n NAMESPACE", f"-n {NAMESPACE}"),
        ("=...", "=some"),
    ):
        blocks = [block.replace(name, value) for block in blocks]
    return blocks


def test_the_commands_of_helm(shell):
    install, upgrade, several = commands("By Helm")
    shell(install)
    shell(upgrade)
    shell(f"helm uninstall asoreconcile -n {NAMESPACE}")
    shell(several)
    found = shell("kubectl get deployments --all-namespaces --output name")
    assert found.count("deployment.apps/") == 2


def test_what_was_applied_becomes_a_release(shell):
    shell("kubectl apply -f deploy/operator.yaml -f deploy/rbac.yaml")
    assert "--take-ownership" in GUIDE
    shell(
        f"helm install asoreconcile deploy/helm/asoreconcile -n {NAMESPACE} "
        "--take-ownership"
    )
    # Of two that select the same pods neither lets a node be drained.
    names = shell(f"kubectl get poddisruptionbudgets -n {NAMESPACE} --output name")
    assert len(names.split()) == 1


def test_the_commands_of_kustomize(shell):
    own, team = commands("By Kustomize")
    shell(own)
    shell("kubectl create namespace red")
    shell(team)
    shown = "jsonpath={.items[*].spec.template.spec.containers[0].image}"
    found = shell(f"kubectl get deployments --all-namespaces --output '{shown}'")
    assert found.split() == ["registry.example/asoreconcile:0.1.0"] * 2


def test_the_command_that_brings_alerts(shell):
    """Without the kinds of the Prometheus operator, the command fails with a
    message.
    """
    (install, *_), (_, monitoring) = commands("By Helm"), commands("Metrics")
    shell(install)
    flags = ("serviceMonitor", "prometheusRule")
    for flag in flags:
        monitoring = monitoring.replace(f"metrics.{flag}.enable=true", "replicaCount=2")
    shell(monitoring)
    shell(f"kubectl get configmap -n {NAMESPACE} azureserviceoperator-dashboard")
    assert (CHART / "files" / "dashboard.json").is_file()


def test_the_commands_of_the_time_afterwards(shell):
    shell(commands("By Helm")[0])
    (upgrade,) = commands("Upgrade and rollback", OPERATIONS)
    assert "superseded" in shell(upgrade)
    back, newest = commands("Back to ASO", MIGRATION)
    shell(back)
    shell(newest)
    (restart,) = commands("Change a setting", OPERATIONS)
    assert "restarted" in shell(restart)
    credential, account, role = commands("Credentials", OPERATIONS)
    shell(credential)
    account, _az, _ = account.partition("\naz ")
    assert "serviceaccount/aso-workload created" in shell(account)
    assert "rolebinding" in shell(role)
    found = shell("kubectl get secret aso-credential -n red -o 'jsonpath={.data}'")
    assert "AZURE_CLIENT_SECRET" in found
    (off,) = commands("Switch the webhooks off", OPERATIONS)
    shell(OURS + CRDS + off)
    (uninstall,) = commands("Uninstall", OPERATIONS)
    said = shell(OURS + uninstall)
    assert 'release "asoreconcile" uninstalled' in said
    left = shell(f"kubectl get all,secrets -n {NAMESPACE} --ignore-not-found -o name")
    assert left.strip() == ""


def test_the_commands_of_several_clusters(shell, tmp_path):
    kind = builtin().kind(GroupKind("resources.azure.com", "ResourceGroup"))
    definition = crd(kind, versions=["v1api20200601"])
    group = {
        "apiVersion": "resources.azure.com/v1api20200601",
        "kind": "ResourceGroup",
        "metadata": {"name": "rg", "namespace": "shop"},
        "spec": {"location": "westeurope"},
    }
    for name, obj in (("crd", definition), ("group", group)):
        (tmp_path / f"{name}.json").write_text(json.dumps(obj))
    shell(
        "kubectl create namespace shop; kubectl create -f crd.json\n"
        "kubectl wait --for=condition=Established crd --all; kubectl create -f group.json"
    )
    policy = (
        r"jsonpath={.metadata.annotations.serviceoperator\.azure\.com/reconcile-policy}"
    )
    passive, active = (
        block.replace(" --context passive", "")
        for block in commands("Active and passive", CLUSTERS)
    )
    shell(passive)
    assert shell(f"kubectl get namespace shop -o '{policy}'") == "skip"
    shell(active)
    assert shell(f"kubectl get namespace shop -o '{policy}'") == ""
    (move,) = commands("Move to another cluster or namespace", CLUSTERS)
    shell(move)
    assert shell(f"kubectl get resourcegroup rg -n shop -o '{policy}'") == "skip"
