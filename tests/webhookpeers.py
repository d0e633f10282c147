"""Requests of attackers and of an API server to a webhook port, over TLS."""

import json
import socket
import ssl
import struct
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Self

from asoreconcile.azure.cmd.subprocesses import ChildProcess
from asoreconcile.base.objects import JsonObject, ObjectKey
from asoreconcile.kube.client import KubeClient
from asoreconcile.kube.resources import LEASES

MIB = 1 << 20
API_SERVER, ATTACKER = "127.0.0.1", "127.0.0.2"
LEASE = ObjectKey(
    "azureserviceoperator-system", "controllers-leader-election-azinfra-generated"
)
GROUP = {
    "apiVersion": "resources.azure.com/v1api20200601",
    "kind": "ResourceGroup",
    "metadata": {"name": "rg", "namespace": "shop", "uid": "u"},
    "spec": {"location": "westeurope", "tags": {"a": "b"}},
}


# Made once and without authorities: reading those takes longer than many a review.
_CONTEXT = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
_CONTEXT.check_hostname, _CONTEXT.verify_mode = False, ssl.CERT_NONE


def connect(port: int, address: str) -> ssl.SSLSocket:
    plain = socket.create_connection(
        ("127.0.0.1", port), timeout=60, source_address=(address, 0)
    )
    return _CONTEXT.wrap_socket(plain)


def wait_served(port: int, manager: ChildProcess) -> None:
    """Block until a manager shows its webhook certificate: the leader does so after it
    has written its authority into the CRDs, and ends handshakes until then.
    """
    poll, deadline = threading.Event(), time.monotonic() + 60
    while not _serves(port):
        manager.check()
        assert time.monotonic() < deadline
        poll.wait(0.05)


def _serves(port: int) -> bool:
    try:
        connect(port, API_SERVER).close()
    except OSError:
        return False
    return True


def head(path: str, length: int) -> bytes:
    return (
        f"POST {path} HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
        f"Content-Length: {length}\r\n\r\n"
    ).encode()


def posted(port: int, path: str, body: bytes, address: str = API_SERVER) -> JsonObject:
    """The response to a review."""
    with connect(port, address) as connection:
        connection.sendall(head(path, len(body)) + body)
        answer = connection.makefile("rb")
        first = answer.readline()
        if not first:
            raise ConnectionResetError("the server closed without a response")
        status = first.split()[1]
        length = 0
        while (line := answer.readline()) not in {b"\r\n", b""}:
            name, _, value = line.partition(b":")
            length = int(value) if name.lower() == b"content-length" else length
        assert status == b"200", status
        response: JsonObject = json.loads(answer.read(length))["response"]
        return response


def conversion(objects: bytes) -> bytes:
    return (
        b'{"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/v1","request":'
        b'{"uid":"u","desiredAPIVersion":"resources.azure.com/v1api20200601storage",'
        b'"objects":%s}}' % objects
    )


def admission(obj: bytes) -> bytes:
    return (
        b'{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":'
        b'{"uid":"u","operation":"CREATE","kind":{"group":"resources.azure.com",'
        b'"version":"v1api20200601","kind":"ResourceGroup"},"object":%s}}' % obj
    )


def listed(piece: bytes, size: int) -> bytes:
    return b"[" + b",".join([piece] * (size // (len(piece) + 1))) + b"]"


def groups(count: int) -> bytes:
    return b"[" + b",".join([json.dumps(GROUP).encode()] * count) + b"]"


class Attack:
    """An attacker's threads, each of which does the same again and again."""

    def __init__(
        self, act: Callable[[threading.Event], object], *, threads: int = 4
    ) -> None:
        self._act = act
        self._ended = threading.Event()
        self.times = 0
        self._threads = [threading.Thread(target=self._run) for _ in range(threads)]

    def _run(self) -> None:
        while not self._ended.is_set():
            with suppress(OSError, AssertionError, ValueError):
                self._act(self._ended)
            self.times += 1

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._ended.set()
        for thread in self._threads:
            thread.join(60)


class Renewals:
    """Watches a lease, and notes the longest time without a renewal."""

    def __init__(self, client: KubeClient) -> None:
        self._client = client
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self.longest_seconds = 0.0
        self.transitions = None

    def _watch(self) -> None:
        before, since = None, time.monotonic()
        while not self._ended.wait(0.1):
            spec = self._client.get(LEASES, LEASE)["spec"]
            self.transitions = spec["leaseTransitions"]
            now = time.monotonic()
            if spec["renewTime"] != before:
                before, since = spec["renewTime"], now
            self.longest_seconds = max(self.longest_seconds, now - since)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._ended.set()
        self._thread.join(30)


def most_memory_mib(pid: int) -> float:
    """The most memory that a process has had."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024


def reset(connection: socket.socket) -> None:
    """Close a connection so that its peer sees an error."""
    linger = struct.pack("ii", 1, 0)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
    connection.close()
