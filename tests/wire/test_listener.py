"""The HTTP server under probes, scrapes and webhooks: connections, bodies, ends."""

import errno
import http.client
import socket
import threading
from contextlib import closing, suppress

import pytest
from applications import until

from asoreconcile.runtime.endpoints import ListenersAlive
from asoreconcile.serving import connection_handler
from asoreconcile.serving.listener import Listener
from asoreconcile.serving.messages import ServerRequest, ServerResponse


@pytest.fixture
def listen():
    made = []

    def begin(answer, **options):
        listener = Listener("127.0.0.1:0", answer, **options)
        made.append(listener)
        listener.start()
        return listener

    yield begin
    for listener in made:
        assert listener.stop(5) == 0


def echo(request):
    return ServerResponse(200, request.target.encode())


def connect(listener):
    return http.client.HTTPConnection("127.0.0.1", listener.port, timeout=10)


def ask(connection, target="/", **options):
    connection.request(options.pop("method", "GET"), target, **options)
    answer = connection.getresponse()
    return answer.status, answer.read()


def test_one_connection_serves_request_after_request(listen):
    listener = listen(echo)
    with closing(connect(listener)) as connection:
        assert ask(connection, "/a?b=c") == (200, b"/a?b=c")
        first = connection.sock
        assert ask(connection, "/d") == (200, b"/d")
        assert connection.sock is first


def test_without_a_host_it_listens_at_every_address():
    listener = Listener(":0", echo)
    listener.start()
    try:
        hosts = ["127.0.0.1"] + (["::1"] if socket.has_dualstack_ipv6() else [])
        for host in hosts:
            with closing(http.client.HTTPConnection(host, listener.port)) as connection:
                assert ask(connection)[0] == 200
    finally:
        assert listener.stop(5) == 0


def test_a_request_has_its_headers_in_lower_case_and_its_body(listen):
    seen = []

    def answer(request):
        seen.append(request)
        return ServerResponse(204)

    listener = listen(answer, methods=("POST",), max_body_bytes=lambda _: 10)
    with closing(connect(listener)) as connection:
        ask(connection, "/x", method="POST", body=b"12345", headers={"X-Kind": "A"})
    (request,) = seen
    assert isinstance(request, ServerRequest)
    assert (request.method, request.target, request.body) == ("POST", "/x", b"12345")
    assert request.headers["x-kind"] == "A"
    assert "12345" not in repr(request)


@pytest.mark.parametrize(
    ("head", "status"),
    [
        ("GET / HTTP/1.1\r\nHost: a\r\n\r\n", 200),
        ("\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", 200),
        ("GET / HTTP/1.0\r\n\r\n", 200),
        ("GET //a HTTP/1.1\r\nHost: a\r\n\r\n", 200),
        ("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", 200),
        ("GET / HTTP/1.1\nHost: a\n\n", 400),
        ("GET / / HTTP/1.1\r\n\r\n", 400),
        (f"GET / HTTP/1.1\r\nA: {'b' * 70000}\r\n\r\n", 431),
        (f"GET /{'b' * 70000} HTTP/1.1\r\nHost: a\r\n\r\n", 414),
        ("GET / HTTP/1.1\r\n" + "A: b\r\n" * 101 + "\r\n", 431),
        ("GET / HTTP/1.1\r\nContent-Length: 0x\r\n\r\n", 400),
    ],
)
def test_mg11_a_head_that_few_clients_send_is_read_or_refused(listen, head, status):
    listener = listen(lambda request: ServerResponse(200, b"read"))
    with socket.create_connection(listener.reachable_at, timeout=5.0) as client:
        client.sendall(head.encode())
        client.shutdown(socket.SHUT_WR)
        answer = b"".join(iter(lambda: client.recv(1 << 16), b""))
    assert answer.startswith(f"HTTP/1.1 {status} ".encode())


@pytest.mark.parametrize("line", ["bad name: v", ": v", " a: v", "a : v", "a"])
def test_what_is_no_header_is_not_taken_for_one(listen, line):
    heard = []

    def answer(request):
        heard.append(request.headers)
        return ServerResponse(200)

    listener = listen(answer)
    with socket.create_connection(listener.reachable_at, timeout=5.0) as client:
        client.sendall(f"GET / HTTP/1.1\r\nHost: a\r\n{line}\r\n\r\n".encode())
        client.recv(1 << 16)

    assert all("name" not in headers and "a" not in headers for headers in heard)


