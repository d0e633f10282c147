"""However a sandbox ends, nothing of it is left."""

import os
import re
import signal
import subprocess
import sys
import time
from contextlib import closing

import pytest

from asoreconcile.kube.client import KubeClient
from asoreconcile.kube.config import load
from asoreconcile.kube.errors import TransportError
from asoreconcile.kube.resources import NAMESPACES

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

# Three processes end one after the other; half a minute is not enough on a machine that is
# ten times as busy as it can be.
_PATIENCE_SECONDS = 300


@pytest.fixture
def sandbox(tmp_path, tmp_path_factory):
    """A running sandbox of one group."""
    manifest = tmp_path_factory.mktemp("manifests") / "group.yaml"
    manifest.write_text(_GROUP)
    process = subprocess.Popen(
        [sys.executable, "-c", _START, "sandbox", "-f", str(manifest)],
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


@pytest.mark.parametrize(
    "number",
    [
        signal.SIGINT,
        *(
            pytest.param(other, marks=pytest.mark.long)
            for other in (signal.SIGTERM, signal.SIGHUP)
        ),
    ],
)
def test_ctrl_c_and_a_closed_terminal_end_all_of_it(sandbox, tmp_path, number):
    with closing(client_of(sandbox)) as client:
        assert client.list_page(NAMESPACES).items
        sandbox.send_signal(number)
        assert sandbox.wait(_PATIENCE_SECONDS) == 0
        with pytest.raises(TransportError):
            client.list_page(NAMESPACES)
    assert list(tmp_path.iterdir()) == []


def test_it_ends_once_nobody_reads_its_output(sandbox, tmp_path):
    assert sandbox.stdout.readline().startswith("export KUBECONFIG=")
    sandbox.stdout.close()
    assert sandbox.wait(_PATIENCE_SECONDS) == 0
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_left_even_if_it_is_killed(sandbox, tmp_path):
    with closing(client_of(sandbox)) as client:
        watch = client.watch(NAMESPACES, timeout_seconds=60)
        sandbox.kill()
        with pytest.raises(TransportError):
            watch_on(client, watch)
    until = time.monotonic() + _PATIENCE_SECONDS
    while list(tmp_path.iterdir()) and time.monotonic() < until:
        time.sleep(0.05)
    assert list(tmp_path.iterdir()) == []


def watch_on(client, watch):
    """Follow watches for ever: a server ends those it has, then refuses new ones."""
    while True:
        for _ in watch:
            pass
        watch = client.watch(NAMESPACES, timeout_seconds=60)
