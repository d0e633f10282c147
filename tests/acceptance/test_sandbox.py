"""In a sandbox any kind can be applied; however it ends, nothing of it is left."""

import base64
import os
import re
import signal
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from asoreconcile.azure.reconcile.model.conditions import is_ready
from asoreconcile.base.objects import ObjectKey
from asoreconcile.kube.client import KubeClient
from asoreconcile.kube.config import load
from asoreconcile.kube.errors import TransportError
from asoreconcile.kube.resources import NAMESPACES, SECRETS, ApiResource

ROOT = Path(__file__).parents[2]

# A suite that runs in the background of a shell, or under nohup, ignores these signals,
# and would hand that down.
_START = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)
from asoreconcile.azure.cmd.asoreconcile import main
main()
"""

_GROUP = """
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

# Three processes end one after the other; half a minute is not enough on a machine that is
# ten times as busy as it can be.
_PATIENCE_SECONDS = 300


@pytest.fixture
def sandbox(tmp_path, tmp_path_factory):
    """A running sandbox of one group."""
    manifest = tmp_path_factory.mktemp("manifests") / "group.yaml"
    manifest.write_text(_GROUP)
    process = subprocess.Popen(
        [sys.executable, "-c", _START, "sandbox", "--one-version", "-f", str(manifest)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**os.environ, "TMPDIR": str(tmp_path)},
        start_new_session=True,
    )
    with process:
        yield process
        process.kill()


def client_of(sandbox):
    """A client of its API server, once it says where."""
    for line in sandbox.stdout:
        if match := re.match(r"export KUBECONFIG=(.+)", line):
            return KubeClient(load(match[1].strip()), user_agent="tests")
    pytest.fail("the sandbox never said where its API is")


def test_a_kind_that_no_manifest_has_is_applied_and_exports_its_keys(sandbox, tmp_path):
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
        all_of_it_ends(sandbox, client, tmp_path, signal.SIGINT)


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


def all_of_it_ends(sandbox, client, folder, number):
    sandbox.send_signal(number)
    assert sandbox.wait(_PATIENCE_SECONDS) == 0
    with pytest.raises(TransportError):
        client.list_page(NAMESPACES)
    assert list(folder.iterdir()) == []


@pytest.mark.long
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_closed_terminal_ends_all_of_it(sandbox, tmp_path, number):
    with closing(client_of(sandbox)) as client:
        assert client.list_page(NAMESPACES).items
        all_of_it_ends(sandbox, client, tmp_path, number)


def test_it_ends_once_nobody_reads_its_output(sandbox, tmp_path):
    assert sandbox.stdout.readline().startswith("export KUBECONFIG=")
    sandbox.stdout.close()
    assert sandbox.wait(_PATIENCE_SECONDS) == 0
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_left_even_if_it_is_killed(sandbox, tmp_path, eventually):
    with closing(client_of(sandbox)) as client:
        watch = client.watch(NAMESPACES, timeout_seconds=60)
        sandbox.kill()
        with pytest.raises(TransportError):
            watch_on(client, watch)
    eventually(lambda: not list(tmp_path.iterdir()), timeout_seconds=_PATIENCE_SECONDS)


def watch_on(client, watch):
    """Follow watches for ever: a server ends those it has, then refuses new ones."""
    while True:
        for _ in watch:
            pass
        watch = client.watch(NAMESPACES, timeout_seconds=60)