def test_what_an_answer_raises_is_a_500_that_says_nothing(listen, caplog):
    def broken(request):
        raise ValueError("inner details")

    listener = listen(broken)
    with closing(connect(listener)) as connection:
        assert ask(connection) == (500, b"internal error\n")
    assert "inner details" in caplog.text


def test_idle_connections_give_way_to_those_that_ask(listen):
    listener = listen(echo, max_connections=2)
    idle = [socket.create_connection(ports(listener)) for _ in range(40)]
    with closing(connect(listener)) as connection:
        assert ask(connection)[0] == 200
    assert idle[0].recv(1) == b""
    for one in idle:
        one.close()


def ports(server):
    return ("127.0.0.1", server.port)


@pytest.mark.parametrize(
    "part",
    [
        b"G",
        b"GET / HTTP/1.1\r\nHost: x\r\n",
        b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nhalf",
    ],
    ids=["a byte", "half a head", "half a body"],
)
def test_mg9_slow_clients_shut_no_port(listen, part):
    """As many as there are places, and more, with a request that never ends."""
    options = {"methods": ("GET", "POST"), "max_body_bytes": lambda _: 100}
    listener = listen(echo, max_connections=8, **options)
    slow = []
    for _ in range(40):
        slow.append(socket.create_connection(ports(listener), timeout=10))
        slow[-1].sendall(part)
    for _ in range(5):
        with closing(connect(listener)) as connection:
            assert ask(connection) == (200, b"/")
    for one in slow:
        one.close()


def test_mg9_probes_are_answered_while_slow_readers_hold_all_else(listen):
    """Readers of a long answer who do not take it: each is a request under way."""
    long = bytes(64 << 20)

    def answer(request):
        return ServerResponse(200, b"ok" if request.target == "/healthz" else long)

    listener = listen(
        answer, max_connections=3, is_urgent=lambda target: target == "/healthz"
    )
    readers = [socket.create_connection(ports(listener), timeout=10) for _ in range(3)]
    for one in readers:
        one.sendall(b"GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n")
        assert one.recv(12) == b"HTTP/1.1 200"
    with closing(connect(listener)) as connection:
        assert ask(connection, "/metrics")[0] == 503
    for _ in range(20):
        with closing(connect(listener)) as connection:
            assert ask(connection, "/healthz") == (200, b"ok")
    for one in readers:
        one.close()


ACCEPT = socket.socket.accept


def shortage(monkeypatch, *failures):
    """`accept` fails so, and works again after that; how many failures are left."""
    left = list(failures)

    def accept(server):
        if left:
            raise OSError(left.pop(0), "short of it")
        return ACCEPT(server)

    monkeypatch.setattr(socket.socket, "accept", accept)
    return left


@pytest.mark.parametrize(
    "failure",
    [errno.EMFILE, errno.ENFILE, errno.ECONNABORTED, errno.ENOBUFS, errno.EPROTO],
    ids=errno.errorcode.get,
)
def test_what_a_machine_is_short_of_ends_no_listener(listen, monkeypatch, failure):
    left = shortage(monkeypatch, *[failure] * 3)
    listener = listen(echo)
    with closing(connect(listener)) as connection:
        assert ask(connection)[0] == 200
    assert (left, listener.lost()) == ([], "")


def test_a_thread_that_cannot_be_had_is_one_connection_lost(listen, monkeypatch):
    start, refusals = threading.Thread.start, ["no", "no"]
    listener = listen(echo, max_connections=1)

    def starts(thread):
        if refusals and thread.name.startswith("Thread-"):
            refusals.pop()
            raise RuntimeError("can't start new thread")
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", starts)
    for _ in range(2):
        with closing(connect(listener)) as refused, pytest.raises(OSError):
            ask(refused)
    with closing(connect(listener)) as connection:
        assert ask(connection)[0] == 200


def test_descriptors_of_who_asks_nothing_are_freed(listen, monkeypatch):
    listener = listen(echo)
    shortage(monkeypatch, errno.EMFILE)  # from the second on: one accept is under way
    with socket.create_connection(ports(listener), timeout=10) as silent:
        assert silent.recv(1) == b""
    with closing(connect(listener)) as connection:
        assert ask(connection)[0] == 200


def test_a_listener_that_is_gone_says_so_and_liveness_fails(listen):
    listener = listen(echo)
    listener.name = "endpoints"
    alive = ListenersAlive([listener])
    assert alive().ok
    listener._server.socket.shutdown(socket.SHUT_RDWR)  # as if it broke
    until(listener.lost)
    assert not alive().ok
    assert alive().details == (f"endpoints: {listener.lost()}",)


