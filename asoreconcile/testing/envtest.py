"""Runs a real kube-apiserver with etcd, from a folder with both binaries, as envtest
does.

    with running(Path(os.environ["KUBEBUILDER_ASSETS"])) as server:
        server.write_kubeconfig(path)

It runs no controllers: there is no garbage collection, and namespaces stay Terminating.
"""

import secrets
import ssl
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import attrs
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from asoreconcile.base.errors import AsoreconcileError
from asoreconcile.testing.kube import kubeconfigs
from asoreconcile.testing.ports import free_port

_READY_SECONDS = 90.0
_END_SECONDS = 15.0
_POLL_SECONDS = 0.2


class EnvtestError(AsoreconcileError):
    """The programs are missing, or kube-apiserver does not become ready."""


@attrs.frozen
class RealKubeServer:
    """Its address and administrator credentials. pids: process ids of both programs."""

    url: str
    token: str = attrs.field(repr=False)
    authority_pem: str = attrs.field(repr=False)
    pids: tuple[int, ...]

    def write_kubeconfig(self, path: str | Path, token: str = "") -> None:
        """Write a kubeconfig for the administrator, or for the user of a token; only
        its owner can read the file.
        """
        document = kubeconfigs.kubeconfig(
            self.url, self.authority_pem.encode(), token or self.token
        )
        kubeconfigs.write(path, kubeconfigs.text(document))


def missing(folder: Path) -> list[str]:
    """The programs that are missing in a folder."""
    names = ("kube-apiserver", "etcd")
    return [name for name in names if not (folder / name).is_file()]


@contextmanager
def running(folder: Path, *options: str) -> Iterator[RealKubeServer]:
    """Start both, wait until they are ready, and stop them at the end of the block.

    options: additional kube-apiserver flags. Raises EnvtestError if the folder lacks a
    program, and if the server is not ready after 90 s.
    """
    if lacking := missing(folder):
        raise EnvtestError(f"{folder} lacks {' and '.join(lacking)}")
    with tempfile.TemporaryDirectory() as place:
        work = Path(place)
        store, peer, port = (free_port() for _ in range(3))
        token = secrets.token_hex(16)
        (work / "tokens.csv").write_text(f"{token},admin,admin,system:masters\n")
        (work / "accounts.key").write_bytes(_key())
        at = f"http://127.0.0.1:{store}"
        etcd = [
            *(f"{folder}/etcd", "--data-dir", f"{work}/etcd", "--unsafe-no-fsync"),
            *("--listen-client-urls", at, "--advertise-client-urls", at),
            *("--listen-peer-urls", f"http://127.0.0.1:{peer}"),
        ]
        server = [
            *(f"{folder}/kube-apiserver", "--etcd-servers", at),
            *("--bind-address", "127.0.0.1", "--secure-port", str(port)),
            *("--cert-dir", f"{work}/certs"),
            *("--token-auth-file", f"{work}/tokens.csv"),
            *("--authorization-mode", "RBAC"),
            *("--service-cluster-ip-range", "10.0.0.0/24"),
            *("--service-account-issuer", "https://localhost"),
            *("--service-account-key-file", f"{work}/accounts.key"),
            *("--service-account-signing-key-file", f"{work}/accounts.key"),
            *("--disable-admission-plugins", "ServiceAccount"),
            *options,
        ]
        with (
            _process(etcd, work / "etcd.log") as store_process,
            _process(server, work / "server.log") as process,
        ):
            url = f"https://127.0.0.1:{port}"
            authority = _await_ready(url, process, work)
            pids = (process.pid, store_process.pid)
            yield RealKubeServer(url, token, authority, pids)


def _await_ready(url: str, process: subprocess.Popen[bytes], work: Path) -> str:
    """Wait until kube-apiserver is ready; return the certificate that it made."""
    authority, end = work / "certs" / "apiserver.crt", time.monotonic() + _READY_SECONDS
    while time.monotonic() < end and process.poll() is None:
        try:
            trusted = authority.read_text()
            context = ssl.create_default_context(cadata=trusted)
            with urllib.request.urlopen(f"{url}/readyz", context=context):
                return trusted
        except (OSError, ssl.SSLError, urllib.error.URLError):
            time.sleep(_POLL_SECONDS)
    tail = (work / "server.log").read_text()[-2000:]
    raise EnvtestError(f"kube-apiserver is not ready: {tail}")


@contextmanager
def _process(command: list[str], log: Path) -> Iterator[subprocess.Popen[bytes]]:
    with log.open("wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT)
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _key() -> bytes:
    return ec.generate_private_key(ec.SECP256R1()).private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.TraditionalOpenSSL,
        serialization.NoEncryption(),
    )
