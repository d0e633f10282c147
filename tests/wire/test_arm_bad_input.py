"""What no server should answer, over TLS: each an error that names the request.

Nothing hangs, nothing is taken for a result, and nothing is left behind.
"""

import gc
import gzip
import threading
import time
import tracemalloc
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import orjson
import pytest
from azure.core.credentials import AccessToken

from asoreconcile.azure.arm.classification import classify
from asoreconcile.azure.arm.client import ArmClient
from asoreconcile.azure.arm.errors import ArmError, ArmTransportError
from asoreconcile.azure.arm.outcomes import Failed, OperationDone, Pending, ReadResource
from asoreconcile.azure.arm.tokens import RESOURCE, Token, TokenShape
from asoreconcile.azure.arm.transport import ArmTransport
from asoreconcile.base.clock import SystemClock
from asoreconcile.base.errors import AsoreconcileError
from asoreconcile.testing.http import HttpResponse, HttpsServer
from asoreconcile.testing.throwaway_certificates import certificate_authority

ID = "/subscriptions/s/resourceGroups/g"
MEGABYTE = 1 << 20


class Credential:
    def get_token(self, *scopes, **options):
        return AccessToken("token", int(time.time()) + 3600)


class Server(HttpsServer):
    """Answers what `response` is; remembers what came."""

    def __init__(self, certificate):
        self.seen, self.response = [], HttpResponse(200, b"{}")
        super().__init__(self._answer, certificate=certificate)

    def _answer(self, request):
        self.seen.append(request)
        return self.response


@pytest.fixture(scope="module")
def authority():
    return certificate_authority()


@pytest.fixture
def bundle(authority, tmp_path, monkeypatch):
    (tmp_path / "ca.pem").write_bytes(authority.pem)
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(tmp_path / "ca.pem"))


@pytest.fixture
def server(authority, bundle):
    with Server(authority.issue(["127.0.0.1"])) as made:
        yield made


def connect(server, **options):
    return ArmClient(
        server.url, Credential(), scope="s", clock=SystemClock(), **options
    )


@pytest.fixture
def client(server):
    made = connect(server)
    yield made
    made.close()


@pytest.fixture
def impatient(server):
    """A client that waits for a fraction of a second, as others do for 90 s."""
    transport = ArmTransport(url=server.url, read_seconds=0.3)
    made = connect(server, transport=transport)
    made.get(ID, "1")
    yield made
    made.close()


def token(server):
    return Token(
        TokenShape.ASYNC, RESOURCE, f"{server.url}{ID}/operations/o?s=1", "Running"
    )


BAD_BODIES = {
    "html": b"<html><body>Bad gateway</body></html>",
    "truncated": b'{"id": "/subscriptions',
    "text": b"OK",
    "binary": bytes(range(256)),
    "utf-16": '{"id": 1}'.encode("utf-16"),
    "deep": b"[" * 200_000,
    "number": b"7",
    "list": b'[{"id": 1}]',
    "string": b'"id"',
    "nothing": b"",
    "null": b"null",
}


@pytest.mark.parametrize("content", BAD_BODIES.values(), ids=BAD_BODIES)
def test_a_read_of_what_is_no_object_names_the_request(server, client, content):
    server.response = HttpResponse(200, content)
    with pytest.raises(ArmError) as caught:
        client.get(ID, "1")
    assert f"GET {server.url}{ID}: 200" in str(caught.value)
    assert "a proxy" in str(caught.value)
    assert classify(caught.value).severity == "Warning"


@pytest.mark.parametrize("content", BAD_BODIES.values(), ids=BAD_BODIES)
@pytest.mark.parametrize("status", [400, 404, 409, 500])
def test_a_refusal_keeps_its_status_whatever_its_body(server, client, content, status):
    server.response = HttpResponse(status, content)
    with pytest.raises(ArmError) as caught:
        client.put(ID, "1", {})
    assert (caught.value.status, caught.value.method) == (status, "PUT")
    assert classify(caught.value).message
    assert len(classify(caught.value).message) < 17_000


