"""Signing in without a client secret, through azure-identity as it is, over TLS."""

import base64
import gzip
import json
import logging
import threading
import traceback
from http.server import BaseHTTPRequestHandler, HTTPServer
from urllib.parse import parse_qs, urlsplit

import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding
from keypairs import certificate_pem, identity_file, key12, pem, rsa_key
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from asoreconcile.azure.arm.credentials import (
    ClientSecret,
    CloudConfig,
    CredentialError,
    sign_in_transport,
)
from asoreconcile.azure.arm.credentials_certificate import ClientCertificate
from asoreconcile.azure.arm.credentials_federated import (
    ManagedIdentity,
    WorkloadIdentity,
)
from asoreconcile.azure.arm.credentials_identity_file import IdentityFile
from asoreconcile.base import reconcile_context
from asoreconcile.base.clock import SystemClock
from asoreconcile.base.tracing import Tracing
from asoreconcile.testing.http import HttpResponse, HttpsServer
from asoreconcile.testing.throwaway_certificates import certificate_authority

TENANT = "00000000-0000-0000-0000-0000000000aa"
OTHER_TENANT = "00000000-0000-0000-0000-0000000000bb"
TOKEN = "canary-token-1f2e"
PASSWORD = "canary-password-5c"
PROJECTED = "canary.projected.first"


class Entra:
    """A token endpoint that accepts what `accepts` says of an assertion."""

    def __init__(self, accepts):
        self.accepts = accepts
        self.assertions = []
        self.tenants = []

    def handle(self, request):
        tenant = request.path.strip("/").split("/")[0]
        home = f"https://{request.headers['host']}/{tenant}"
        if request.method == "GET":
            return _answer(
                200,
                {
                    "issuer": f"{home}/v2.0",
                    "token_endpoint": f"{home}/oauth2/v2.0/token",
                    "authorization_endpoint": f"{home}/oauth2/v2.0/authorize",
                },
            )
        form = parse_qs(request.body.decode())
        (assertion,) = form["client_assertion"]
        self.assertions.append(assertion)
        self.tenants.append(tenant)
        if not self.accepts(assertion):
            text = "AADSTS700024: Client assertion is not within its valid time range."
            return _answer(401, {"error": "invalid_client", "error_description": text})
        return _answer(
            200, {"access_token": TOKEN, "expires_in": 3600, "token_type": "Bearer"}
        )


def _answer(status, body):
    content = json.dumps(body).encode()
    return HttpResponse(status, content, {"Content-Type": "application/json"})


@pytest.fixture
def serve(tmp_path, monkeypatch):
    """Start a token endpoint; the cloud that it is the authority of."""
    authority = certificate_authority()
    bundle = tmp_path / "ca.pem"
    bundle.write_bytes(authority.pem)
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(bundle))
    servers = []

    def start(entra):
        server = HttpsServer(entra.handle, certificate=authority.issue(["127.0.0.1"]))
        server.start()
        servers.append(server)
        return CloudConfig(authority_host=server.url)

    yield start
    for server in servers:
        server.close()


def signed_by_us(assertion):
    message, _, signature = assertion.rpartition(".")
    try:
        rsa_key().public_key().verify(
            base64.urlsafe_b64decode(signature + "=="),
            message.encode(),
            *_scheme(message),
        )
    except InvalidSignature:
        return False
    return True


def _scheme(message):
    header = json.loads(base64.urlsafe_b64decode(message.split(".")[0] + "=="))
    sha = hashes.SHA256()
    if header["alg"] == "PS256":
        return padding.PSS(padding.MGF1(sha), padding.PSS.DIGEST_LENGTH), sha
    return padding.PKCS1v15(), sha


FORMS = {
    "PEM": lambda: (pem(rsa_key()), ""),
    "encrypted PEM": lambda: (pem(rsa_key(), PASSWORD), PASSWORD),
    "encrypted PKCS12": lambda: (key12(PASSWORD), PASSWORD),
}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_a_certificates_key_signs_the_request(serve, form, caplog):
    caplog.set_level(logging.DEBUG)
    entra = Entra(signed_by_us)
    cloud = serve(entra)
    content, password = form()
    source = ClientCertificate(TENANT, "client-1", content, password, cloud=cloud)
    assert source.credential().get_token(cloud.scope).token == TOKEN
    for canary in (PASSWORD, TOKEN, *entra.assertions, "PRIVATE KEY"):
        assert canary not in caplog.text


