"""Calls of both clients end in time, however a server keeps them waiting (TH-9)."""

import socket
import threading
import time
from types import SimpleNamespace

import pytest
from azure.core.credentials import AccessToken
from loopreader import listed
from scriptedpeer import Peer

from asoreconcile.azure.arm.client import ArmClient
from asoreconcile.azure.arm.errors import ArmTransportError
from asoreconcile.base import call_limit
from asoreconcile.base.clock import SystemClock
from asoreconcile.base.errors import AsoreconcileError, StoppedError
from asoreconcile.base.objects import ObjectKey
from asoreconcile.base.reconcile_context import Context, DeadlineError, running
from asoreconcile.base.stop_signal import StopSignal
from asoreconcile.kube.client import KubeClient
from asoreconcile.kube.cluster import ClusterConfig
from asoreconcile.kube.errors import TransportError
from asoreconcile.kube.resources import CONFIG_MAPS
from asoreconcile.testing.throwaway_certificates import certificate_authority
from asoreconcile.wire import handle
from asoreconcile.wire.trust import TlsTrust

CLOCK = SystemClock()
ID = "/subscriptions/s/resourceGroups/g"
KEY = ObjectKey("default", "one")
# Far more than any of these calls may take, far less than the clients' own limits.
PATIENCE_SECONDS = 8.0
BEGINNING = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
# An object as either server answers with it.
ONE = b'{"id": "x", "metadata": {"name": "one"}}'
WHOLE = BEGINNING + b"Content-Length: %d\r\n\r\n" % len(ONE) + ONE


def drip(peer, connection, text=b" "):
    while not peer.ended.wait(0.01):
        connection.sendall(text)


def silent(peer, connection):
    peer.read_request(connection)
    peer.ended.wait(30)


def dripping_head(peer, connection):
    peer.read_request(connection)
    connection.sendall(BEGINNING + b"X-Slow: ")
    drip(peer, connection, b"x")


def dripping_body(peer, connection):
    peer.read_request(connection)
    connection.sendall(BEGINNING + b"Content-Length: 100000\r\n\r\n")
    drip(peer, connection)


def dripping_chunks(peer, connection):
    peer.read_request(connection)
    connection.sendall(BEGINNING + b"Transfer-Encoding: chunked\r\n\r\n")
    drip(peer, connection, b"1\r\n \r\n")


def dripping_without_a_length(peer, connection):
    peer.read_request(connection)
    connection.sendall(BEGINNING + b"Connection: close\r\n\r\n{}")
    drip(peer, connection)


SLOW = [
    silent,
    dripping_head,
    dripping_body,
    dripping_chunks,
    dripping_without_a_length,
]


class Credential:
    def get_token(self, *scopes, **options):
        return AccessToken("t", int(time.time()) + 3600)


@pytest.fixture(scope="module")
def authority():
    return certificate_authority()


@pytest.fixture
def certificate(authority, tmp_path, monkeypatch):
    bundle = tmp_path / "ca.pem"
    bundle.write_bytes(authority.pem)
    for name in ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "HTTPS_PROXY", "https_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("SSL_CERT_FILE", str(bundle))
    return authority.issue(["127.0.0.1", "localhost"])


class Azure:
    """One read and one write of the ARM client."""

    def __init__(self, url, authority, **options):
        self.client = ArmClient(url, Credential(), scope="s", clock=CLOCK)

    def read(self):
        return self.client.get(ID, "1")

    def write(self):
        return self.client.put(ID, "1", {})


class Kubernetes:
    """One read and one write of the Kubernetes client."""

    def __init__(self, url, authority, **options):
        config = ClusterConfig(url, lambda: TlsTrust(authority.pem), lambda: "")
        self.client = KubeClient(config, user_agent="test", **options)

    def read(self):
        return self.client.get(CONFIG_MAPS, KEY)

    def write(self):
        return self.client.patch(CONFIG_MAPS, KEY, {})


BOTH = pytest.mark.parametrize("kind", [Azure, Kubernetes])