@pytest.mark.parametrize("content", BAD_BODIES.values(), ids=BAD_BODIES)
def test_an_accepted_write_is_looked_at_again(server, client, content):
    """Azure took it, so it must be neither lost nor sent again blindly."""
    server.response = HttpResponse(202, content, {"x-ms-request-id": "1"})
    assert isinstance(client.put(ID, "1", {}), Pending)
    assert isinstance(client.delete(ID, "1"), ReadResource)


@pytest.mark.parametrize("content", BAD_BODIES.values(), ids=BAD_BODIES)
def test_a_poll_keeps_its_token(server, client, content):
    server.response = HttpResponse(200, content)
    outcome = client.poll(token(server))
    assert isinstance(outcome, Pending)
    assert outcome.token == token(server)
    assert f"GET {server.url}{ID}/operations/o: 200" in str(outcome.read_error)


WRONG_TYPES = {
    "status": {"status": 7},
    "error": {"status": "Failed", "error": 7},
    "codes": {"status": "Failed", "error": {"code": [], "message": {}}},
    "details": {"status": "Failed", "error": {"details": {"a": 1}, "innererror": 3}},
    "properties": {"id": ID, "properties": []},
    "state": {"id": ID, "properties": {"provisioningState": {"a": 1}}},
    "id": {"id": 7, "properties": {"provisioningState": 7}},
}


@pytest.mark.parametrize("body", WRONG_TYPES.values(), ids=WRONG_TYPES)
def test_wrong_types_have_an_outcome(server, client, body):
    server.response = HttpResponse(200, orjson.dumps(body))
    assert isinstance(client.put(ID, "1", {}), OperationDone | Pending | Failed)
    assert isinstance(client.poll(token(server)), OperationDone | Pending | Failed)
    if body.keys() & {"id", "name", "properties"}:
        judged = client.judge(ID, "1", deleting=False)
        assert isinstance(judged, OperationDone | Pending | Failed)
    else:
        with pytest.raises(ArmError, match="shows no resource"):
            client.judge(ID, "1", deleting=False)


@pytest.mark.parametrize("status", [400, 409, 429])
def test_wrong_types_in_an_error_are_read_over(server, client, status):
    for body in WRONG_TYPES.values():
        server.response = HttpResponse(status, orjson.dumps(body))
        with pytest.raises(ArmError) as caught:
            client.get(ID, "1")
        assert isinstance(caught.value.code, str)


HEADERS = {
    "location": {"Location": "::: no url"},
    "async": {"Azure-AsyncOperation": "http://[broken"},
    "port": {"Location": "https://127.0.0.1:notaport/x"},
    "user": {"Azure-AsyncOperation": "https://a:b@evil.example/x"},
    "script": {"Location": "javascript:alert(1)"},
    "empty": {"Location": "", "Azure-AsyncOperation": ""},
    "long": {"Location": "https://evil.example/" + "x" * 60_000},
}


@pytest.mark.parametrize("headers", HEADERS.values(), ids=HEADERS)
def test_monitors_that_are_none_are_not_followed(server, client, headers):
    server.response = HttpResponse(202, b"{}", headers)
    outcome = client.put(ID, "1", {})
    assert isinstance(outcome, Pending)
    assert outcome.token.url.startswith(f"{server.url}{ID}")


@pytest.mark.parametrize(
    "value", ["", "-1", "soon", "1e999", "9" * 400, "Thu, 99 Foo 2026 99:99:99 GMT"]
)
def test_a_delay_that_is_none_is_a_delay_of_ours(server, client, value):
    headers = {"Azure-AsyncOperation": token(server).url, "Retry-After": value}
    server.response = HttpResponse(202, b"{}", headers)
    assert 1.0 <= client.put(ID, "1", {}).delay_seconds <= 600.0


