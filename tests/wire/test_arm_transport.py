"""The wire under the ARM client, over real TLS: trust, bytes, limits."""

import ipaddress
import socket
import ssl
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import click
import pytest
from azure.core.credentials import AccessToken
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from asoreconcile.azure.arm import transport
from asoreconcile.azure.arm.bearer import ForeignHostError
from asoreconcile.azure.arm.ca_bundle import ProxyVariableError
from asoreconcile.azure.arm.client import ArmClient
from asoreconcile.azure.arm.credentials import (
    ClientSecret,
    CloudConfig,
    sign_in_transport,
)
from asoreconcile.azure.arm.errors import ArmError, ArmTransportError
from asoreconcile.azure.arm.outcomes import Pending, ReadResource
from asoreconcile.azure.arm.tokens import RESOURCE, Token, TokenShape
from asoreconcile.azure.arm.transport import CertificateBundleError, ca_bundle
from asoreconcile.azure.cmd.azure_login import signed_in
from asoreconcile.base import reconcile_context
from asoreconcile.base.clock import SystemClock
from asoreconcile.base.errors import StoppedError
from asoreconcile.base.tracing import Tracing

ID = "/subscriptions/s/resourceGroups/g"


class Credential:
    def get_token(self, *scopes, **options):
        return AccessToken("token", int(time.time()) + 3600)


class Azure(BaseHTTPRequestHandler):
    """Answers as the server's `answer` says, and remembers what came."""

    protocol_version = "HTTP/1.1"

    def do_PUT(self):
        self.do_GET()

    def do_GET(self):
        self.server.seen.append((self.path, dict(self.headers)))  # type: ignore[attr-defined]
        self.server.answer(self)  # type: ignore[attr-defined]

    def log_message(self, *args):
        pass

    def reply(self, content, **headers):
        self.send_response(200)
        headers.setdefault("Content-Length", str(len(content)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(content)


def self_signed(folder):
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "test")])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(
            x509.SubjectAlternativeName(
                [x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
            ),
            critical=False,
        )
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    path = folder / "server.pem"
    path.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        + certificate.public_bytes(serialization.Encoding.PEM)
    )
    bundle = folder / "ca.pem"
    bundle.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    return path, bundle


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    return self_signed(tmp_path_factory.mktemp("tls"))


@pytest.fixture
def server(certificate):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate[0])
    made = ThreadingHTTPServer(("127.0.0.1", 0), Azure)
    made.socket = context.wrap_socket(
        made.socket, server_side=True, do_handshake_on_connect=False
    )
    made.handle_error = lambda *_: None
    made.seen = []  # type: ignore[attr-defined]
    made.answer = lambda handler: handler.reply(b'{"id": "x"}')  # type: ignore[attr-defined]
    thread = threading.Thread(target=made.serve_forever, args=(0.01,))
    thread.start()
    yield made
    made.shutdown()
    thread.join()
    made.server_close()


@pytest.fixture
def trusted(certificate, monkeypatch):
    for name in ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "HTTPS_PROXY", "https_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate[1]))


def connect(server, **options):
    url = f"https://127.0.0.1:{server.server_address[1]}"
    return url, ArmClient(url, Credential(), scope="s", clock=SystemClock(), **options)


@pytest.fixture
def azure(server, trusted):
    url, client = connect(server)
    yield url, client
    client.close()


def test_ssl_cert_file_is_trusted(azure):
    assert azure[1].get(ID, "1") == {"id": "x"}


def test_an_unknown_certificate_is_refused_and_nothing_was_sent(server, monkeypatch):
    for name in ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "SSL_CERT_FILE"):
        monkeypatch.delenv(name, raising=False)
    _, client = connect(server)
    with pytest.raises(ArmTransportError, match="certificate verify failed") as caught:
        client.get(ID, "1")
    assert caught.value.sent == "no"
    assert not server.seen
    client.close()


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("REQUESTS_CA_BUNDLE", ""),
        ("CURL_CA_BUNDLE", ""),
        ("PYTHONHTTPSVERIFY", "0"),
        ("AZURE_CONNECTION_VERIFY", "false"),
        ("SSL_CERT_DIR", "/nonexistent"),
    ],
)
def test_verification_cannot_be_switched_off_by_the_environment(
    server, monkeypatch, variable, value
):
    for name in ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "SSL_CERT_FILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv(variable, value)
    _, client = connect(server)
    with pytest.raises(ArmTransportError, match="certificate verify failed"):
        client.put(ID, "1", {})
    assert not server.seen
    client.close()


