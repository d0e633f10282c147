"""Our connections beside urllib3's own: the same requests, the same answers."""

import http.client
import socket

import pytest
from urllib3.connection import HTTPConnection

from asoreconcile.http1 import PlainConnection

JSON = b'{"a": 1}'


class Wire:
    """A connection of a class, and the other end of its socket."""

    def __init__(self, cls):
        here, self.there = socket.socketpair()
        self.there.settimeout(10.0)
        self.connection = cls("kube.example", 6443)
        self.connection.timeout = 10.0
        self.connection.sock = here

    def ask(self, *args, **options):
        self.connection.request(*args, **options)
        return self.there.recv(1 << 16)

    def hear(self, answer, method="GET"):
        """What is made of an answer's bytes, after which the server is gone."""
        self.there.sendall(answer)
        self.connection.request(method, "/x")
        self.there.shutdown(socket.SHUT_WR)
        response = self.connection.getresponse()
        return (
            response.status,
            response.reason,
            response.version,
            list(response.headers.items()),
            response.data,
            self.connection.is_closed,
        )

    def close(self):
        self.there.close()
        self.connection.close()


@pytest.fixture
def wire():
    """Makes wires, and closes them."""
    made = []

    def make(cls=PlainConnection):
        made.append(Wire(cls))
        return made[-1]

    yield make
    for one in made:
        one.close()


def split(sent):
    head, _, body = sent.partition(b"\r\n\r\n")
    line, *headers = head.split(b"\r\n")
    return line, sorted(headers), body


@pytest.mark.parametrize(
    ("method", "body", "headers"),
    [
        ("GET", None, {"Accept": "application/json"}),
        ("PATCH", JSON, {"Content-Type": "application/merge-patch+json"}),
        ("POST", None, {}),
        ("DELETE", None, {}),
        ("DELETE", JSON, {}),
        ("PUT", JSON, {"Content-Length": "8"}),
        ("GET", None, {"accept-encoding": "gzip"}),
        ("PUT", "text", {}),
        ("PUT", iter([b"a", b"b"]), {}),
        ("GET", None, {"Host": "other.example"}),
    ],
)
def test_the_same_requests_as_urllib3(wire, method, body, headers):
    headers = {"User-Agent": "us", **headers}
    target = "/api/v1/secrets?fieldManager=us"
    if not isinstance(body, bytes | str | None):
        body = list(body)
    ours = wire().ask(method, target, body=body, headers=headers)
    theirs = wire(HTTPConnection)
    sent = theirs.ask(method, target, body=body, headers=headers)
    while split(ours)[2] != split(sent)[2]:
        sent += theirs.there.recv(1 << 16)  # they send the body apart
    assert split(ours) == split(sent)


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 200 OK\r\nContent-Length: 8\r\nContent-Type: a/b\r\n\r\n" + JSON,
        b"HTTP/1.1 200 OK\r\nContent-Length: 8\r\nContent-Length: 8\r\n\r\n" + JSON,
        b"HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 404 Not Found\r\nWarning: a\r\nwarning: b\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nX: one\r\n  two\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 200 OK\nContent-Length: 8\n\n" + JSON,
        b"HTTP/1.1 200 OK\r\n\r\nuntil the end",
        b"HTTP/1.0 200 OK\r\nContent-Length: 8\r\n\r\n" + JSON,
        b"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 8\r\n\r\n" + JSON,
        b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 8\r\n\r\n" + JSON,
        b"HTTP/1.1 204 No Content\r\nContent-Length: 3\r\n\r\n",
        b"HTTP/1.1 100 Continue\r\nX: y\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n8\r\n" + JSON + b"\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nX: caf\xe9\r\nContent-Length: 0\r\n\r\n",
    ],
)  # fmt: skip
def test_the_same_answers_as_urllib3(wire, answer):
    assert wire().hear(answer) == wire(HTTPConnection).hear(answer)


def test_a_head_is_not_awaited_for_its_body(wire):
    answer = b"HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\n"
    ours = wire().hear(answer, method="HEAD")
    assert ours == wire(HTTPConnection).hear(answer, method="HEAD")
    assert ours[4] == b""


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (b"", http.client.RemoteDisconnected),
        (b"HTTP/1.1 200 OK\r\nContent-Le", http.client.RemoteDisconnected),
        (b"SSH-2.0-OpenSSH\r\n\r\n", http.client.BadStatusLine),
        (b"HTTP/1.1 OK\r\n\r\n", http.client.BadStatusLine),
        (b"HTTP/1.1 200 " + b"x" * 70_000 + b"\r\n\r\n", http.client.LineTooLong),
        (b"HTTP/1.1 200 OK\r\n" + b"a: b\r\n" * 101 + b"\r\n", http.client.HTTPException),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd",
         http.client.HTTPException),
        (b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", http.client.HTTPException),
    ],
)  # fmt: skip
def test_what_is_no_answer_is_refused(wire, answer, error):
    with pytest.raises(error):
        wire().hear(answer)


@pytest.mark.parametrize(
    ("target", "headers"),
    [
        ("/x y", {}),
        ("/x\r\nEvil: 1", {}),
        ("/x", {"Name": "a\r\nEvil: 1"}),
        ("/x", {"Na\r\nme": "a"}),
    ],
)
def test_nothing_of_a_request_ends_its_line(wire, target, headers):
    one = wire()
    with pytest.raises((ValueError, http.client.InvalidURL)):
        one.ask("GET", target, headers=headers)
    one.there.setblocking(False)
    with pytest.raises(BlockingIOError):
        one.there.recv(1)


def test_a_request_and_its_body_are_one_write():
    written = []

    class Socket:
        def settimeout(self, seconds):
            pass

        def sendall(self, data):
            written.append(data)

    connection = PlainConnection("::1", 443)
    connection.sock = Socket()
    connection.request("PATCH", "/x", body=JSON, headers={})
    assert len(written) == 1
    assert b"\r\nHost: [::1]:443\r\n" in written[0]
    assert written[0].endswith(b"\r\n\r\n" + JSON)


def test_a_further_request_on_the_same_connection(wire):
    one = wire()
    for _ in range(2):
        one.there.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\n" + JSON)
        one.connection.request("GET", "/x")
        assert one.connection.getresponse().data == JSON
        assert not one.connection.is_closed