@pytest.fixture
def connect(authority, certificate):
    opened = []

    def open_to(kind, script, *, tls=True, host="127.0.0.1", **options):
        peer = Peer(script, certificate if tls else None)
        port = peer.listener.getsockname()[1]
        client = kind(f"https://{host}:{port}", authority, **options)
        opened.append((peer, client))
        return peer, client

    yield open_to
    for peer, client in opened:
        client.client.close()
        peer.close()


def timed(call, context=None):
    """What a call raised, and that it was over in time."""
    began = time.monotonic()
    with running(context), pytest.raises(AsoreconcileError) as caught:
        call()
    assert time.monotonic() - began < PATIENCE_SECONDS
    return caught.value


def in_reconcile(seconds=0.3, stop=None):
    return Context(CLOCK, deadline=CLOCK.monotonic() + seconds, stop=stop)


@BOTH
@pytest.mark.parametrize("method", ["read", "write"])
@pytest.mark.parametrize("script", SLOW)
def test_th9_a_call_ends_with_its_reconcile(connect, kind, method, script):
    _, client = connect(kind, script)
    error = timed(getattr(client, method), in_reconcile())
    assert isinstance(error, ArmTransportError | TransportError)
    assert "timed out after 0." in str(error)


@BOTH
def test_th9_a_handshake_ends_with_its_reconcile(connect, kind):
    def mute(peer, connection):
        peer.ended.wait(30)

    _, client = connect(kind, mute, tls=False)
    assert isinstance(
        timed(client.read, in_reconcile()), ArmTransportError | TransportError
    )


@BOTH
@pytest.mark.parametrize("reason", ["deadline", "stop"])
def test_th9_nobody_waits_for_a_resolver_beyond_the_own_time(
    connect, kind, reason, monkeypatch
):
    asked, go_on = threading.Event(), threading.Event()
    real = socket.getaddrinfo

    def slow(host, *args, **options):
        if host != "localhost":
            return real(host, *args, **options)
        asked.set()
        assert go_on.wait(30)
        return real(host, *args, **options)

    monkeypatch.setattr(socket, "getaddrinfo", slow)
    _, client = connect(kind, silent, host="localhost")
    stop = StopSignal()
    if reason == "stop":
        threading.Thread(target=lambda: (asked.wait(30), stop.stop())).start()
    error = timed(client.read, in_reconcile(0.3 if reason == "deadline" else 60, stop))
    go_on.set()
    if reason == "stop":
        assert isinstance(error, StoppedError)
    else:
        assert isinstance(error, ArmTransportError | TransportError | DeadlineError)


@BOTH
def test_th9_nothing_is_sent_when_there_is_no_time_left(connect, kind):
    peer, client = connect(kind, silent)
    error = timed(client.read, in_reconcile(0.0))
    assert isinstance(error, ArmTransportError | DeadlineError)
    assert peer.requests == []


@pytest.mark.parametrize("script", SLOW)
def test_read_seconds_are_for_the_whole_call(connect, script):
    _, client = connect(Kubernetes, script, read_seconds=0.3)
    assert "timed out after 0.3 s" in str(timed(client.read))


def test_read_seconds_include_the_retries(connect):
    """Each try breaks off a moment before its own limit."""

    def breaking(peer, connection):
        peer.read_request(connection)
        peer.ended.wait(0.2)

    peer, client = connect(Kubernetes, breaking, read_seconds=0.3)
    timed(client.read)
    assert 1 <= len(peer.requests) <= 2


def test_a_call_s_time_ends_with_it_and_does_not_bind_the_next_on_its_connection(
    connect, monkeypatch
):
    """The clock of limits is the test's: the first call's time is over in its answer."""
    ahead = [0.0]
    real = time.monotonic
    passing = SimpleNamespace(monotonic=lambda: real() + ahead[0])
    for module in (call_limit, handle):
        monkeypatch.setattr(module, "time", passing)
    connections = set()

    def answering(peer, connection):
        connections.add(connection)
        while peer.read_request(connection):
            peer.ended.wait(0.1)  # so that the client waits, and looks at the time
            connection.sendall(WHOLE)

    _, client = connect(Kubernetes, answering)
    for _ in range(2):
        with running(in_reconcile(60)):
            client.read()
        ahead[0] += 61.0  # its limit is over, as for whoever still goes by it
    assert len(connections) == 1