def test_v10_h4_a_redirect_to_another_host_takes_no_token_there(azure, server):
    def answer(handler):
        handler.send_response(307)
        handler.send_header("Location", "https://127.0.0.1:9/elsewhere")
        handler.send_header("Content-Length", "0")
        handler.end_headers()

    server.answer = answer
    with pytest.raises(ArmError) as caught:
        azure[1].get(ID, "1")
    assert caught.value.status == 307
    assert len(server.seen) == 1


@pytest.mark.parametrize("other", ["other.example", "127.0.0.1:1", "localhost"])
def test_h4_l21_q1_no_other_host_is_connected_to(azure, server, other):
    """Not even to see who is there: the connection itself would tell."""
    url, client = azure
    monitor = f"https://{other}{ID}/operations/o"
    assert isinstance(
        client.poll(Token(TokenShape.ASYNC, RESOURCE, monitor, "Running")), ReadResource
    )
    server.answer = lambda handler: handler.reply(
        f'{{"value": [], "nextLink": "{monitor}"}}'.encode()
    )
    with pytest.raises(ForeignHostError):
        list(client.list(ID, "1"))
    assert len(server.seen) == 1
    assert url.startswith("https://127.0.0.1:")


def test_a_bundle_that_is_not_there_is_named(monkeypatch):
    monkeypatch.delenv("REQUESTS_CA_BUNDLE", raising=False)
    monkeypatch.setenv("CURL_CA_BUNDLE", "/nowhere/ca.pem")
    with pytest.raises(CertificateBundleError, match="CURL_CA_BUNDLE"):
        ca_bundle()


def test_a_bundle_that_is_none_is_named(monkeypatch, tmp_path):
    bundle = tmp_path / "ca.pem"
    bundle.write_text("hello")
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(bundle))
    with pytest.raises(CertificateBundleError, match=r"ca\.pem"):
        transport.ArmTransport(url="https://a.example")


def test_l19_a_monitors_url_goes_out_byte_for_byte(azure, server):
    url, client = azure
    target = "/o/a%20b/%7e/../c?t=2023-09-20T12%3a07%3A31&c=%2d~&s=a+b"
    client.poll(Token(TokenShape.ASYNC, RESOURCE, url + target, "InProgress"))
    assert server.seen[0][0] == target


def test_i3_a_name_is_encoded_once(azure, server):
    azure[1].get("/subscriptions/s/resourceGroups/a b%/x:y", "1")
    path = "/subscriptions/s/resourceGroups/a%20b%25/x:y?api-version=1"
    assert server.seen[0][0] == path


def test_cookies_are_not_kept(azure, server):
    server.answer = lambda handler: handler.reply(b"{}", Set_Cookie="a=b")
    azure[1].get(ID, "1")
    azure[1].get(ID, "1")
    assert all("Cookie" not in headers for _, headers in server.seen)


def test_one_connection_serves_many_requests(azure, server):
    ports = set()

    def answer(handler):
        ports.add(handler.client_address[1])
        handler.reply(b"{}")

    server.answer = answer
    for _ in range(5):
        azure[1].get(ID, "1")
    assert len(ports) == 1


def test_t10_as_many_connections_are_kept_as_there_are_workers(server, trusted):
    ports, together = set(), threading.Barrier(12)

    def answer(handler):
        ports.add(handler.client_address[1])
        together.wait(30)
        handler.reply(b"{}")

    server.answer = answer
    _, client = connect(server, connections=12)
    with ThreadPoolExecutor(12) as workers:
        list(workers.map(lambda _: client.get(ID, "1"), range(12 * 4)))
    assert len(ports) == 12
    client.close()


def test_a_huge_answer_is_given_up(azure, server, monkeypatch):
    monkeypatch.setattr(transport, "MAX_BODY_BYTES", 100_000)

    def answer(handler):
        handler.reply(b"x" * 1_000_000)

    server.answer = answer
    with pytest.raises(ArmTransportError, match="100000 bytes") as caught:
        azure[1].get(ID, "1")
    assert caught.value.sent == "maybe"


