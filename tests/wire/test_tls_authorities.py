"""Authorities that kubectl accepts and Python's strict mode does not, on any Python."""

import shutil
import socket
import ssl
import subprocess

import pytest
from azure.core.credentials import AccessToken
from keypairs import authority_without_key_identifiers

from asoreconcile.azure.arm.client import ArmClient
from asoreconcile.base.clock import SystemClock
from asoreconcile.kube.client_certificates import ClientCertificates
from asoreconcile.kube.cluster import ClusterConfig
from asoreconcile.kube.errors import TransportError
from asoreconcile.kube.transport import Transport
from asoreconcile.testing.http import HttpResponse, HttpsServer

HOST = "127.0.0.1"


class Credential:
    def get_token(self, *scopes, **options):
        return AccessToken("t", 1 << 33)


@pytest.fixture(autouse=True)
def strict(monkeypatch):
    """The defaults of Python 3.13 and later, whatever runs the tests."""
    plain = ssl.create_default_context

    def made(*arguments, **options):
        context = plain(*arguments, **options)
        context.verify_flags |= ssl.VERIFY_X509_STRICT
        return context

    monkeypatch.setattr(ssl, "create_default_context", made)


@pytest.fixture
def server(tmp_path):
    authority, *pair = authority_without_key_identifiers(HOST)
    (tmp_path / "ca.pem").write_bytes(authority)
    with HttpsServer(
        lambda _: HttpResponse(200, b"{}"), certificate=tuple(pair)
    ) as made:
        yield made


def ask(url, trust):
    config = ClusterConfig(url=url, trust=lambda: trust, authorization=lambda: "")
    transport = Transport(config, user_agent="tests")
    try:
        return transport.send("GET", "/", headers={}).status
    finally:
        transport.close()


def test_authority_without_key_identifier_is_refused_by_the_strict_default(
    server, tmp_path
):
    """What the others hold against: this is no certificate that anybody accepts."""
    context = ssl.create_default_context(cafile=str(tmp_path / "ca.pem"))
    address = (HOST, int(server.url.rpartition(":")[2]))
    with (
        socket.create_connection(address) as connected,
        pytest.raises(ssl.SSLCertVerificationError),
    ):
        context.wrap_socket(connected, server_hostname=HOST)


def test_cl7_cluster_of_such_an_authority_is_reached(server, tmp_path):
    certificates = ClientCertificates(authority=tmp_path / "ca.pem")
    assert ask(server.url, certificates.trust()) == 200


def test_cl7_another_authority_or_host_is_refused_all_the_same(server, tmp_path):
    other, *_ = authority_without_key_identifiers(HOST)
    (tmp_path / "other.pem").write_bytes(other)
    for authority, url in (
        ("other.pem", server.url),
        ("ca.pem", server.url.replace(HOST, "localhost")),
    ):
        trust = ClientCertificates(authority=tmp_path / authority).trust()
        with pytest.raises(TransportError, match="certificate verify failed"):
            ask(url, trust)


@pytest.mark.parametrize("folder", [False, True], ids=["file", "folder"])
def test_azure_behind_such_an_authority_is_verified_leniently_too(
    server, tmp_path, monkeypatch, folder
):
    """Companies look into TLS with authorities of their own making."""
    bundle = tmp_path if folder else tmp_path / "ca.pem"
    if folder:  # by the names that OpenSSL looks for
        if not (openssl := shutil.which("openssl")):
            pytest.skip("there is no openssl here")
        subprocess.run([openssl, "rehash", bundle], check=True)
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(bundle))
    client = ArmClient(server.url, Credential(), scope="s", clock=SystemClock())
    assert client.get("/subscriptions/s", "1") == {}
    client.close()
