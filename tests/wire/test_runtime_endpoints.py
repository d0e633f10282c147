"""The endpoints over real HTTP."""

import http.client
import socket

import pytest
from prometheus_client import CollectorRegistry, Counter

from asoreconcile.runtime.endpoints import Endpoints
from asoreconcile.runtime.health import CheckResult, HealthChecks
from asoreconcile.serving.listener import ListenError


@pytest.fixture
def endpoints(request):
    registry = CollectorRegistry()
    Counter("seen_total", "Seen", registry=registry).inc()
    readyz = HealthChecks("readyz")
    readyz.add("caches", lambda: CheckResult(ok=False, details=("VNet: not synced",)))
    served = Endpoints(
        "127.0.0.1:0",
        registry=registry,
        checks=(HealthChecks("healthz"), readyz),
        read_seconds=getattr(request, "param", 10.0),
    )
    served.start()
    yield served
    assert served.stop(1) == []


def ask(endpoints, target, *, method="GET", headers=None):
    connection = http.client.HTTPConnection("127.0.0.1", endpoints.port, timeout=10)
    try:
        connection.request(method, target, headers=headers or {})
        response = connection.getresponse()
        return response, response.read().decode()
    finally:
        connection.close()


@pytest.mark.parametrize(
    ("target", "status", "body"),
    [
        ("/healthz", 200, "ok"),
        ("/healthz/", 200, "ok"),
        ("/healthz/ping", 200, "ok"),
        ("/healthz?verbose", 200, "[+]ping ok\nhealthz check passed\n"),
        (
            "/readyz",
            500,
            "[-]caches failed: reason withheld\nreadyz check failed\n",
        ),
        (
            "/readyz?verbose=1",
            500,
            "[-]caches failed\n    VNet: not synced\nreadyz check failed\n",
        ),
        ("/readyz?exclude=caches", 200, "ok"),
        ("/readyz/caches", 500, "[-]caches failed: reason withheld\n"),
        ("/readyz/unknown", 404, "not found\n"),
        ("/", 404, "not found\n"),
        ("/metricsx", 404, "not found\n"),
    ],
)
def test_mg7_health(endpoints, target, status, body):
    response, text = ask(endpoints, target)
    assert (response.status, text) == (status, body)
    assert response.headers["Content-Type"] == "text/plain; charset=utf-8"


def test_mg8_metrics_in_the_format_asked_for(endpoints):
    response, text = ask(endpoints, "/metrics")
    assert response.status == 200
    assert "seen_total 1.0" in text.splitlines()
    assert response.headers["Content-Type"].startswith("text/plain")
    accept = "application/openmetrics-text; version=1.0.0"
    response, text = ask(endpoints, "/metrics", headers={"accept": accept})
    assert response.headers["Content-Type"].startswith("application/openmetrics-text")
    assert text.endswith("# EOF\n")


def test_head_has_no_body_and_other_methods_are_refused(endpoints):
    response, text = ask(endpoints, "/healthz", method="HEAD")
    assert (response.status, text) == (200, "")
    assert ask(endpoints, "/healthz", method="POST")[0].status == 405


@pytest.mark.parametrize("address", ["0", ""])
def test_mg8_zero_is_off(address):
    endpoints = Endpoints(address)
    endpoints.start()
    assert endpoints.port == 0
    assert endpoints.stop(1) == []


@pytest.mark.parametrize("address", ["8080", ":http", "host:99999"])
def test_an_address_that_is_none_is_refused(address):
    with pytest.raises(ListenError, match="no address"):
        Endpoints(address)


def test_a_taken_port_is_an_error(endpoints):
    other = Endpoints(f"127.0.0.1:{endpoints.port}")
    with pytest.raises(ListenError, match="cannot listen"):
        other.start()


@pytest.mark.parametrize("endpoints", [0.2], indirect=True)
def test_mg9_a_slow_client_is_cut_off(endpoints):
    with socket.create_connection(("127.0.0.1", endpoints.port), timeout=10) as slow:
        slow.sendall(b"GET /healthz HTTP/1.1\r\nHost: ")
        assert slow.recv(100) == b""


def test_mg9_headers_without_end_are_cut_off(endpoints):
    line = b"X-Filler: " + b"x" * 60_000 + b"\r\n"
    with socket.create_connection(("127.0.0.1", endpoints.port), timeout=10) as client:
        client.sendall(b"GET /healthz HTTP/1.1\r\n")
        try:
            for _ in range(40):
                client.sendall(line)
            answer = client.recv(1000)
        except ConnectionError:
            answer = b""
    assert b"200" not in answer


@pytest.mark.parametrize(
    "lines",
    [
        b"Content-Length: 30\r\nContent-Length: 0\r\n",
        b"Content-Length: 0\r\nTransfer-Encoding: chunked\r\n",
        b"Transfer-Encoding : chunked\r\n",
        b"X: y\r\n Content-Length: 30\r\n",
        b"Host: other\r\n",
        b"X: y\nContent-Length: 30\r\n",
    ],
)
def test_mg11_what_follows_an_ambiguous_head_is_no_request(endpoints, lines):
    first = b"GET /healthz HTTP/1.1\r\nHost: a\r\n" + lines + b"\r\n"
    second = b"GET /healthz?verbose HTTP/1.1\r\nHost: a\r\n\r\n"
    with socket.create_connection(("127.0.0.1", endpoints.port), timeout=10) as client:
        client.sendall(first + second)
        answer = b""
        while piece := client.recv(1 << 16):
            answer += piece
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert b"Connection: close" in answer
    assert answer.count(b"HTTP/1.1 ") == 1


def test_mg11_a_client_that_waits_for_go_gets_it(endpoints):
    head = b"HEAD /healthz HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\n\r\n"
    with socket.create_connection(("127.0.0.1", endpoints.port), timeout=10) as client:
        client.sendall(head)
        answer = b""
        while b"200 OK" not in answer:
            answer += client.recv(1 << 16)
    assert answer.startswith(b"HTTP/1.1 100 Continue\r\n\r\n")


def test_after_stop_nothing_listens(endpoints):
    port = endpoints.port
    endpoints.stop(1)
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port), timeout=10)
