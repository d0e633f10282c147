"""Connections that break, fall silent, or are ended from another thread."""

import socket
import threading
from contextlib import contextmanager

import pytest
from scriptedpeer import Peer

from asoreconcile.base.call_limit import limited
from asoreconcile.base.coroutines import run_to_completion
from asoreconcile.base.errors import StoppedError
from asoreconcile.base.threads import Threads
from asoreconcile.kube.cluster import ClusterConfig
from asoreconcile.kube.errors import TransportError
from asoreconcile.kube.transport import Transport
from asoreconcile.testing.http import _context
from asoreconcile.testing.ports import free_port
from asoreconcile.testing.throwaway_certificates import certificate_authority
from asoreconcile.wire.trust import TlsTrust

CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
PLAIN = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"


def chunk(data):
    return b"%x\r\n%s\r\n" % (len(data), data)


@contextmanager
def talking_to(script, *, secure=False):
    """A transport to a peer; both end with the block."""
    authority = certificate_authority() if secure else None
    certificate = authority.issue(["127.0.0.1"]) if secure else None
    peer = Peer(script, certificate)
    config = ClusterConfig(
        url=f"{'https' if secure else 'http'}://{peer.address}",
        trust=(lambda: TlsTrust(authority.pem)) if secure else None,
        authorization=lambda: "",
    )
    transport = Transport(config, user_agent="tests")
    try:
        yield transport, peer
    finally:
        transport.close()
        peer.close()


def send(transport, *, read_seconds=10.0):
    with limited(read_seconds, is_read=True) as call:
        return transport.send("GET", "/x", headers={}, call=call)


class Opened:
    """A stream whose reader blocks."""

    def __init__(self, loop, transport, read_seconds):
        self.news = threading.Event()
        self.stream = transport.begin(
            loop,
            "/x",
            headers={},
            read_seconds=read_seconds,
            whole_seconds=None,
            on_news=self.news.set,
        )
        while not self.stream.is_answered():
            self.wait()
        self.close = self.stream.close

    def wait(self, _=None):
        assert self.news.wait(20)
        self.news.clear()

    def lines(self):
        for line in self.stream.lines():
            if line is None:
                self.wait()
            else:
                yield line


def stream(transport, *, read_seconds=10.0):
    loops = transport._loops or [transport.loop(Threads())]
    return Opened(loops[0], transport, read_seconds)


def says(*pieces):
    """Answers a request with pieces, then stays silent until the test ends."""

    def script(peer, connection):
        while peer.read_request(connection):
            for piece in pieces:
                connection.sendall(piece)
            if pieces[-1:] != (PLAIN,):
                peer.ended.wait(30)

    return script


def hangs_up_after(*pieces):
    def script(peer, connection):
        peer.read_request(connection)
        for piece in pieces:
            connection.sendall(piece)

    return script


@pytest.mark.parametrize("secure", [False, True])
def test_one_connection_serves_one_request_after_the_other(secure):
    connected = []

    def script(peer, connection):
        connected.append(connection)
        says(PLAIN)(peer, connection)

    with talking_to(script, secure=secure) as (transport, peer):
        for _ in range(5):
            assert send(transport).body == b"{}"
        assert len(peer.requests) == 5
    assert len(connected) == 1


def test_th9_silent_server_costs_no_more_than_the_deadline():
    talk = talking_to(says())
    with talk as (transport, _), pytest.raises(TransportError) as silent:
        send(transport, read_seconds=0.05)
    assert not silent.value.lost


