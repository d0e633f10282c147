"""The HTTP server under probes, scrapes and webhooks: connections, bodies, ends."""

import http.client
import socket
import threading
from contextlib import closing, suppress

import pytest

from asoreconcile.serving import handling
from asoreconcile.serving.listener import Listener
from asoreconcile.serving.messages import Request, Response


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
    return Response(200, request.target.encode())


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
        return Response(204)

    listener = listen(answer, methods=("POST",), max_body_bytes=lambda _: 10)
    with closing(connect(listener)) as connection:
        ask(connection, "/x", method="POST", body=b"12345", headers={"X-Kind": "A"})
    (request,) = seen
    assert isinstance(request, Request)
    assert (request.method, request.target, request.body) == ("POST", "/x", b"12345")
    assert request.headers["x-kind"] == "A"
    assert "12345" not in repr(request)


def test_what_an_answer_raises_is_a_500_that_says_nothing(listen, caplog):
    def broken(request):
        raise ValueError("inner details")

    listener = listen(broken)
    with closing(connect(listener)) as connection:
        assert ask(connection) == (500, b"internal error\n")
    assert "inner details" in caplog.text


def test_idle_connections_give_way_to_those_that_ask(listen):
    listener = listen(echo, max_connections=2)
    idle = [socket.create_connection(("127.0.0.1", listener.port)) for _ in range(2)]
    with closing(connect(listener)) as connection:
        assert ask(connection)[0] == 200
    assert idle[0].recv(1) == b""
    for one in idle:
        one.close()


def test_connections_in_a_request_give_way_to_none(listen):
    inside, go = threading.Event(), threading.Event()

    def held(request):
        inside.set()
        go.wait(10)
        return Response(200)

    listener = listen(held, max_connections=1)
    answers = []

    def wait():
        with closing(connect(listener)) as connection:
            answers.append(ask(connection)[0])

    thread = threading.Thread(target=wait)
    thread.start()
    inside.wait(10)
    with closing(connect(listener)) as refused, pytest.raises(OSError):
        ask(refused)
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
        client.sendall(f"POST / HTTP/1.1\r\n{headers}\r\n\r\nx".encode())
        assert client.recv(1000).startswith(f"HTTP/1.1 {status} ".encode())


def test_a_client_that_leaves_within_its_body_is_no_request(listen):
    asked = []
    listener = listen(asked.append, methods=("POST",), max_body_bytes=lambda _: 100)
    with socket.create_connection(("127.0.0.1", listener.port), timeout=10) as client:
        client.sendall(b"POST / HTTP/1.1\r\nContent-Length: 10\r\n\r\nhalf")
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
    output = handling._Timed(client, monotonic=client.monotonic)
    output.allow(5)
    assert output.write(b"x" * 1000) == 1000
    with pytest.raises(TimeoutError, match="too slowly"):
        output.write(bytes(1 << 20))
    assert client.taken == 1000 + 4 * (1 << 14)


def test_a_long_answer_arrives_whole(listen):
    long = bytes(range(256)) * (1 << 13)
    listener = listen(lambda _: Response(200, long))
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
    listener = listen(lambda _: asked.set() or Response(200))
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
        return Response(200, b"last")

    listener = listen(slow)
    with closing(connect(listener)) as connection:
        connection.request("GET", "/")
        assert begun.wait(20)
        assert listener.stop(0) == 1
        goes_on.set()
        answer = connection.getresponse()
        assert (answer.read(), answer.getheader("connection")) == (b"last", "close")
