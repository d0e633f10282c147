"""Reviews of any client of the port: bounded work, while normal reviews go on.

Attackers call from addresses of their own, as pods do.
"""

import socket
import ssl
import threading
from contextlib import ExitStack, suppress

import orjson
import pytest
from applications import until

from asoreconcile.base.clock import SystemClock
from asoreconcile.testing.throwaway_certificates import certificate_authority
from asoreconcile.webhooks.admission import Allowed
from asoreconcile.webhooks.server import WebhookLimits, WebhookServer
from asoreconcile.webhooks.serving_certificates import FileCertificates

AUTHORITY = certificate_authority()
CERTIFICATE = AUTHORITY.issue(["localhost", "127.0.0.1"])
MIB = 1 << 20
API_SERVER, ATTACKER = "127.0.0.1", "127.0.0.2"


@pytest.fixture
def serve(tmp_path):
    with ExitStack() as running:

        def start(**limits):
            for name, pem in zip(("tls.crt", "tls.key"), CERTIFICATE, strict=True):
                (tmp_path / name).write_bytes(pem)
            server = WebhookServer(
                "127.0.0.1:0",
                certificates=FileCertificates(tmp_path),
                clock=SystemClock(),
                limits=WebhookLimits(**limits),
            )
            server.convert("/convert", lambda obj, to: {**obj, "apiVersion": to})
            server.validate("/validate", lambda _: Allowed())
            server.start()
            running.callback(server.stop, 5)
            return server

        yield start


def connect(server, address=API_SERVER, *, buffer_bytes=None):
    context = ssl.create_default_context(cadata=AUTHORITY.pem.decode())
    plain = socket.socket()
    plain.settimeout(60)
    if buffer_bytes:
        plain.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer_bytes)
    plain.bind((address, 0))
    plain.connect(("127.0.0.1", server.port))
    return context.wrap_socket(plain, server_hostname="127.0.0.1")


def head(path, length):
    return (
        f"POST {path} HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
        f"Content-Length: {length}\r\n\r\n"
    ).encode()


def posted(server, path, body, address=API_SERVER):
    """The response to one review."""
    with connect(server, address) as connection:
        connection.sendall(head(path, len(body)) + body)
        answer = connection.makefile("rb")
        assert answer.readline().split()[1] == b"200"
        length = 0
        while (line := answer.readline()) != b"\r\n":
            name, _, value = line.partition(b":")
            length = int(value) if name.lower() == b"content-length" else length
        return orjson.loads(answer.read(length))["response"]


def conversion(objects, desired="demo.example.com/v2"):
    return (
        b'{"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/v1","request":'
        b'{"uid":"u","desiredAPIVersion":"%s","objects":%s}}'
        % (desired.encode(), objects)
    )


def admission(obj):
    return (
        b'{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":'
        b'{"uid":"u","operation":"CREATE","kind":{"kind":"W"},"object":%s}}' % obj
    )


WIDGET = {
    "apiVersion": "demo.example.com/v1",
    "kind": "Widget",
    "metadata": {"name": "one", "namespace": "shop"},
    "spec": {"text": "x" * 3000, "list": [{"a": 1}] * 20},
}


def widgets(count):
    one = orjson.dumps(WIDGET)
    return b"[" + b",".join([one] * count) + b"]"


