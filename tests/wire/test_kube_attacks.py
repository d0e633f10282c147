"""What a server, or who sits before it, may try on the Kubernetes client."""

import gzip
import json
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager

import pytest
from loopreader import listed
from scriptedpeer import Peer

from asoreconcile.base.errors import AsoreconcileError
from asoreconcile.base.objects import ObjectKey
from asoreconcile.kube import transport
from asoreconcile.kube.client import KubeClient
from asoreconcile.kube.cluster import ClusterConfig
from asoreconcile.kube.errors import ApiError, TransportError
from asoreconcile.kube.resources import CONFIG_MAPS
from asoreconcile.testing.http import HttpResponse, HttpServer, HttpsServer
from asoreconcile.testing.throwaway_certificates import certificate_authority
from asoreconcile.wire.trust import TlsTrust

HEAD = b"HTTP/1.1 200 OK\r\n"
KEY = ObjectKey("default", "one")
OBJECT = {"metadata": {"namespace": "default", "name": "one"}}
CALLS = {
    "get": lambda client: client.get(CONFIG_MAPS, KEY),
    "list": lambda client: list(client.list_all(CONFIG_MAPS)),
    "listing": lambda client: listed(client, CONFIG_MAPS),
    "watch": lambda client: list(client.watch(CONFIG_MAPS, timeout_seconds=60)),
    "create": lambda client: client.create(CONFIG_MAPS, OBJECT),
    "replace": lambda client: client.replace(CONFIG_MAPS, OBJECT),
    "patch": lambda client: client.patch(CONFIG_MAPS, KEY, {}),
    "delete": lambda client: client.delete(CONFIG_MAPS, KEY),
}
READS = ("get", "list", "listing", "watch")
call = pytest.mark.parametrize("call", CALLS)
read = pytest.mark.parametrize("call", READS)


def client_of(url, trust=None, **options):
    config = ClusterConfig(url, trust, authorization=lambda: "Bearer canary")
    return closing(KubeClient(config, user_agent="tests", **options))


@contextmanager
def answering(*pieces, **options):
    """A client of a server that sends these bytes for a request, and hangs up."""

    def script(peer, connection):
        if peer.read_request(connection):
            for piece in pieces:
                connection.sendall(piece)

    peer = Peer(script)
    try:
        with client_of(f"http://{peer.address}", **options) as client:
            yield client
    finally:
        peer.close()


@call
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_h4_no_answer_leads_the_token_to_another_host(call, status):
    """Not by a redirect, and by no other header that names a host."""
    authority = certificate_authority()
    pair, led = authority.issue(["127.0.0.1"]), []

    def foreign(request):
        led.append(request)
        return HttpResponse(200, b"{}")

    with HttpsServer(foreign, certificate=pair) as other:

        def handle(_):
            host = other.url.partition("://")[2]
            return HttpResponse(
                status,
                b"{}",
                {
                    "Location": f"{other.url}/x",
                    "Content-Location": f"{other.url}/x",
                    "Refresh": f"0; url={other.url}/x",
                    "Link": f"<{other.url}/x>; rel=canonical",
                    "Alt-Svc": f'h2="{host}"; ma=60, http/1.1="{host}"',
                },
            )

        with (
            HttpsServer(handle, certificate=pair) as server,
            client_of(server.url, lambda: TlsTrust(authority.pem)) as client,
        ):
            for _ in range(2):  # what was said is remembered no more than followed
                with pytest.raises(ApiError) as caught:
                    CALLS[call](client)
                assert caught.value.status == status
    assert led == []


@read
@pytest.mark.parametrize("layers", [1, 100])
def test_v8_packed_answers_nobody_asked_for_are_not_unpacked(call, layers):
    """Not a byte of them: a megabyte of these is a gigabyte."""
    body = b" " * 10_000_000
    for _ in range(min(layers, 6)):
        body = gzip.compress(body, 1)
    packed = {"Content-Encoding": ", ".join(["gzip"] * layers)}
    asked = []

    def handle(request):
        asked.append(request.headers["accept-encoding"])
        return HttpResponse(200, body, packed)

    with (
        HttpServer(handle) as server,
        client_of(server.url) as client,
        pytest.raises(TransportError, match="packed as gzip"),
    ):
        CALLS[call](client)
    assert asked == ["identity"]