def test_a_sign_in_of_a_traced_reconcile_is_its_child(serve):
    spans = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(spans))
    entra = Entra(signed_by_us)
    cloud = serve(entra)
    content = pem(rsa_key())
    source = ClientCertificate(TENANT, "client-1", content, "", cloud=cloud)
    with Tracing(provider).reconcile("accounts", {}) as trace:
        context = reconcile_context.Context(SystemClock(), trace=trace)
        with reconcile_context.running(context):
            source.credential(sign_in_transport(cloud)).get_token(cloud.scope)
    *requests, whole = spans.get_finished_spans()
    sign_in = requests[-1]
    assert sign_in.parent.span_id == whole.context.span_id
    assert dict(sign_in.attributes) == {
        "http.request.method": "POST",
        "server.address": urlsplit(cloud.authority_host).netloc,
        "url.path": f"/{TENANT}/oauth2/v2.0/token",
        "http.response.status_code": 200,
    }
    for canary in (TOKEN, *entra.assertions):
        assert not [one for one in requests if canary in one.to_json()]
    provider.shutdown()


def test_an_identity_s_file_signs_with_its_chain_at_its_own_authority(
    serve, tmp_path, caplog
):
    """Entra knows such certificates by who issued them: the chain goes along (x5c)."""
    caplog.set_level(logging.DEBUG)
    entra = Entra(signed_by_us)
    authority = serve(entra).authority_host
    file = tmp_path / "identity.json"
    file.write_text(identity_file(TENANT, "identity", authority))
    source = IdentityFile(str(file), OTHER_TENANT, "other")
    token = source.credential().get_token(source.cloud.scope, claims=None)
    assert token.token == TOKEN
    assert entra.tenants == [TENANT]
    (assertion,) = entra.assertions
    header, claims = (
        json.loads(base64.urlsafe_b64decode(part + "=="))
        for part in assertion.split(".")[:2]
    )
    lines = certificate_pem(rsa_key()).decode().split()
    (shown,) = header["x5c"]
    assert shown[:60] == "".join(lines)[len("-----BEGINCERTIFICATE-----") :][:60]
    assert (claims["iss"], claims["sub"]) == ("identity", "identity")
    secret = json.loads(file.read_text())["client_secret"]
    for canary in (secret, TOKEN, assertion, "canary-url-7d"):
        assert canary not in caplog.text


def test_d12_a_refused_certificate_is_a_credential_error(serve, caplog):
    caplog.set_level(logging.DEBUG)
    entra = Entra(lambda _: False)
    cloud = serve(entra)
    source = ClientCertificate(
        TENANT, "client-1", pem(rsa_key()), cloud=cloud, origin="Secret ns/s"
    )
    with pytest.raises(CredentialError, match="AADSTS700024") as caught:
        source.credential().get_token(cloud.scope)
    assert "client client-1 (Secret ns/s)" in str(caught.value)
    shown = "".join(traceback.format_exception(caught.value)) + caplog.text
    assert not any(assertion in shown for assertion in entra.assertions)
    assert len(entra.assertions) == 1


@pytest.fixture
def projected(tmp_path):
    file = tmp_path / "azure-identity"
    file.write_text(PROJECTED)
    return file


def test_workload_identity_shows_the_projected_token(serve, projected, caplog):
    caplog.set_level(logging.DEBUG)
    entra = Entra(lambda assertion: assertion == PROJECTED)
    cloud = serve(entra)
    source = WorkloadIdentity(
        TENANT, "client-1", cloud=cloud, token_file=str(projected)
    )
    assert source.credential().get_token(cloud.scope).token == TOKEN
    assert entra.tenants == [TENANT]
    assert PROJECTED not in caplog.text
    assert TOKEN not in caplog.text


def test_r8_4_a_rotated_token_file_is_used_at_once(serve, projected):
    entra = Entra(lambda assertion: assertion == "canary.projected.second")
    cloud = serve(entra)
    credential = WorkloadIdentity(
        TENANT, "client-1", cloud=cloud, token_file=str(projected)
    ).credential()
    with pytest.raises(CredentialError, match="AADSTS700024") as caught:
        credential.get_token(cloud.scope)
    assert PROJECTED not in "".join(traceback.format_exception(caught.value))
    projected.write_text("canary.projected.second\n")
    assert credential.get_token(cloud.scope).token == TOKEN
    assert entra.assertions == [PROJECTED, "canary.projected.second"]


