"""Writes of who may lose its lease at any moment: whole, or nothing to act on."""

import socket
import ssl
import threading
from contextlib import closing

import pytest
from azure.core.credentials import AccessToken
from azure.core.pipeline.transport import HttpRequest as ArmRequest

from asoreconcile.azure.arm.client import ArmClient
from asoreconcile.azure.arm.transport import ArmTransport
from asoreconcile.base import fencing
from asoreconcile.base.clock import SystemClock
from asoreconcile.base.errors import AsoreconcileError
from asoreconcile.base.objects import ObjectKey
from asoreconcile.kube.client import KubeClient
from asoreconcile.kube.cluster import ClusterConfig
from asoreconcile.kube.resources import CONFIG_MAPS
from asoreconcile.runtime.leaderelection.fence import NotLeadingError
from asoreconcile.runtime.leaderelection.lease import LeaseTiming
from asoreconcile.testing.http import HttpResponse, HttpServer, HttpsServer
from asoreconcile.testing.throwaway_certificates import certificate_authority
from asoreconcile.wire.handle import CurlHandle
from asoreconcile.wire.pool import HandlePool
from asoreconcile.wire.transfer import Transfer
from asoreconcile.wire.trust import TlsTrust

LARGE = "x" * (16 << 20)  # more than any buffer on the way holds
# An object as either server answers with it.
ONE = b'{"id": "x", "metadata": {"name": "one"}}'
ID = "/subscriptions/00000000-0000-0000-0000-000000000000/resourceGroups/g"


class Gate:
    """A lease that the test takes away."""

    def __init__(self):
        self.open, self.asked = True, 0

    def __call__(self):
        self.asked += 1
        if not self.open:
            raise NotLeadingError("leads no more")


class Token:
    """What azure-identity would have."""

    def get_token(self, *_scopes, **_options):
        return AccessToken("t", 1 << 33)


@pytest.fixture(scope="module")
def authority():
    return certificate_authority()


@pytest.fixture
def gate():
    return Gate()


@pytest.fixture
def seen():
    """The bodies of the requests that a server had to act on."""
    return []


@pytest.fixture(params=["kube", "kube over tls", "arm"])
def write(request, gate, seen, authority, tmp_path, monkeypatch):
    """Writes a text to a server, as one of the clients."""

    def handle(asked):
        if asked.method != "GET":
            seen.append(asked.body)
        return HttpResponse(200, ONE)

    (tmp_path / "ca.pem").write_bytes(authority.pem)
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(tmp_path / "ca.pem"))
    pair = authority.issue(["127.0.0.1"])
    tls = request.param != "kube"
    server = HttpsServer(handle, certificate=pair) if tls else HttpServer(handle)
    with server, closing(client(request.param, server.url, gate, authority)) as made:
        yield lambda text: write_with(made, request.param, text)


def write_with(made, kind, text):
    if kind == "arm":
        made.put(ID, "2020-06-01", {"location": text})
    else:
        made.patch(CONFIG_MAPS, ObjectKey("default", "one"), {"data": {"a": text}})


def client(kind, url, gate, authority):
    if kind == "arm":
        transport = ArmTransport(url=url, before_write=gate)
        return ArmClient(
            url, Token(), scope="s", clock=SystemClock(), transport=transport
        )
    config = ClusterConfig(
        url=url,
        trust=(lambda: TlsTrust(authority.pem)) if kind == "kube over tls" else None,
        authorization=lambda: "",
    )
    return KubeClient(config, user_agent="tests", before_write=gate)


STEPS = {
    "a connection is taken": (HandlePool, "_taken"),
    "the request is set up": (CurlHandle, "start"),
    "something may be sent": (CurlHandle, "_waited"),
    "libcurl asks for leave": (Transfer, "_begin"),
}


@pytest.mark.parametrize("step", STEPS)
def test_le5_who_pauses_while_a_request_is_made_sends_nothing(
    write, gate, seen, monkeypatch, step
):
    """The process is stopped there, and goes on when its lease is another's."""
    write("before")
    owner, name = STEPS[step]
    whole = getattr(owner, name)

    def pauses(*arguments, **options):
        answer = whole(*arguments, **options)
        gate.open = False
        return answer

    monkeypatch.setattr(owner, name, pauses)
    with pytest.raises((NotLeadingError, AsoreconcileError)):
        write("after")
    assert len(seen) == 1
    assert b"before" in seen[0]