@call
@pytest.mark.parametrize(
    "pieces",
    [
        pytest.param((b"HTTP/1.1 200 OK\r\nX: ",), id="inside-the-head"),
        pytest.param((b"hello\r\n",), id="no-head"),
        pytest.param(
            (b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{",), id="inside-the-body"
        ),
        pytest.param(
            (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{",),
            id="inside-a-chunk",
        ),
        pytest.param(
            (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",),
            id="no-chunk",
        ),
    ],
)
def test_v8_a_cut_answer_is_never_taken_for_one(call, pieces):
    with answering(*pieces, max_retries=0) as client, pytest.raises(TransportError):
        CALLS[call](client)


@pytest.mark.parametrize("call", ["get", "patch"])
def test_an_answer_without_an_end_does_not_fill_the_memory(call, monkeypatch):
    monkeypatch.setattr(transport, "MAX_BODY_BYTES", 1 << 20)
    sent = []

    def script(peer, connection):
        peer.read_request(connection)
        connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n{")
        while True:
            connection.sendall(b" " * (1 << 16))
            sent.append(1 << 16)

    peer = Peer(script)
    with (
        client_of(f"http://{peer.address}") as client,
        pytest.raises(TransportError, match="over 1048576 bytes"),
    ):
        CALLS[call](client)
    peer.close()
    assert sum(sent) < 64 << 20  # what was on the way, too


@pytest.mark.parametrize("header", ["a\r\nHost: b", "a\nb", "a\0b"])
def test_a_token_with_a_line_break_is_not_sent(header):
    """Whoever writes a token file would write the next request."""
    asked = []
    with HttpServer(asked.append) as server:
        config = ClusterConfig(server.url, None, authorization=lambda: header)
        with closing(KubeClient(config, user_agent="tests")) as client:
            for ask in CALLS.values():
                with pytest.raises(TransportError, match="not sent") as caught:
                    ask(client)
                assert "Host: b" not in str(caught.value)
    assert asked == []


def test_four_kept_connections_serve_a_hundred_threads(monkeypatch):
    """Reads, writes and lists by turns: each gets its own answer."""

    def handle(request):
        name = request.target.partition("?")[0].rpartition("/")[2]
        meta = {"name": name, "namespace": "default", "resourceVersion": "1"}
        one = {"metadata": meta, "data": {"method": request.method}}
        body = {"metadata": {}, "items": [one]} if name == "configmaps" else one
        return HttpResponse(200, json.dumps(body, separators=(",", ":")).encode())

    def ask(number):
        key = ObjectKey("default", f"n{number}")
        if number % 3 == 0:
            return client.get(CONFIG_MAPS, key), "GET", key.name
        if number % 3 == 1:
            return client.patch(CONFIG_MAPS, key, {}), "PATCH", key.name
        (one,) = client.list_all(CONFIG_MAPS)
        return one, "GET", "configmaps"

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        with (
            HttpServer(handle) as server,
            client_of(server.url) as client,
            ThreadPoolExecutor(100) as threads,
        ):
            pool = client._exchange._transport._pool
            monkeypatch.setattr(pool, "_max_idle", 4)
            for answer, method, name in threads.map(ask, range(600)):
                assert answer["metadata"]["name"] == name
                assert answer["data"]["method"] == method
            assert len(pool._idle) <= 4
            assert not pool._busy
    finally:
        sys.setswitchinterval(before)


@read
def test_th9_closing_the_client_ends_what_waits(call):
    asked = threading.Event()

    def script(peer, connection):
        peer.read_request(connection)
        if call == "watch":
            connection.sendall(HEAD + b"Transfer-Encoding: chunked\r\n\r\n")
        elif call == "get":  # without a length the end of a connection looks whole
            connection.sendall(HEAD + b"\r\n{}")
        asked.set()
        peer.ended.wait(30)

    peer = Peer(script)
    with client_of(f"http://{peer.address}") as client, ThreadPoolExecutor(1) as one:
        waiting = one.submit(CALLS[call], client)
        assert asked.wait(10)
        client.close()
        with pytest.raises(AsoreconcileError):
            waiting.result(10)
    peer.close()
