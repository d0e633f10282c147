"""API servers as processes for measurements: the embedded one, and a real one.

The real one is kube-apiserver with etcd from the folder KUBEBUILDER_ASSETS names, as
other test kits have it; etcd keeps its data in memory-speed mode (no fsync), so the
comparison does not measure this machine's disk.
"""

import base64
import os
import secrets
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

START_SECONDS = 60.0
_EMBEDDED = "from asoreconcile.cmd.asoreconcile import main; main()"


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
    if not (assets / "kube-apiserver").exists() or not (assets / "etcd").exists():
        yield None
        return
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        folder, token = Path(name), secrets.token_hex(16)
        store, peer, port = _free_port(), _free_port(), _free_port()
        (folder / "tokens.csv").write_text(f"{token},admin,admin,system:masters\n")
        key = ["openssl", "ecparam", "-genkey", "-name", "prime256v1", "-noout"]
        subprocess.run(
            [*key, "-out", folder / "accounts.key"], check=True, capture_output=True
        )
        clients = f"http://127.0.0.1:{store}"
        etcd = stack.enter_context(
            _running(
                _command(
                    assets / "etcd",
                    data_dir=folder / "etcd",
                    unsafe_no_fsync="true",
                    log_level="error",
                    listen_client_urls=clients,
                    advertise_client_urls=clients,
                    listen_peer_urls=f"http://127.0.0.1:{peer}",
                ),
                folder / "etcd.log",
            )
        )
        _when(etcd, lambda: _listens(store))
        server = stack.enter_context(
            _running(
                _command(
                    assets / "kube-apiserver",
                    etcd_servers=clients,
                    bind_address="127.0.0.1",
                    secure_port=port,
                    cert_dir=folder / "certs",
                    authorization_mode="RBAC",
                    token_auth_file=folder / "tokens.csv",
                    service_account_issuer="https://localhost",
                    service_cluster_ip_range="10.0.0.0/24",
                    service_account_key_file=folder / "accounts.key",
                    service_account_signing_key_file=folder / "accounts.key",
                    # A test's own bursts are measured, not the queues before them.
                    enable_priority_and_fairness="false",
                    disable_admission_plugins="ServiceAccount",
                ),
                folder / "apiserver.log",
            )
        )
        authority = folder / "certs" / "apiserver.crt"
        _when(server, lambda: authority.exists() and _listens(port))
        pem = authority.read_text()
        pids = (server.pid, etcd.pid)
        yield Address("kube-apiserver", port, token, pem, pids)


def _command(program, **options):
    stated = (f"--{name.replace('_', '-')}={o}" for name, o in options.items())
    return [str(program), *stated]


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


def _free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def _decoded(text):
    return base64.b64decode(text).decode()
