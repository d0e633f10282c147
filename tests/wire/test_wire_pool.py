"""What libcurl does for us, and what it must never do: a pool against real peers."""

import gc
import gzip
import queue
import socket
import sys
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager

import pytest
from scarcedescriptors import exhausted_descriptors
from scriptedpeer import Peer

from asoreconcile.base.call_limit import limited
from asoreconcile.base.errors import StoppedError
from asoreconcile.testing.clock import FakeClock
from asoreconcile.testing.http import HttpResponse, HttpServer, HttpsServer, _context
from asoreconcile.testing.ports import free_port
from asoreconcile.testing.throwaway_certificates import certificate_authority
from asoreconcile.wire import handle
from asoreconcile.wire.destination import Destination, Proxy
from asoreconcile.wire.errors import WireError
from asoreconcile.wire.handle import CurlHandle, Patience
from asoreconcile.wire.pool import IDLE_SECONDS, HandlePool
from asoreconcile.wire.request import WireRequest
from asoreconcile.wire.trust import TlsTrust

PATIENCE = Patience(connect=10, silence=10)
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"
VERBS = ["GET", "HEAD", "PUT", "PATCH", "POST", "DELETE"]


@pytest.fixture(scope="module")
def authority():
    return certificate_authority()


def pool_of(url, *, trust=None, proxy=None, server_name="", **options):
    destination = Destination.of(url, proxy=proxy, server_name=server_name)
    given = trust if callable(trust) else lambda: trust
    return HandlePool(destination, trust=given, **options)


def ask(pool, method="GET", target="/x", *, headers=(), body=None, **options):
    request = WireRequest(method, target, tuple(headers), body)
    with limited(10, is_read=request.is_read) as call:
        return pool.exchange(request, call=call, patience=PATIENCE, **options)


@contextmanager
def talking_to(script, **options):
    """A pool to a peer that does what a script says; both end with the block."""
    peer = Peer(script)
    try:
        with closing(pool_of(f"http://{peer.address}", **options)) as pool:
            yield pool, peer
    finally:
        peer.close()


def answers(*pieces):
    def script(peer, connection):
        while peer.read_request(connection):
            for piece in pieces:
                connection.sendall(piece)

    return script


def closes_after(answered):
    """Connections that serve so many requests, and close at the next one."""

    def script(peer, connection):
        for _ in range(answered):
            peer.read_request(connection)
            connection.sendall(OK)
        peer.read_request(connection)

    return script


def test_a_read_on_a_connection_that_the_server_has_closed_is_sent_again():
    with talking_to(closes_after(1)) as (pool, peer):
        assert [ask(pool).status for _ in range(30)] == [200] * 30
    assert len(peer.requests) == 59


def test_a_read_that_a_fresh_connection_loses_is_not_sent_again():
    with talking_to(closes_after(0)) as (pool, peer), pytest.raises(WireError):
        ask(pool)
    assert len(peer.requests) == 1


def test_an_answer_of_two_lengths_is_refused():
    two = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\ncontent-length: 3\r\n\r\n{}x"
    refused = pytest.raises(WireError, match="Content-Length")
    with talking_to(answers(two)) as (pool, _), refused:
        ask(pool)
    same = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\n{}"
    with talking_to(answers(same)) as (pool, _):
        assert ask(pool).body == b"{}"