def test_a_hundred_megabytes_are_given_up_and_not_kept(server, client):
    sent = []

    def stream():
        for _ in range(100):
            sent.append(MEGABYTE)
            yield b"x" * MEGABYTE

    client.get(ID, "1")
    tracemalloc.start()
    server.response = HttpResponse(200, stream())
    with pytest.raises(ArmTransportError, match=f"GET {server.url}{ID}") as caught:
        client.get(ID, "1")
    _, peak = tracemalloc.get_traced_memory()
    del caught
    gc.collect()
    left, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 80 * MEGABYTE
    assert left < 8 * MEGABYTE
    assert len(sent) < 60
    server.response = HttpResponse(200, b"{}")
    assert client.get(ID, "1") == {}


def test_a_small_body_that_unpacks_to_a_hundred_megabytes_is_given_up(server, client):
    packed = gzip.compress(b" " * (100 * MEGABYTE), 1)
    server.response = HttpResponse(200, packed, {"Content-Encoding": "gzip"})
    with pytest.raises(ArmTransportError, match="bytes long"):
        client.get(ID, "1")


@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
def test_a_body_that_is_not_packed_as_it_says_is_no_answer(server, client, encoding):
    server.response = HttpResponse(200, b'{"a": 1}', {"Content-Encoding": encoding})
    with pytest.raises(ArmTransportError, match=f"GET {server.url}{ID}"):
        client.get(ID, "1")


@pytest.mark.parametrize("length", ["nonsense", "1000"])
def test_a_length_that_is_wrong_is_no_answer(server, impatient, length):
    server.response = HttpResponse(200, b"{}", {"Content-Length": length})
    with pytest.raises(AsoreconcileError, match=f"GET {server.url}{ID}"):
        impatient.get(ID, "1")


def test_a_list_in_a_circle_ends(server, client):
    following = f"{server.url}{ID}/things?page=2"
    server.response = HttpResponse(
        200, orjson.dumps({"value": [], "nextLink": following})
    )
    with pytest.raises(ArmError, match="circle"):
        list(client.list(f"{ID}/things", "1"))
    assert len(server.seen) == 2


@pytest.mark.parametrize("hours", [-48, 48])
def test_a_server_whose_clock_is_wrong_is_waited_for_by_its_own(server, client, hours):
    now = datetime.now(UTC) + timedelta(hours=hours)
    later = now + timedelta(seconds=30)
    headers = {
        "Date": format_datetime(now, usegmt=True),
        "Retry-After": format_datetime(later, usegmt=True),
        "Azure-AsyncOperation": token(server).url,
    }
    server.response = HttpResponse(202, b"{}", headers)
    assert client.put(ID, "1", {}).delay_seconds == pytest.approx(30, abs=1)


def dated(authority, begin, days):
    """A certificate of a trusted authority that holds from a day on."""
    now = datetime.now(UTC) + timedelta(days=begin)
    return authority._authority.issue(["127.0.0.1"], now=now, days=days)


@pytest.mark.parametrize(
    ("certificate", "said"),
    [
        (lambda a: dated(a, -9, 8), "certificate has expired"),
        (lambda a: dated(a, 2, 8), "not yet valid"),
        (lambda a: a.issue(["management.azure.com"]), "subject name matches"),
        (lambda _: certificate_authority().issue(["127.0.0.1"]), "local issuer"),
    ],
    ids=["expired", "not-yet", "another-host", "untrusted"],
)
def test_a_certificate_that_does_not_hold_says_what_to_look_at(
    authority, bundle, certificate, said
):
    with Server(certificate(authority)) as server:
        client = connect(server)
        with pytest.raises(ArmTransportError, match=said) as caught:
            client.put(ID, "1", {"password": "canary"})
        client.close()
        assert server.seen == []
    assert caught.value.sent == "no"
    text = str(caught.value)
    assert f"PUT {server.url}{ID}" in text
    assert "REQUESTS_CA_BUNDLE" in text
    assert "clock" in text
    assert "canary" not in text


def test_a_server_that_says_nothing_is_given_up(server, impatient):
    stop = threading.Event()

    def silent():
        stop.wait(30)
        yield b""

    server.response = HttpResponse(200, silent())
    began = time.monotonic()
    with pytest.raises(ArmTransportError, match=f"GET {server.url}{ID}") as caught:
        impatient.get(ID, "1")
    stop.set()
    assert time.monotonic() - began < 10
    assert caught.value.sent == "maybe"