def test_another_tenant_is_asked_only_if_it_is_among_the_additional(serve, projected):
    entra = Entra(lambda _: True)
    cloud = serve(entra)

    def credential(*tenants):
        return WorkloadIdentity(
            TENANT,
            "client-1",
            cloud=cloud,
            additional_tenants=tenants,
            token_file=str(projected),
        ).credential()

    with pytest.raises(CredentialError, match="additionally_allowed_tenants"):
        credential().get_token(cloud.scope, tenant_id=OTHER_TENANT)
    credential(OTHER_TENANT).get_token(cloud.scope, tenant_id=OTHER_TENANT)
    assert entra.tenants == [OTHER_TENANT]


class Machine(BaseHTTPRequestHandler):
    """The metadata endpoint of a machine with one identity."""

    def do_GET(self):
        self.server.seen.append(parse_qs(urlsplit(self.path).query))  # type: ignore[attr-defined]
        known = self.server.seen[-1].get("client_id", ["system"])[0] in {  # type: ignore[attr-defined]
            "system",
            "client-1",
        }
        body = (
            {
                "access_token": TOKEN,
                "expires_in": "3600",
                "resource": "r",
                "token_type": "Bearer",
            }
            if known
            else {"error": "invalid_request", "error_description": "Identity not found"}
        )
        content = self.server.odd or json.dumps(body).encode()  # type: ignore[attr-defined]
        self.send_response(200 if known else 400)
        type_ = "text/html" if self.server.odd else "application/json"  # type: ignore[attr-defined]
        self.send_header("Content-Type", type_)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *args):
        pass


@pytest.fixture
def machine(monkeypatch):
    with HTTPServer(("127.0.0.1", 0), Machine) as server:
        server.seen, server.odd = [], b""  # type: ignore[attr-defined]
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        url = f"http://127.0.0.1:{server.server_address[1]}"
        monkeypatch.setenv("AZURE_POD_IDENTITY_AUTHORITY_HOST", url)
        yield server
        server.shutdown()
        thread.join()


@pytest.mark.parametrize("client_id", ["client-1", ""])
def test_a_managed_identity_asks_the_machine(machine, client_id, caplog):
    caplog.set_level(logging.DEBUG)
    credential = ManagedIdentity(client_id).credential()
    scope = CloudConfig().scope
    assert credential.get_token(scope, enable_cae=True).token == TOKEN
    (asked,) = machine.seen
    assert asked["resource"] == ["https://management.core.windows.net/"]
    assert asked.get("client_id", [""]) == [client_id]
    assert TOKEN not in caplog.text


def test_d12_an_identity_the_machine_lacks_says_what_to_do(machine):
    credential = ManagedIdentity("stranger", origin="Secret ns/s").credential()
    with pytest.raises(CredentialError, match="assign it to the machine") as caught:
        credential.get_token(CloudConfig().scope)
    assert "managed identity client stranger (Secret ns/s)" in str(caught.value)
    assert len(machine.seen) == 1


class Odd(Entra):
    """Answers a sign-in with what is no token."""

    def __init__(self, status, body, headers):
        super().__init__(lambda _: True)
        self.answer = HttpResponse(status, body, headers)
        self.sign_ins = 0

    def handle(self, request):
        if request.method == "GET":
            return super().handle(request)
        self.sign_ins += 1
        return self.answer


HTML = {"Content-Type": "text/html"}
JSON = {"Content-Type": "application/json"}
CUT = b'{"token_type":"Bearer","expires_in":3599,"access_token":"' + TOKEN.encode()
UNREADABLE = {
    "a page": (200, b"<html>Please log in</html>", HTML),
    "a page that refuses": (400, b"<html>no</html>", HTML),
    "nothing": (200, b"", JSON),
    "a list": (200, b"[]", JSON),
    "null": (200, b"null", JSON),
    "a number": (200, b"5", JSON),
    "a text": (200, b'"x"', JSON),
    "no UTF-8": (200, b'\xff\xfe{"a":1}', JSON),
    "cut short": (200, CUT, JSON),
    "text around it": (200, b"<!-- -->" + CUT + b'"}', JSON),
    "brackets": (200, b"[" * 100_000, JSON),
    "a refusal as a list": (400, b"[]", JSON),
    "no end": (200, CUT.replace(b"3599", b"null") + b'"}', JSON),
    "an end that is no number": (200, CUT.replace(b"3599", b'"soon"') + b'"}', JSON),
    "an end beyond numbers": (200, CUT.replace(b"3599", b"1e999") + b'"}', JSON),
    "an end that is NaN": (200, CUT.replace(b"3599", b"NaN") + b'"}', JSON),
    "neither a token nor an error": (200, b'{"expires_in":3600}', JSON),
    "an id token that is none": (200, CUT + b'","id_token":"a.b.c"}', JSON),
}
REFUSED = {
    "an empty refusal": (400, b"{}", JSON),
    "a refusal of odd parts": (400, b'{"error":["a"],"error_description":5}', JSON),
    "a refusal of nulls": (400, b'{"error":null,"error_codes":null}', JSON),
    "trouble": (500, b"oops", {"Content-Type": "text/plain"}),
    "a redirect without an address": (302, b"", HTML),
    "throttled for ever": (429, b"{}", {**JSON, "Retry-After": "1e9"}),
}


