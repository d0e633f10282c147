"""API servers as processes for measurements: the embedded one, and a real one.

The real one is kube-apiserver with etcd from the folder KUBEBUILDER_ASSETS names, as
other test kits have it; etcd keeps its data in memory-speed mode (no fsync), so the
comparison does not measure this machine's disk.
"""

import base64
import os
import socket
import ssl
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path

import attrs
import yaml

from asoreconcile.testing import envtest

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

START_SECONDS = 60.0
_EMBEDDED = "from asoreconcile.azure.cmd.asoreconcile import main; main()"


@attrs.frozen
class Address:
    """Where a server is, and how to be its administrator."""

    name: str
    port: int
    token: str = attrs.field(repr=False)
    ca_pem: str = attrs.field(repr=False)
    pids: tuple[int, ...]

    def context(self):
        return ssl.create_default_context(cadata=self.ca_pem)


@contextmanager
def embedded(*arguments):
    """`asoreconcile testserver kube` in a process of its own."""
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        path = Path(folder, "kubeconfig")
        command = [sys.executable, "-c", _EMBEDDED, "testserver", "kube"]
        command += ["--kubeconfig-out", str(path), *arguments]
        process = stack.enter_context(_running(command, Path(folder, "log")))
        document = _when(
            process, lambda: yaml.safe_load(path.read_text()) if path.exists() else None
        )
        cluster = document["clusters"][0]["cluster"]
        port = int(cluster["server"].rpartition(":")[2])
        address = Address(
            "embedded",
            port,
            document["users"][0]["user"]["token"],
            _decoded(cluster["certificate-authority-data"]),
            (process.pid,),
        )
        _when(process, lambda: _listens(port))
        yield address


@contextmanager
def real():
    """A kube-apiserver with its etcd; None where the programs are not."""
    assets = Path(os.environ.get("KUBEBUILDER_ASSETS", "/nonexistent"))
    if envtest.missing(assets):
        yield None
        return
    # A test's own bursts are measured, not the queues before them.
    with envtest.running(assets, "--enable-priority-and-fairness=false") as server:
        port = int(server.url.rpartition(":")[2])
        trusted = server.authority_pem
        yield Address("kube-apiserver", port, server.token, trusted, server.pids)


@contextmanager
def _running(command, log):
    with log.open("wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=output)
    try:
        yield process
    finally:
        process.terminate()
        process.wait(30)


def _when(process, holds):
    """Block until `holds()` gives something; it."""
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        if process.poll() is not None:
            break
        if found := holds():
            return found
        time.sleep(0.02)
    message = f"{process.args[0]} did not start"
    raise RuntimeError(message)


def _listens(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def _decoded(text):
    return base64.b64decode(text).decode()