@pytest.mark.parametrize("login", ["", "me:p%40ss@"])
@pytest.mark.parametrize("scheme", ["socks5", "socks5h"])
def test_a_socks_proxy_opens_a_tunnel_by_name(scheme, login):
    """RFC 1928 and 1929; the name is the proxy's to resolve."""
    seen = []

    def script(peer, connection):
        _, count = connection.recv(2)
        methods = connection.recv(count)
        method = b"\x02" if login else b"\x00"
        assert method in methods
        connection.sendall(b"\x05" + method)
        if login:
            seen.append(connection.recv(64))
            connection.sendall(b"\x01\x00")
        seen.append(connection.recv(256))
        connection.sendall(b"\x05\x00\x00\x01" + bytes(6))
        peer.read_request(connection)
        connection.sendall(OK)

    peer = Peer(script)
    proxy = Proxy.of(f"{scheme}://{login}{peer.address}")
    with closing(pool_of("http://cluster.example:8080", proxy=proxy)) as pool:
        assert ask(pool).status == 200
    peer.close()
    assert seen[-1] == b"\x05\x01\x00\x03\x0fcluster.example" + (8080).to_bytes(2)
    if login:
        assert seen[0] == b"\x01\x02me\x04p@ss"
    assert peer.requests[0].startswith(b"GET /x HTTP/1.1\r\nHost: cluster.example:8080")


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_h4_no_redirect_is_followed(verb, status):
    head = f"HTTP/1.1 {status} Moved\r\nLocation: /y\r\nContent-Length: 0\r\n\r\n"
    with talking_to(answers(head.encode())) as (pool, peer):
        answer = ask(pool, verb, headers=[("Authorization", "Bearer t")])
        assert (answer.status, answer.headers["location"]) == (status, "/y")
        assert len(peer.requests) == 1