def test_answer_cut_short_is_a_lost_connection():
    head = b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{"
    talk = talking_to(hangs_up_after(head))
    with talk as (transport, _), pytest.raises(TransportError) as broken:
        send(transport)
    assert broken.value.lost


def test_connection_closed_without_an_answer_is_lost():
    talk = talking_to(hangs_up_after())
    with talk as (transport, _), pytest.raises(TransportError) as broken:
        send(transport)
    assert broken.value.lost


def test_nobody_there_is_not_a_lost_connection():
    url = f"http://127.0.0.1:{free_port()}"
    config = ClusterConfig(url=url, trust=None, authorization=lambda: "")
    transport = Transport(config, user_agent="tests")
    with pytest.raises(TransportError) as refused:
        send(transport)
    assert not refused.value.lost
    transport.close()


def read_in_background(opened):
    """Read a stream on a thread: what it read, and how it ended."""
    lines, ended = [], []

    def read():
        try:
            lines.extend(opened.lines())
            ended.append("end")
        except (TransportError, StoppedError) as error:
            ended.append(error)

    thread = threading.Thread(target=read)
    thread.start()
    return thread, lines, ended


def test_lines_come_whole_however_they_are_cut():
    pieces = [chunk(b'{"a"'), chunk(b':1}\n{"b":2}\n'), chunk(b"\n"), b"0\r\n\r\n"]
    with talking_to(says(CHUNKED, *pieces)) as (transport, _):
        assert list(stream(transport).lines()) == [b'{"a":1}', b'{"b":2}', b""]


def test_connection_of_a_stream_that_ended_is_used_again():
    connected = []

    def script(peer, connection):
        connected.append(connection)
        while peer.read_request(connection):
            connection.sendall(CHUNKED + chunk(b"x\n") + b"0\r\n\r\n")

    with talking_to(script) as (transport, _):
        for _ in range(3):
            assert list(stream(transport).lines()) == [b"x"]
    assert len(connected) == 1


def test_connection_of_a_refused_stream_is_used_again():
    gone = b"HTTP/1.1 410 Gone\r\nContent-Length: 2\r\n\r\n{}"
    connected = []

    def script(peer, connection):
        connected.append(connection)
        while peer.read_request(connection):
            connection.sendall(gone)

    with talking_to(script) as (transport, _):
        for _ in range(3):
            opened = stream(transport)
            assert (
                opened.stream.status,
                run_to_completion(opened.stream.rest(), opened.wait),
            ) == (410, b"{}")
            opened.close()
    assert len(connected) == 1


def test_rf13_half_open_stream_ends_at_its_read_deadline():
    opening = (CHUNKED, chunk(b"x\n"))
    with talking_to(says(*opening)) as (transport, _):
        lines = stream(transport, read_seconds=2.0).lines()
        assert next(lines) == b"x"
        with pytest.raises(TransportError) as silent:
            next(lines)
    assert not silent.value.lost


@pytest.mark.parametrize(
    "ending",
    [
        pytest.param((chunk(b"half"),), id="inside-a-line"),
        pytest.param((b"ff\r\nx",), id="inside-a-chunk"),
        pytest.param((), id="without-the-last-chunk"),
        pytest.param((b"zz\r\n",), id="no-chunk-at-all"),
    ],
)
def test_stream_that_breaks_says_so(ending):
    talk = talking_to(hangs_up_after(CHUNKED, chunk(b"x\n"), *ending))
    with talk as (transport, _):
        lines = stream(transport).lines()
        assert next(lines) == b"x"
        with pytest.raises(TransportError):
            next(lines)


def test_stream_that_ends_inside_a_line_says_so():
    talk = talking_to(says(CHUNKED, chunk(b"half"), b"0\r\n\r\n"))
    with talk as (transport, _), pytest.raises(TransportError):
        list(stream(transport).lines())


@pytest.mark.parametrize("secure", [False, True])
@pytest.mark.parametrize(
    "head",
    [
        pytest.param(CHUNKED, id="kept-alive"),
        pytest.param(
            CHUNKED.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"),
            id="last-of-its-connection",
        ),
    ],
)
def test_rf13_close_wakes_a_blocked_reader(secure, head):
    with talking_to(says(head, chunk(b"x\n")), secure=secure) as (transport, _):
        opened = stream(transport, read_seconds=60)
        thread, lines, ended = read_in_background(opened)
        opened.close()
        opened.close()
        thread.join(10)
        assert not thread.is_alive()
        assert ended == ["end"]
        assert lines in ([], [b"x"])


@pytest.mark.parametrize("secure", [False, True])
def test_th9_closing_the_transport_ends_its_streams(secure):
    talk = talking_to(says(CHUNKED, chunk(b"x\n")), secure=secure)
    with talk as (transport, _):
        thread, _, ended = read_in_background(stream(transport, read_seconds=60))
        transport.close()
        thread.join(10)
        assert len(ended) == 1


def test_stream_closed_before_it_was_read_has_no_lines():
    with talking_to(says(CHUNKED, chunk(b"x\n"))) as (transport, _):
        opened = stream(transport)
        opened.close()
        assert list(opened.lines()) == []


def test_abandoned_reader_gives_its_connection_up():
    """A reader that stops iterating must not leave a half-read answer in the pool."""
    connected = []

    def script(peer, connection):
        connected.append(connection)
        says(CHUNKED, chunk(b"x\n"))(peer, connection)

    with talking_to(script) as (transport, _):
        for _ in range(2):
            lines = stream(transport).lines()
            assert next(lines) == b"x"
            lines.close()
    assert len(connected) == 2


def test_redirects_are_not_followed():
    """A token must not travel to wherever an answer points."""
    moved = b"HTTP/1.1 302 Found\r\nLocation: /y\r\nContent-Length: 0\r\n\r\n"
    with talking_to(hangs_up_after(moved)) as (transport, peer):
        assert send(transport).status == 302
        assert len(peer.requests) == 1


def test_rf13_kernel_watches_over_quiet_connections():
    with talking_to(says(PLAIN)) as (transport, _):
        send(transport)
        ((one, _),) = transport._pool._idle
        kept = one._socket.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
    assert kept == 1


def test_proxy_of_the_kubeconfig_tunnels_to_the_server():
    """A proxy that answers CONNECT, then is the server itself: one socket, two hops."""
    authority = certificate_authority()
    inside = _context(authority.issue(["kubernetes.example"]))

    def script(peer, connection):
        peer.read_request(connection)
        connection.sendall(b"HTTP/1.1 200 Connected\r\n\r\n")
        with inside.wrap_socket(connection, server_side=True) as tunnel:
            peer.read_request(tunnel)
            tunnel.sendall(PLAIN)

    peer = Peer(script)
    config = ClusterConfig(
        url="https://kubernetes.example:6443",
        trust=lambda: TlsTrust(authority.pem),
        authorization=lambda: "Bearer t",
        proxy_url=f"http://{peer.address}",
    )
    transport = Transport(config, user_agent="tests")
    assert send(transport).body == b"{}"
    transport.close()
    peer.close()
    connect, get = peer.requests
    assert connect.startswith(b"CONNECT kubernetes.example:6443 ")
    assert b"Bearer" not in connect
    assert get.startswith(b"GET /x ")


def test_what_is_closed_while_it_connects_sends_nothing():
    """Its socket opens too late to be among those that were cut."""
    with talking_to(says(PLAIN)) as (transport, peer):
        transport._pool._trust = transport.close
        with pytest.raises(StoppedError):
            send(transport)
        assert peer.requests == []