@pytest.mark.parametrize("unit", [b"[],", b"{},", b'{"a":[]},'])
def test_ft4_an_answer_whose_values_would_fill_the_memory_is_not_read(
    azure, server, monkeypatch, unit
):
    """A few bytes of text are a hundred bytes of memory each."""
    monkeypatch.setattr(transport, "ANSWER_VALUE_BYTES", 1 << 20)
    text = b'{"name": [' + unit * 40_000 + b"0]}"
    server.answer = lambda handler: handler.reply(text)
    with pytest.raises(ArmTransportError, match="too much memory"):
        azure[1].get(ID, "1")
    server.answer = lambda handler: handler.reply(b'{"name": "%s"}' % (b"x" * 60_000))
    assert azure[1].get(ID, "1")


def test_a_slow_answer_is_given_up(azure, server, monkeypatch):
    monkeypatch.setattr(transport, "MAX_BODY_SECONDS", 0.05)
    stop = threading.Event()

    def answer(handler):
        handler.send_response(200)
        handler.send_header("Content-Length", "1000")
        handler.end_headers()
        while not stop.wait(0.01):
            handler.wfile.write(b" ")

    server.answer = answer
    with pytest.raises(ArmTransportError, match="to arrive"):
        azure[1].get(ID, "1")
    stop.set()


def test_a_head_that_comes_byte_by_byte_is_given_up(azure, server, monkeypatch):
    # Long enough to connect and to ask on a busy machine.
    monkeypatch.setattr(transport, "MAX_CALL_SECONDS", 1.0)
    stop = threading.Event()

    def answer(handler):
        handler.wfile.write(b"HTTP/1.1 200 OK\r\nX-Slow: ")
        with suppress(OSError):
            while not stop.wait(0.01):
                handler.wfile.write(b"x")

    server.answer = answer
    with pytest.raises(ArmTransportError, match="timed out after") as caught:
        azure[1].get(ID, "1")
    stop.set()
    assert caught.value.sent == "maybe"


def test_v8_a_truncated_answer_may_have_been_executed(azure, server):
    def answer(handler):
        handler.reply(b'{"id":', Content_Length="50")
        handler.close_connection = True

    server.answer = answer
    with pytest.raises(ArmTransportError) as caught:
        azure[1].get(ID, "1")
    assert caught.value.sent == "maybe"


def test_v8_a_connection_closed_without_an_answer_may_have_been_executed(azure, server):
    def answer(handler):
        handler.close_connection = True

    server.answer = answer
    with pytest.raises(ArmTransportError) as caught:
        azure[1].get(ID, "1")
    assert caught.value.sent == "maybe"


def test_v8_a_refused_connection_sent_nothing(trusted):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"https://127.0.0.1:{taken.getsockname()[1]}"
        client = ArmClient(url, Credential(), scope="s", clock=SystemClock())
        with pytest.raises(ArmTransportError) as caught:
            client.get(ID, "1")
    assert caught.value.sent == "no"
    client.close()


def test_d3_a_poll_of_a_dead_host_keeps_the_token(trusted):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"https://127.0.0.1:{taken.getsockname()[1]}"
        client = ArmClient(url, Credential(), scope="s", clock=SystemClock())
        outcome = client.poll(
            Token(TokenShape.ASYNC, RESOURCE, f"{url}/o?s=1", "Running")
        )
    assert isinstance(outcome, Pending)
    assert "s=1" not in str(outcome.read_error)
    client.close()


def test_a_compressed_answer_is_read(azure, server):
    import gzip

    content = gzip.compress(b'{"id": "y"}')
    server.answer = lambda handler: handler.reply(content, Content_Encoding="gzip")
    assert azure[1].get(ID, "1") == {"id": "y"}
    # Which is asked for, else no answer would be.
    assert "gzip" in server.seen[-1][1]["Accept-Encoding"]