def odd_sign_in(serve, answer, token_file=""):
    """The texts that a client secret's sign-in leaves, or a workload identity's."""
    entra = Odd(*answer)
    cloud = serve(entra)
    common = {"cloud": cloud, "origin": "Secret a"}
    source = ClientSecret(TENANT, "client-1", PASSWORD, **common)
    if token_file:
        source = WorkloadIdentity(TENANT, "client-1", token_file=token_file, **common)
    with pytest.raises(CredentialError) as caught:
        source.credential().get_token(cloud.scope)
    assert entra.sign_ins == 1
    return "".join(traceback.format_exception(caught.value)), str(caught.value)


@pytest.mark.parametrize("answer", UNREADABLE.values(), ids=UNREADABLE)
def test_d12_a_sign_in_that_nobody_can_read_says_where_to_look(serve, answer, caplog):
    caplog.set_level(logging.DEBUG)
    shown, message = odd_sign_in(serve, answer)
    assert "client client-1 (Secret a): the authority's answer cannot be" in message
    assert "see whether a proxy answers" in message
    for canary in (TOKEN, PASSWORD):
        assert canary not in shown + caplog.text


@pytest.mark.parametrize(
    "answer", [(200, CUT, JSON), (200, CUT, HTML), (302, CUT, JSON)]
)
def test_d12_nor_does_that_of_a_workload_identity(serve, projected, answer, caplog):
    caplog.set_level(logging.DEBUG)
    shown, message = odd_sign_in(serve, answer, str(projected))
    assert "see whether a proxy answers" in message
    for canary in (TOKEN, PROJECTED):
        assert canary not in shown + caplog.text


@pytest.mark.parametrize("body", [CUT, CUT + b"]", CUT.replace(b"3599", b"1e999")])
def test_d12_nor_does_that_of_a_machine(machine, body, caplog):
    caplog.set_level(logging.DEBUG)
    machine.odd = body
    with pytest.raises(CredentialError) as caught:
        ManagedIdentity("client-1").credential().get_token(CloudConfig().scope)
    assert TOKEN not in str(caught.value) + caplog.text


@pytest.mark.parametrize("answer", REFUSED.values(), ids=REFUSED)
def test_d12_an_odd_refusal_is_tried_once_and_shows_no_secret(serve, answer, caplog):
    caplog.set_level(logging.DEBUG)
    shown, message = odd_sign_in(serve, answer)
    assert message.startswith("no token for client client-1 (Secret a): ")
    for canary in (TOKEN, PASSWORD):
        assert canary not in shown + caplog.text


@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gzip"])
def test_a_sign_in_answer_without_an_end_is_given_up(serve, packed):
    body = b" " * 50_000_000
    headers = {**JSON, "Content-Encoding": "gzip"} if packed else JSON
    cloud = serve(Odd(200, gzip.compress(body, 1) if packed else body, headers))
    source = ClientSecret(TENANT, "client-1", PASSWORD, cloud=cloud)
    transport = sign_in_transport(cloud)
    with pytest.raises(CredentialError, match="over 4194304 bytes long: see whether a"):
        source.credential(transport).get_token(cloud.scope)
    transport.close()


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_h4_a_sign_in_that_is_sent_elsewhere_takes_no_secret_there(serve, status):
    elsewhere = Odd(200, CUT + b'"}', JSON)
    headers = {**HTML, "Location": f"{serve(elsewhere).authority_host}/token"}
    odd_sign_in(serve, (status, b"", headers))
    assert elsewhere.sign_ins == 0