def test_connections_in_a_request_give_way_to_none(listen):
    inside, go = threading.Event(), threading.Event()

    def held(request):
        inside.set()
        go.wait(10)
        return ServerResponse(200)

    listener = listen(held, max_connections=1)
    answers = []

    def wait():
        with closing(connect(listener)) as connection:
            answers.append(ask(connection)[0])

    thread = threading.Thread(target=wait)
    thread.start()
    inside.wait(10)
    with closing(connect(listener)) as refused:
        assert ask(refused) == (503, b"Service Unavailable\n")
    go.set()
    thread.join(10)
    assert answers == [200]


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ("Content-Length: many", 400),
        ("Content-Length: -1", 400),
        ("Transfer-Encoding: chunked", 411),
    ],
)
def test_bodies_of_no_known_length_are_refused(listen, headers, status):
    listener = listen(echo, methods=("POST",))
    with socket.create_connection(("127.0.0.1", listener.port), timeout=10) as client:
        client.sendall(f"POST / HTTP/1.1\r\nHost: a\r\n{headers}\r\n\r\nx".encode())
        assert client.recv(1000).startswith(f"HTTP/1.1 {status} ".encode())


def test_a_client_that_leaves_within_its_body_is_no_request(listen):
    asked = []
    listener = listen(asked.append, methods=("POST",), max_body_bytes=lambda _: 100)
    with socket.create_connection(("127.0.0.1", listener.port), timeout=10) as client:
        client.sendall(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nhalf")
        client.shutdown(socket.SHUT_WR)
        assert client.recv(1000) == b""
    assert asked == []


class Drip:
    """A client that takes a piece a second."""

    def __init__(self):
        self.now, self.taken = 0.0, 0

    def monotonic(self):
        return self.now

    def settimeout(self, seconds):
        assert 0 < seconds <= 5

    def sendall(self, piece):
        self.now += 1
        self.taken += len(piece)


def test_mg9_an_answer_that_is_taken_by_the_drop_is_cut_off():
    client = Drip()
    output = connection_handler._Timed(client, monotonic=client.monotonic)
    output.allow(5)
    assert output.write(b"x" * 1000) == 1000
    with pytest.raises(TimeoutError, match="too slowly"):
        output.write(bytes(1 << 20))
    assert client.taken == 1000 + 4 * (1 << 14)


def test_a_long_answer_arrives_whole(listen):
    long = bytes(range(256)) * (1 << 13)
    listener = listen(lambda _: ServerResponse(200, long))
    with closing(connect(listener)) as connection:
        for _ in range(2):
            assert ask(connection) == (200, long)


def test_an_answer_to_head_has_no_body_to_be_taken_for_the_next(listen):
    listener = listen(echo)
    with closing(connect(listener)) as connection:
        for _ in range(2):
            assert ask(connection, "/a", method="HEAD") == (200, b"")
        assert ask(connection, "/b") == (200, b"/b")


def test_mg9_a_head_is_bounded_as_a_whole(listen):
    """Each line is short enough, and there are not too many of them."""
    asked = threading.Event()
    listener = listen(lambda _: asked.set() or ServerResponse(200))
    line = b"x-%d: " + b"x" * 60_000 + b"\r\n"
    with socket.create_connection(("127.0.0.1", listener.port), timeout=20) as client:
        client.sendall(b"GET / HTTP/1.1\r\n")
        with suppress(OSError):  # it stops reading, and closes
            for number in range(20):
                client.sendall(line % number)
            client.sendall(b"\r\n")
            assert client.recv(1) == b""
    assert not asked.is_set()


def test_an_answer_during_a_stop_is_the_last_of_its_connection(listen):
    begun, goes_on = threading.Event(), threading.Event()

    def slow(_request):
        begun.set()
        assert goes_on.wait(20)
        return ServerResponse(200, b"last")

    listener = listen(slow)
    with closing(connect(listener)) as connection:
        connection.request("GET", "/")
        assert begun.wait(20)
        assert listener.stop(0) == 1
        goes_on.set()
        answer = connection.getresponse()
        assert (answer.read(), answer.getheader("connection")) == (b"last", "close")


def test_mg4_a_listener_that_drains_answers_on_and_leads_clients_elsewhere(listen):
    listener = listen(echo)
    with closing(connect(listener)) as kept, closing(connect(listener)) as new:
        assert ask(kept) == (200, b"/")
        listener.drain()
        for connection in (kept, new):
            connection.request("GET", "/a")
            answer = connection.getresponse()
            assert (answer.read(), answer.getheader("connection")) == (b"/a", "close")
