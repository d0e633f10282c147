"""In a sandbox any kind can be applied, and Azure's own children are there."""

import base64
import os
import re
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from asoreconcile.azure.reconcile.model.conditions import is_ready
from asoreconcile.base.objects import ObjectKey
from asoreconcile.kube.client import KubeClient
from asoreconcile.kube.config import load
from asoreconcile.kube.resources import SECRETS, ApiResource

ROOT = Path(__file__).parents[2]
GROUP = """
apiVersion: resources.azure.com/v1api20200601
kind: ResourceGroup
metadata: {name: shop}
spec: {location: westeurope}
"""
BUS = ApiResource("servicebus.azure.com", "v1api20240101", "namespaces", "Namespace")
SERVICE_BUS = {
    "apiVersion": "servicebus.azure.com/v1api20240101",
    "kind": "Namespace",
    "metadata": {"name": "shop-bus", "namespace": "default"},
    "spec": {
        "location": "westeurope",
        "owner": {"name": "shop"},
        "sku": {"name": "Standard"},
        "operatorSpec": {
            "secrets": {"primaryConnectionString": {"name": "bus", "key": "main"}}
        },
    },
}


@pytest.fixture
def sandbox(tmp_path):
    manifest = tmp_path / "group.yaml"
    manifest.write_text(GROUP)
    start = "from asoreconcile.azure.cmd.asoreconcile import main; main()"
    with subprocess.Popen(
        [sys.executable, "-c", start, "sandbox", "--one-version", "-f", str(manifest)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "TMPDIR": str(tmp_path)},
        start_new_session=True,
    ) as process:
        yield process
        process.terminate()


def test_a_kind_that_no_manifest_has_is_applied_and_exports_its_keys(sandbox):
    kubeconfig = ""
    for line in sandbox.stdout:
        if match := re.match(r"export KUBECONFIG=(.+)", line):
            kubeconfig = match[1]
        if "kinds are served" in line:
            break
    with closing(KubeClient(load(kubeconfig), user_agent="tests")) as client:
        key = ObjectKey("default", "shop-bus")
        client.patch(
            BUS, key, SERVICE_BUS, kind="apply", field_manager="tests", force=True
        )
        assert any(
            "Namespace default/shop-bus: Ready=True" in s for s in sandbox.stdout
        )
        assert is_ready(client.get(BUS, key))
        secret = client.get(SECRETS, ObjectKey("default", "bus"))
        value = base64.b64decode(secret["data"]["main"]).decode()
        assert value.startswith("Endpoint=sb://shop-bus.servicebus.windows.net/;")
    reads_the_simulated_azure(kubeconfig)


def reads_the_simulated_azure(kubeconfig):
    """Run the lines of the README that read it, from a clone."""
    page = (ROOT / "README.md").read_text()
    lines = re.findall(
        r"^\$ (set -a; .*|asoctl (?:plan|import) .*)$", page, re.MULTILINE
    )
    settings, plan, imported = lines
    done = run(f"{settings}\nasoctl plan --cluster", kubeconfig)
    assert done.stdout.splitlines()[-1:] == ["Plan: 2 no change"], done
    done = run(f"{settings}\n{plan}", kubeconfig)
    assert re.search(r"^Plan: .*create", done.stdout, re.MULTILINE), done
    done = run(f"{settings}\n{imported}", kubeconfig)
    assert done.returncode == 0, done
    assert "name: shop-bus" in done.stdout


def run(commands, kubeconfig):
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    return subprocess.run(
        ["bash", "-uc", commands],
        cwd=ROOT,
        env={**os.environ, "KUBECONFIG": kubeconfig, "PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