def test_le5_large_requests_arrive_whole_and_leave_the_connection_good(
    write, gate, seen
):
    write(LARGE)
    write("small")
    assert LARGE.encode() in seen[0]
    assert gate.asked >= 2  # each at least once; how often is up to the buffers
    assert len(seen) == 2


@pytest.mark.parametrize("kind", ["kube", "kube over tls", "arm"])
def test_le5_who_pauses_within_a_request_never_ends_it(
    gate, authority, tmp_path, monkeypatch, kind
):
    """The peer takes no more for a while, and meanwhile the lease is another's."""
    (tmp_path / "ca.pem").write_bytes(authority.pem)
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(tmp_path / "ca.pem"))
    tls = kind != "kube"
    listener = socket.create_server(("127.0.0.1", 0))
    port, got, full = listener.getsockname()[1], bytearray(), threading.Event()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    for name, pem in zip("ck", authority.issue(["127.0.0.1"]), strict=True):
        (tmp_path / name).write_bytes(pem)
    context.load_cert_chain(tmp_path / "c", tmp_path / "k")
    waited = CurlHandle._waited

    def handle_waits(handle):
        if handle._transfer.is_sent and handle._is_sending():
            full.set()
        return waited(handle)

    monkeypatch.setattr(CurlHandle, "_waited", handle_waits)

    def serve():
        connection, _ = listener.accept()
        with connection:
            if tls:
                connection = context.wrap_socket(connection, server_side=True)
            got.extend(connection.recv(1000))
            assert full.wait(20)
            gate.open = False
            while True:
                try:
                    piece = connection.recv(1 << 20)
                except OSError:
                    break  # cut off, as it should be
                if not piece:
                    break
                got.extend(piece)
            connection.close()

    thread = threading.Thread(target=serve)
    thread.start()
    url = f"{'https' if tls else 'http'}://127.0.0.1:{port}"
    with (
        closing(client(kind, url, gate, authority)) as made,
        pytest.raises(NotLeadingError),
    ):
        write_with(made, kind, LARGE)
    thread.join(20)
    listener.close()
    assert len(got) < len(LARGE)
    assert got.startswith(b"PUT " if kind == "arm" else b"PATCH ")


@pytest.mark.skipif(not hasattr(socket, "TCP_USER_TIMEOUT"), reason="Linux has it")
def test_le5_the_kernel_gives_up_undelivered_writes_sooner_than_reads(gate, authority):
    """After a takeover nothing may come out of a queue; a watch has more patience."""
    asked = []
    with HttpServer(lambda _: HttpResponse(200, ONE)) as server:
        made = client("kube", server.url, gate, authority)
        pool = made._exchange._transport._pool
        with closing(made):
            key = ObjectKey("default", "one")
            for call in (made.get, made.patch, made.get):
                call(CONFIG_MAPS, key, *([{}] if call == made.patch else []))
                ((one, _),) = pool._idle
                asked.append(
                    one._socket.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT)
                    / 1000
                )
    assert asked == [30, fencing.UNDELIVERED_SECONDS, 30]
    spare = LeaseTiming().lease_seconds - LeaseTiming().renew_deadline_seconds
    assert spare >= fencing.UNDELIVERED_SECONDS


@pytest.mark.skipif(not hasattr(socket, "TCP_USER_TIMEOUT"), reason="Linux has it")
def test_le5_the_kernel_gives_up_undelivered_writes_to_azure_sooner_too(
    gate, authority, tmp_path, monkeypatch
):
    (tmp_path / "ca.pem").write_bytes(authority.pem)
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(tmp_path / "ca.pem"))
    asked, pair = [], authority.issue(["127.0.0.1"])
    server = HttpsServer(lambda _: HttpResponse(200, b"{}"), certificate=pair)
    transport = ArmTransport(url="https://127.0.0.1", before_write=gate)
    with server, transport:
        for method in ("GET", "PUT", "GET"):
            transport.send(ArmRequest(method, server.url))
            pool = transport._pools[server.url.removeprefix("https://")]
            ((handle, _),) = pool._idle
            one = handle._socket
            asked.append(
                one.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) / 1000
            )
    assert asked == [0, fencing.UNDELIVERED_SECONDS, 0]