def test_a_watch_goes_on_for_longer_than_a_call_may_take(connect):
    def watching(peer, connection):
        peer.read_request(connection)
        connection.sendall(BEGINNING + b"Transfer-Encoding: chunked\r\n\r\n")
        for _ in range(3):
            peer.ended.wait(0.8)
            connection.sendall(b'19\r\n{"type":"A","object":{}}\n\r\n')
        connection.sendall(b"0\r\n\r\n")

    _, client = connect(Kubernetes, watching, read_seconds=2.0)
    watch = client.client.watch(CONFIG_MAPS, timeout_seconds=10)
    assert list(watch) == [("A", {})] * 3


def test_the_head_of_a_watch_comes_in_time_or_not_at_all(connect):
    _, client = connect(Kubernetes, silent, read_seconds=0.3)
    error = timed(lambda: client.client.watch(CONFIG_MAPS, timeout_seconds=300))
    assert isinstance(error, TransportError)


def test_a_list_that_drips_comes_to_an_end(connect, monkeypatch):
    from asoreconcile.kube import rest_client

    monkeypatch.setattr(rest_client, "_LIST_SECONDS", 0.3)
    _, client = connect(Kubernetes, dripping_chunks)

    def read_all():
        listed(client.client, CONFIG_MAPS)

    assert isinstance(timed(read_all), TransportError)


@BOTH
@pytest.mark.parametrize("script", SLOW)
def test_th9_a_stop_breaks_off_a_read_that_hangs(connect, kind, script, monkeypatch):
    monkeypatch.setattr(call_limit, "READ_SECONDS_AFTER_STOP", 0.05)
    peer, client = connect(kind, script)
    stop = StopSignal()
    stopper = threading.Thread(target=stop_once_asked, args=(peer, stop, 60))
    stopper.start()
    assert isinstance(timed(client.read, in_reconcile(60, stop)), StoppedError)
    stopper.join(10)


@BOTH
def test_th9_a_write_that_hangs_ends_with_the_stop(connect, kind):
    peer, client = connect(kind, silent)
    stop = StopSignal()
    stopper = threading.Thread(target=stop_once_asked, args=(peer, stop, 0.3))
    stopper.start()
    assert isinstance(timed(client.write, in_reconcile(60, stop)), StoppedError)
    stopper.join(10)


@BOTH
def test_a_write_under_way_at_a_stop_gets_its_answer(connect, kind, monkeypatch):
    """Else nobody would know what was done."""
    monkeypatch.setattr(call_limit, "READ_SECONDS_AFTER_STOP", 0.0)
    stop = StopSignal()

    def answering(peer, connection):
        while peer.read_request(connection):
            stop.stop(CLOCK.monotonic() + 30)
            peer.ended.wait(0.2)
            connection.sendall(WHOLE)

    _, client = connect(kind, answering)
    with running(in_reconcile(60, stop)):
        client.write()
        client.write()  # and the next one, which may tell of the first


@BOTH
def test_a_write_after_a_stop_may_open_a_connection_to_a_name(connect, kind):
    """What was done is to be written down, and the pool may be empty by then."""

    def answering(peer, connection):
        # Until the client goes: a connection closed over a body nobody read is reset,
        # and the answer may be lost with it.
        while peer.read_request(connection):
            connection.sendall(WHOLE)

    _, client = connect(kind, answering, host="localhost")
    stop = StopSignal()
    stop.stop(CLOCK.monotonic() + 30)
    with running(in_reconcile(60, stop)):
        client.write()


def stop_once_asked(peer, stop, seconds):
    until = time.monotonic() + 10
    while not peer.requests and time.monotonic() < until:
        peer.ended.wait(0.005)
    stop.stop(CLOCK.monotonic() + seconds)