def test_h4_no_password_file_and_no_proxy_of_the_environment_is_used(
    tmp_path, monkeypatch
):
    (tmp_path / ".netrc").write_text("default login me password canary\n")
    (tmp_path / ".netrc").chmod(0o600)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("NETRC", str(tmp_path / ".netrc"))
    for name in ("http_proxy", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    with talking_to(answers(OK)) as (pool, peer):
        assert ask(pool).status == 200
        assert b"uthorization" not in peer.requests[0]


@pytest.mark.parametrize("spare", range(4))
def test_no_descriptor_is_an_error_that_says_so(spare):
    """Whichever step it is that finds none: libcurl's own, the socket, its copy, the
    file of authorities.
    """
    with talking_to(answers(OK)) as (pool, _):
        with (
            exhausted_descriptors(spare=spare),
            pytest.raises(WireError, match="Errno 24") as caught,
        ):
            ask(pool, "PUT", body=b"{}")
        assert not caught.value.is_sent
        assert ask(pool).status == 200


@pytest.mark.parametrize("url", ["file:///etc/passwd", "ftp://127.0.0.1/x", "x", ""])
def test_no_other_protocol_is_spoken(url):
    with pytest.raises(ValueError, match="https://"):
        Destination.of(url)


@pytest.mark.parametrize(
    ("method", "target", "headers"),
    [
        ("GET", "/x HTTP/1.1\r\nA: b", ()),
        ("GET", "", ()),
        ("GET\r\n", "/", ()),
        ("GET", "/", [("A", "b\r\nC: d")]),
        ("GET", "/", [("A", "b\nC: d")]),
        ("GET", "/", [("A", "b\0")]),
        ("GET", "/", [("A: b\r\nC", "d")]),
        ("GET", "/", [("", "d")]),
        ("GET", "/", [("A", "\u2028")]),
    ],
)
def test_nothing_writes_a_second_request_into_the_first(method, target, headers):
    with talking_to(answers(OK)) as (pool, peer):
        with pytest.raises(ValueError, match=r"."):
            ask(pool, method, target, headers=headers)
        assert ask(pool).status == 200  # and the pool is as good as before
        assert len(peer.requests) == 1


def test_a_request_is_what_was_asked_for_and_no_more():
    """No leave is asked for, nothing is added but a host, and nothing is normalized."""
    heard = []

    def handle(request):
        heard.append(request)
        return HttpResponse(200, b"{}", {"X-Two": "a"})

    target = "/o/a%20b/%7e/../c?t=%3a&c=%2d~"
    with HttpServer(handle) as server, closing(pool_of(server.url)) as pool:
        headers = [("Accept", "a"), ("User-Agent", "u"), ("Empty", ""), ("M", "1")]
        large = b"x" * (3 << 20)
        ask(pool, "PUT", target, headers=[*headers, ("M", "2")], body=large)
        ask(pool, "POST", target, headers=headers)
        ask(pool, "DELETE", target, headers=headers)
        ask(pool, "GET", target, headers=headers)
    put, post, delete, get = heard
    assert [r.target for r in heard] == [target] * 4
    assert put.body == large
    assert "expect" not in put.headers
    assert "transfer-encoding" not in put.headers
    assert post.headers["content-length"] == "0"
    for request in (delete, get):
        assert set(request.headers) == {
            *("host", "accept", "accept-encoding", "user-agent", "empty", "m")
        }


def test_headers_that_come_twice_are_joined_and_interim_answers_are_not_the_answer():
    interim = b"HTTP/1.1 103 Early Hints\r\nX: no\r\n\r\n"
    head = b"HTTP/1.1 200 OK\r\nX: a\r\nx: b\r\nContent-Length: 2\r\n\r\n{}"
    with talking_to(answers(interim, head)) as (pool, _):
        answer = ask(pool)
    assert (answer.status, answer.headers["x"], answer.body) == (200, "a, b", b"{}")


@pytest.mark.parametrize("layers", [1, 5, 100])
def test_v8_an_answer_packed_many_times_is_given_up(layers):
    body = b" " * 50_000_000
    for _ in range(min(layers, 6)):
        body = gzip.compress(body, 1)
    encoding = ", ".join(["gzip"] * layers)
    handle = lambda _: HttpResponse(200, body, {"Content-Encoding": encoding})  # noqa: E731
    with HttpServer(handle) as server, closing(pool_of(server.url)) as pool:
        with pytest.raises(WireError) as caught:
            ask(pool, max_bytes=1_000_000)
        assert caught.value.is_sent


@pytest.mark.parametrize(
    "pieces",
    [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{}",),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"5\r\nab"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"zz\r\n"),
        (b"HTTP/1.1 200 OK\r\nX: ",),
        (b"HTTP/1.1",),
        (b"hello\r\n",),
        (),
    ],
)
@pytest.mark.parametrize("verb", ["GET", "PUT"])
def test_v8_a_cut_answer_is_none_and_may_have_been_executed(verb, pieces):
    def script(peer, connection):
        peer.read_request(connection)
        for piece in pieces:
            connection.sendall(piece)

    with talking_to(script) as (pool, _), pytest.raises(WireError) as caught:
        ask(pool, verb)
    assert caught.value.is_sent


@pytest.mark.parametrize("verb", sorted(set(VERBS) - {"GET", "HEAD"}))
def test_v8_no_write_is_sent_twice_by_itself(verb):
    """The second request finds the connection closed, as an idle one may be; libcurl
    would send it again over another, though the first may have been executed.
    """

    def script(peer, connection):
        peer.read_request(connection)
        connection.sendall(b"HTTP/1.1 204 No Content\r\n\r\n")
        peer.read_request(connection)  # and no answer

    with talking_to(script) as (pool, peer):
        ask(pool)
        with pytest.raises(WireError, match="Connection aborted") as caught:
            ask(pool, verb)
        assert caught.value.is_sent
        assert caught.value.is_lost
        assert len(peer.requests) == 2
        assert ask(pool, verb).status == 204


def test_v8_nobody_there_is_nothing_sent():
    nobody = closing(pool_of(f"http://127.0.0.1:{free_port()}"))
    with nobody as pool, pytest.raises(WireError, match="refused") as caught:
        ask(pool, "PUT", body=b"{}")
    assert not caught.value.is_sent
    assert not caught.value.is_lost


def test_a_name_stands_for_several_addresses(monkeypatch):
    """The first has nobody; and libcurl itself asks nobody for an address."""
    dead = ("127.0.0.1", free_port())
    peer = Peer(answers(OK))
    real = peer.listener.getsockname()
    kind = (socket.AF_INET, socket.SOCK_STREAM, 6, "")
    monkeypatch.setattr(
        socket, "getaddrinfo", lambda *_, **__: [(*kind, dead), (*kind, real)]
    )
    with closing(pool_of("http://nowhere.invalid")) as pool:
        assert ask(pool).status == 200
    assert b"Host: nowhere.invalid\r\n" in peer.requests[0]
    peer.close()


def test_the_internet_s_newer_addresses_are_understood():
    try:
        listener = socket.create_server(("::1", 0), family=socket.AF_INET6)
    except OSError:
        pytest.skip("no IPv6 here")
    peer = Peer(answers(OK), listener=listener)
    with closing(pool_of(f"http://[::1]:{listener.getsockname()[1]}")) as pool:
        assert ask(pool).status == 200
    peer.close()


def test_t10_a_pool_of_four_serves_a_hundred_threads():
    ports = set()
    lock = threading.Lock()

    def handle(request):
        with lock:
            ports.add(request.headers["n"])
        return HttpResponse(200, request.headers["n"].encode())

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        with (
            HttpServer(handle) as server,
            closing(pool_of(server.url, max_idle=4)) as pool,
            ThreadPoolExecutor(100) as threads,
        ):
            bodies = threads.map(
                lambda n: ask(pool, headers=[("N", str(n))]).body, range(600)
            )
            assert [int(body) for body in bodies] == list(range(600))
            assert len(pool._idle) <= 4
            assert not pool._busy
    finally:
        sys.setswitchinterval(before)


def test_what_is_not_used_for_a_while_is_given_up(monkeypatch):
    monkeypatch.setattr("asoreconcile.wire.pool.IDLE_SECONDS", 0.0)
    together = threading.Barrier(3)

    def script(peer, connection):
        while peer.read_request(connection):
            if together.n_waiting or not together.broken:
                together.wait(10)
            connection.sendall(OK)

    with talking_to(script) as (pool, _):
        with ThreadPoolExecutor(3) as threads:
            list(threads.map(lambda _: ask(pool), range(3)))
        assert len(pool._idle) <= 1


def test_what_a_quiet_process_does_not_use_is_given_up():
    """Without another request: the server sees both connections end in their turn."""
    clock, ended = FakeClock(), queue.SimpleQueue()
    together = threading.Barrier(2)

    def script(peer, connection):
        while head := peer.read_request(connection):
            if head.startswith(b"GET /both"):
                together.wait(10)
            connection.sendall(OK)
        ended.put(connection)

    with talking_to(script, clock=clock) as (pool, _):
        with ThreadPoolExecutor(2) as threads:
            list(threads.map(lambda _: ask(pool, target="/both"), range(2)))
        clock.advance(IDLE_SECONDS / 2)
        ask(pool)
        clock.advance(IDLE_SECONDS / 2)
        ended.get(timeout=10)
        ask(pool)
        clock.advance(IDLE_SECONDS - 1)
        assert ended.empty()
        clock.advance(1)
        ended.get(timeout=10)
        assert ask(pool).status == 200


# Its sockets say that nobody closed them, as any socket does.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_pool_that_was_dropped_is_not_kept_for_its_timer():
    clock = FakeClock()
    peer = Peer(answers(OK))
    try:
        pool = pool_of(f"http://{peer.address}", clock=clock)
        ask(pool)
        dropped = weakref.ref(pool)
        del pool
        gc.collect()
        assert dropped() is None
        clock.advance(IDLE_SECONDS)
    finally:
        peer.close()


def test_a_pool_that_no_thread_is_left_to_look_after_answers_still():
    class Exhausted(FakeClock):
        def call_at(self, deadline, call):
            raise RuntimeError("can't start new thread")

    with talking_to(answers(OK), clock=Exhausted()) as (pool, _):
        assert [ask(pool).status for _ in range(2)] == [200, 200]


def test_renewed_connections_are_other_ones():
    connected = []

    def script(peer, connection):
        connected.append(connection)
        answers(OK)(peer, connection)

    with talking_to(script) as (pool, _):
        ask(pool)
        ask(pool)
        pool.renew()
        ask(pool)
    assert len(connected) == 2


@pytest.mark.parametrize("when", ["waits", "opens", "connects"])
def test_th9_closing_ends_what_is_under_way(when, monkeypatch):
    asked = threading.Event()

    def script(peer, connection):
        peer.read_request(connection)
        asked.set()
        peer.ended.wait(30)

    with talking_to(script) as (pool, peer):
        if when == "connects":
            monkeypatch.setattr(CurlHandle, "_be_impatient", lambda *_: pool.close())
        if when == "opens":
            # Open, and nobody who closes knows of it yet.
            opened = handle.open_socket

            def opened_and_closed(*arguments, **options):
                connected = opened(*arguments, **options)
                pool.close()
                return connected

            monkeypatch.setattr(handle, "open_socket", opened_and_closed)
        with ThreadPoolExecutor(1) as threads:
            asking = threads.submit(ask, pool)
            if when == "waits":
                assert asked.wait(10)
                pool.close()
            with pytest.raises((WireError, StoppedError)):
                asking.result(10)
        assert len(peer.requests) == (1 if when == "waits" else 0)
        with pytest.raises(StoppedError):
            ask(pool)


@pytest.mark.parametrize("login", ["", "me:p%40ss@"])
def test_a_proxy_opens_a_tunnel_and_sees_no_token(authority, login):
    """One socket, two hops: it answers CONNECT, and is then the server itself."""
    inside = _context(authority.issue(["azure.example"]))

    def script(peer, connection):
        peer.read_request(connection)
        connection.sendall(b"HTTP/1.1 200 Connected\r\nX-Proxy: yes\r\n\r\n")
        with inside.wrap_socket(connection, server_side=True) as tunnel:
            peer.read_request(tunnel)
            tunnel.sendall(OK)

    peer = Peer(script)
    proxy = Proxy.of(f"http://{login}{peer.address}")
    trust = TlsTrust(authority.pem)
    with closing(pool_of("https://azure.example", trust=trust, proxy=proxy)) as pool:
        answer = ask(pool, headers=[("Authorization", "Bearer t")])
    peer.close()
    assert answer.headers == {"content-length": "2"}
    connect, get = peer.requests
    assert connect.startswith(b"CONNECT azure.example:443 ")
    assert b"Bearer" not in connect
    assert (b"Proxy-Authorization: Basic bWU6cEBzcw==" in connect) == bool(login)
    assert b"Authorization: Bearer t" in get
    assert b"Proxy-Authorization" not in get


def test_a_proxy_that_refuses_has_sent_nothing_on(authority):
    refusal = b"HTTP/1.1 407 No\r\nContent-Length: 0\r\n\r\n"
    peer = Peer(answers(refusal))
    proxy = Proxy.of(peer.address)
    trust = TlsTrust(authority.pem)
    through = closing(pool_of("https://azure.example", trust=trust, proxy=proxy))
    with through as pool, pytest.raises(WireError, match="407") as caught:
        ask(pool, "PUT", body=b"{}")
    peer.close()
    assert not caught.value.is_sent


@pytest.mark.parametrize(
    "url", ["socks4://a", "http://me:canary@", "http://me:canary@a:x", "ftp://a"]
)
def test_what_is_no_proxy_is_refused_without_its_password(url):
    with pytest.raises(ValueError, match=r".") as caught:
        Proxy.of(url)
    assert "canary" not in str(caught.value)


def test_a_server_may_have_another_name_than_its_host(authority):
    pair = authority.issue(["kubernetes.example"])
    heard = []

    def handle(request):
        heard.append(request.headers["host"])
        return HttpResponse(200, b"{}")

    with HttpsServer(handle, certificate=pair) as server:
        trust = TlsTrust(authority.pem)
        plain = closing(pool_of(server.url, trust=trust))
        with plain as pool, pytest.raises(WireError, match="subject name"):
            ask(pool)
        name = "kubernetes.example"
        with closing(pool_of(server.url, trust=trust, server_name=name)) as pool:
            assert ask(pool).status == 200
    assert heard == [server.url.removeprefix("https://")]


def test_whom_is_trusted_may_change_between_connections(authority):
    """Nothing is sent under the old trust once there is a new one."""
    other = certificate_authority()
    trusted = [TlsTrust(other.pem)]
    with (
        HttpsServer(
            lambda _: HttpResponse(200, b"{}", {"Connection": "close"}),
            certificate=authority.issue(["127.0.0.1"]),
        ) as server,
        closing(pool_of(server.url, trust=lambda: trusted[0])) as pool,
    ):
        with pytest.raises(WireError, match="verify failed") as caught:
            ask(pool)
        assert caught.value.is_untrusted
        assert not caught.value.is_sent
        trusted[0] = TlsTrust(authority.pem)
        assert ask(pool).status == 200
        trusted[0] = TlsTrust(other.pem)
        pool.renew()
        with pytest.raises(WireError, match="verify failed"):
            ask(pool)
        trusted[0] = TlsTrust(other.pem, verify=False)  # its owner's decision
        assert ask(pool).status == 200