def listed(piece, size):
    return b"[" + b",".join([piece] * (size // (len(piece) + 1))) + b"]"


# A body of an eighth of the default limit; bombs of the whole are in tests/security.
BODY_BYTES = 8 * MIB
LONG = BODY_BYTES - MIB // 8
BOMBS = {
    "lists for objects": (lambda: conversion(listed(b"[]", LONG)), 400),
    "tiny objects": (lambda: conversion(listed(b"{}", LONG)), 400),
    "no review": (lambda: listed(b"[]", LONG), 413),
    "a long object": (lambda: conversion(b'[{"a":%s}]' % listed(b"[]", LONG)), 413),
    "lists": (lambda: conversion(b'[{"a":%s}]' % listed(b"[]", 6 * MIB)), 413),
    "depth": (lambda: conversion(b"[" + b'{"a":' * MIB), 413),
    "a long string": (lambda: b'{"a":"' + b"x" * LONG + b'"}', 413),
}


@pytest.mark.parametrize(("body", "code"), BOMBS.values(), ids=BOMBS)
def test_th7_a_bomb_is_refused_before_it_is_parsed(serve, body, code):
    server = serve(max_conversion_bytes=BODY_BYTES)
    response = posted(server, "/convert", body(), ATTACKER)
    assert response["result"]["code"] == code


@pytest.mark.parametrize("piece", [b"[]", b"["], ids=["lists", "depth"])
def test_th7_an_admission_that_is_a_bomb_is_refused_before_it_is_parsed(serve, piece):
    body = admission(b'{"a":%s}' % listed(piece, 6 * MIB))
    assert posted(serve(), "/validate", body, ATTACKER)["status"]["code"] == 413


def test_wh6_a_page_of_sixty_mib_is_converted(serve):
    """An API server may send a whole page at once."""
    count = 60 * MIB // len(orjson.dumps(WIDGET))
    response = posted(serve(), "/convert?timeout=30s", conversion(widgets(count)))
    assert response["result"]["status"] == "Success"
    assert len(response["convertedObjects"]) == count
    assert {one["apiVersion"] for one in response["convertedObjects"]} == {
        "demo.example.com/v2"
    }


def test_wh6_the_longest_object_of_an_api_server_is_converted(serve):
    objects = b'[{"apiVersion":"demo.example.com/v1","kind":"W","a":%s}]'
    longest = conversion(objects % listed(b"[]", 3 * MIB))
    result = posted(serve(), "/convert?timeout=30s", longest)["result"]
    assert result == {"metadata": {}, "status": "Success"}
    new = admission(
        b'{"a":%s},"oldObject":{"a":%s}'
        % (listed(b"[]", 3 * MIB), listed(b"{}", MIB * 3 // 2))
    )
    assert posted(serve(), "/validate", new)["allowed"]


def test_mg9_slow_readers_of_another_address_stop_no_review(serve, monkeypatch):
    monkeypatch.setattr("asoreconcile.webhooks.server._CONNECTIONS", 8)
    server = serve()
    # Longer than the buffers of both sides.
    page = conversion(widgets(1600))
    with ExitStack() as held:
        for _ in range(10):
            reader = connect(server, ATTACKER, buffer_bytes=4096)
            held.enter_context(reader)
            try:
                reader.sendall(head("/convert", len(page)) + page)
            except OSError:
                continue  # it lost its place to the next one
        for _ in range(5):
            response = posted(server, "/convert", conversion(widgets(100)))
            assert response["result"]["status"] == "Success"


def test_mg9_bodies_that_never_come_stop_no_review(serve):
    server = serve()
    with ExitStack() as held:
        for _ in range(90):
            writer = held.enter_context(connect(server, ATTACKER))
            writer.sendall(head("/convert", 64 * MIB))
        small = posted(server, "/convert", conversion(widgets(10)))
        large = posted(server, "/convert", conversion(widgets(1000)))
    assert small["result"]["status"] == large["result"]["status"] == "Success"


def test_th7_a_caller_with_many_conversions_waits_for_its_turn(serve):
    """The one review of another caller is not behind all of them."""
    server = serve(max_conversions=1)
    page, done = conversion(widgets(6000)), []

    def flood():
        # One that reads too slowly gives way to the next.
        with suppress(OSError, AssertionError, IndexError):
            done.append(posted(server, "/convert?timeout=30s", page, ATTACKER))

    threads = [threading.Thread(target=flood) for _ in range(4)]
    for thread in threads:
        thread.start()
    until(lambda: server._work._conversions._waiting)
    response = posted(server, "/convert", conversion(widgets(10)))
    assert response["result"]["status"] == "Success"
    assert len(done) < len(threads)
    for thread in threads:
        thread.join(60)
