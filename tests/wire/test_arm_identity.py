"""Client secrets through azure-identity as it is, against a token endpoint over TLS."""

import json
import logging
import ssl
import threading
import traceback
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs

import pytest
from test_arm_transport import self_signed

from asoreconcile.azure.arm.client import ArmClient
from asoreconcile.azure.arm.credentials import (
    ClientSecret,
    CloudConfig,
    CredentialError,
)
from asoreconcile.base.clock import SystemClock

TENANT = "00000000-0000-0000-0000-0000000000aa"
SECRET = "canary-secret-5d4c3b"
TOKEN = "canary-token-7a6b5c"
AUDIENCE = "https://management.core.windows.net/"
ID = "/subscriptions/s/resourceGroups/g"


class Entra(BaseHTTPRequestHandler):
    """A token endpoint and, on the same port, an ARM that wants its tokens."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.server.seen.append(self.path)  # type: ignore[attr-defined]
        if self.path.endswith("/.well-known/openid-configuration"):
            home = f"https://{self.headers['Host']}/{TENANT}"
            self.reply(
                200,
                {
                    "issuer": f"{home}/v2.0",
                    "token_endpoint": f"{home}/oauth2/v2.0/token",
                    "authorization_endpoint": f"{home}/oauth2/v2.0/authorize",
                },
            )
        elif self.headers.get("Authorization") == f"Bearer {TOKEN}":
            self.reply(200, {"id": ID})
        else:
            self.reply(401, {"error": {"code": "InvalidAuthenticationToken"}})

    def do_POST(self):
        form = parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
        self.server.seen.append(self.path)  # type: ignore[attr-defined]
        self.server.forms.append(form)  # type: ignore[attr-defined]
        if form["client_secret"] == [SECRET]:
            self.reply(
                200,
                {"access_token": TOKEN, "expires_in": 3600, "token_type": "Bearer"},
            )
        else:
            text = "AADSTS7000215: Invalid client secret provided."
            self.reply(401, {"error": "invalid_client", "error_description": text})

    def reply(self, status, body):
        content = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *args):
        pass


@pytest.fixture
def entra(tmp_path, monkeypatch):
    pem, bundle = self_signed(tmp_path)
    for name in ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("SSL_CERT_FILE", str(bundle))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pem)
    made = ThreadingHTTPServer(("127.0.0.1", 0), Entra)
    made.socket = context.wrap_socket(
        made.socket, server_side=True, do_handshake_on_connect=False
    )
    made.seen, made.forms = [], []  # type: ignore[attr-defined]
    made.url = f"https://127.0.0.1:{made.server_address[1]}"  # type: ignore[attr-defined]
    thread = threading.Thread(target=made.serve_forever, args=(0.01,))
    thread.start()
    yield made
    made.shutdown()
    thread.join()
    made.server_close()


def client_of(entra, *, secret=SECRET):
    cloud = CloudConfig(authority_host=entra.url, endpoint=entra.url)
    source = ClientSecret(TENANT, "client-1", secret, cloud=cloud)
    return ArmClient(
        cloud.endpoint, source.credential(), scope=cloud.scope, clock=SystemClock()
    )


def test_a_token_is_fetched_once_for_the_audience_with_its_slash(entra):
    client = client_of(entra)
    assert client.get(ID, "1") == client.get(ID, "1") == {"id": ID}
    assert len(entra.forms) == 1
    assert f"{AUDIENCE}/.default" in entra.forms[0]["scope"][0].split()
    assert not any("common/discovery" in path for path in entra.seen)
    client.close()


def test_d12_a_wrong_secret_is_one_request_and_a_credential_error(entra):
    client = client_of(entra, secret=f"{SECRET}-old")
    with pytest.raises(CredentialError, match="AADSTS7000215"):
        client.get(ID, "1")
    assert len(entra.forms) == 1
    client.close()


def test_d12_an_authority_that_is_down_is_a_credential_error(entra, monkeypatch):
    cloud = CloudConfig(authority_host="https://127.0.0.1:9", endpoint=entra.url)
    source = ClientSecret(TENANT, "client-1", SECRET, cloud=cloud)
    with pytest.raises(CredentialError):
        source.credential().get_token(cloud.scope)


def test_secrets_and_tokens_reach_no_log_and_no_exception(entra, caplog):
    caplog.set_level(logging.DEBUG)
    client = client_of(entra)
    client.get(ID, "1")
    wrong = client_of(entra, secret=f"{SECRET}-old")
    with pytest.raises(CredentialError) as caught:
        wrong.get(ID, "1")
    text = "".join(traceback.format_exception(caught.value)) + caplog.text
    assert SECRET not in text
    assert TOKEN not in text
    client.close()
    wrong.close()