def test_a_session_adds_no_headers_but_what_it_can_read(azure, server):
    server.answer = lambda handler: handler.reply(b"{}")
    azure[1].get(ID, "1")
    names = {name.lower() for name in server.seen[-1][1]}
    assert names - {"user-agent"} == {
        "host",
        "accept",
        "accept-encoding",
        "authorization",
        "x-ms-client-request-id",
    }
    assert server.seen[-1][1]["Accept"] == "application/json"


@pytest.mark.parametrize("name", ["HTTPS_PROXY", "https_proxy", "ALL_PROXY"])
def test_a_proxy_variable_that_is_not_one_is_named_without_its_password(
    monkeypatch, name
):
    for one in ("HTTPS_PROXY", "https_proxy", "ALL_PROXY", "NO_PROXY", "no_proxy"):
        monkeypatch.delenv(one, raising=False)
    monkeypatch.setenv(name, "http://me:canary@[::1")
    with pytest.raises(ProxyVariableError, match=f"^{name} is not a proxy") as caught:
        transport.ArmTransport(url="https://azure.example")
    assert "canary" not in str(caught.value)


def test_a_command_says_which_proxy_variable_is_not_one(monkeypatch):
    for one in ("HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "no_proxy"):
        monkeypatch.delenv(one, raising=False)
    monkeypatch.setenv("https_proxy", "ftp://a")
    refused = pytest.raises(click.UsageError, match="https_proxy is not a proxy")
    with refused, signed_in({}):
        pass


def test_a_proxy_of_the_environment_is_used_unless_excluded(
    server, trusted, monkeypatch
):
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("NO_PROXY", "excluded.example,127.0.0.1")
    client = ArmClient(
        "https://a.example", Credential(), scope="s", clock=SystemClock()
    )
    with pytest.raises(
        ArmTransportError, match=r"connect to the proxy .*refused"
    ) as caught:
        client.get(ID, "1")
    assert caught.value.sent == "no"
    client.close()
    _, excluded = connect(server)
    assert excluded.get(ID, "1") == {"id": "x"}
    excluded.close()


def test_a_closed_client_is_a_stop_and_nothing_else(azure, server):
    _, client = azure
    client.get(ID, "2024-01-01")
    client.close()
    before = len(server.seen)
    for call in (client.get, client.delete, client.head):
        with pytest.raises(StoppedError, match="are closed"):
            call(ID, "2024-01-01")
    assert len(server.seen) == before


def test_a_closed_sign_in_is_a_stop_and_no_trouble_with_the_credential(azure):
    cloud = CloudConfig(authority_host=azure[0])
    closed = sign_in_transport(cloud)
    closed.close()
    source = ClientSecret("00000000-0000-0000-0000-0000000000aa", "c", "s", cloud=cloud)
    with pytest.raises(StoppedError, match="are closed"):
        source.credential(closed).get_token("https://a/.default")


def test_closing_under_requests_stops_them_all(azure, server):
    """As at a lost lease: whatever each thread was about to do."""
    _, client = azure
    ends, begun = [], threading.Barrier(9)

    def ask():
        client.get(ID, "2024-01-01")
        begun.wait(10)
        try:
            while True:
                client.get(ID, "2024-01-01")
        except Exception as error:  # noqa: BLE001 - that is what is looked at
            ends.append(error)

    threads = [threading.Thread(target=ask) for _ in range(8)]
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for thread in threads:
            thread.start()
        begun.wait(10)
        client.close()
        for thread in threads:
            thread.join(10)
    finally:
        sys.setswitchinterval(before)
    assert [type(error) for error in ends] == [StoppedError] * 8


def test_a_request_of_a_traced_reconcile_is_its_child(azure, server):
    spans = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(spans))
    with Tracing(provider).reconcile("accounts", {}) as trace:
        context = reconcile_context.Context(SystemClock(), trace=trace)
        with reconcile_context.running(context):
            azure[1].get(ID, "2024-01-01")
    request, whole = spans.get_finished_spans()
    assert request.parent.span_id == whole.context.span_id
    host = azure[0].removeprefix("https://")
    assert dict(request.attributes) == {
        "http.request.method": "GET",
        "server.address": host,
        "url.path": ID,
        "http.response.status_code": 200,
    }
    # Azure has no use for it: who we are inside is none of its business.
    assert "traceparent" not in {name.lower() for name in server.seen[0][1]}
    provider.shutdown()
