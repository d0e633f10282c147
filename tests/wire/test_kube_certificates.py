"""Certificates on disk that are renewed while the client lives."""

import base64
import json
import socket
import ssl
import tempfile
import threading
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from asoreconcile.kube.client import KubeClient
from asoreconcile.kube.client_certificates import ClientCertificates
from asoreconcile.kube.cluster import ClusterConfig, KubeConfigError
from asoreconcile.kube.config import load
from asoreconcile.kube.errors import TransportError
from asoreconcile.kube.resources import NAMESPACES
from asoreconcile.kube.transport import Transport
from asoreconcile.testing.kube import KubeServer
from asoreconcile.testing.throwaway_certificates import certificate_authority


def client_pair(name):
    """A self-signed client certificate and its key, as PEM."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(hours=1))
        .sign(key, hashes.SHA256())
    )
    return certificate.public_bytes(serialization.Encoding.PEM), key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )


@contextmanager
def asking_for_certificates(folder, *trusted):
    """A TLS server that answers with its client's common name, then hangs up."""
    authority = certificate_authority()
    (folder / "ca.pem").write_bytes(authority.pem)
    for name, content in zip(
        ("server.pem", "server.key"), authority.issue(["127.0.0.1"]), strict=True
    ):
        (folder / name).write_bytes(content)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "server.pem", folder / "server.key")
    context.load_verify_locations(cadata=b"".join(trusted).decode())
    context.verify_mode = ssl.CERT_REQUIRED
    listener = socket.create_server(("127.0.0.1", 0))

    def serve():
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with connection, context.wrap_socket(connection, server_side=True) as tls:
                tls.recv(65536)
                ((_, name),) = dict(tls.getpeercert())["subject"][0]
                tls.sendall(
                    b"HTTP/1.1 200 OK\r\nConnection: close\r\n"
                    b"Content-Length: %d\r\n\r\n%s" % (len(name), name.encode())
                )

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield f"https://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join(10)


def write_pair(folder, pair):
    for name, content in zip(("tls.crt", "tls.key"), pair, strict=True):
        (folder / name).write_bytes(content)


def test_wh7_renewed_client_certificate_serves_the_next_connection(tmp_path):
    first, second = client_pair("first"), client_pair("second")
    write_pair(tmp_path, first)
    with asking_for_certificates(tmp_path, first[0], second[0]) as url:
        certificates = ClientCertificates(
            authority=tmp_path / "ca.pem",
            pair=(tmp_path / "tls.crt", tmp_path / "tls.key"),
        )
        config = ClusterConfig(
            url=url,
            trust=certificates.trust,
            authorization=lambda: "",
        )
        transport = Transport(config, user_agent="tests")
        seen = [transport.send("GET", "/", headers={}).body]
        (tmp_path / "tls.crt").write_bytes(second[0])  # the key is not there yet
        seen.append(transport.send("GET", "/", headers={}).body)
        write_pair(tmp_path, second)
        seen.append(transport.send("GET", "/", headers={}).body)
        transport.close()
    assert seen == [b"first", b"first", b"second"]


def test_renewed_authority_of_the_service_account_is_trusted(tmp_path, monkeypatch):
    monkeypatch.delenv("KUBECONFIG", raising=False)
    with KubeServer() as server:
        monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "127.0.0.1")
        port = server.url.rpartition(":")[2]
        monkeypatch.setenv("KUBERNETES_SERVICE_PORT", port)
        (tmp_path / "token").write_text(server.token)
        (tmp_path / "ca.crt").write_bytes(certificate_authority().pem)
        client = KubeClient(load(service_account=tmp_path), user_agent="tests")
        with pytest.raises(TransportError, match="certificate verify failed"):
            client.list_page(NAMESPACES)
        (tmp_path / "ca.crt").write_bytes(server.ca_pem)
        assert client.list_page(NAMESPACES).items
        client.close()


@pytest.mark.parametrize("missing", ["ca.pem", "tls.crt", "tls.key"])
def test_certificates_that_are_not_there_are_refused_at_once(tmp_path, missing):
    write_pair(tmp_path, client_pair("one"))
    (tmp_path / "ca.pem").write_bytes(certificate_authority().pem)
    (tmp_path / missing).unlink()
    with pytest.raises(OSError):
        ClientCertificates(
            authority=tmp_path / "ca.pem",
            pair=(tmp_path / "tls.crt", tmp_path / "tls.key"),
        )


def test_certificates_that_vanish_leave_the_loaded_ones(tmp_path):
    (tmp_path / "ca.pem").write_bytes(certificate_authority().pem)
    certificates = ClientCertificates(authority=tmp_path / "ca.pem")
    loaded = certificates.trust()
    (tmp_path / "ca.pem").unlink()
    assert certificates.trust() == loaded


def test_wh7_a_refused_certificate_is_read_again_from_its_files(tmp_path):
    """A new authority says nothing of the connections that are open, a new pair does."""
    write_pair(tmp_path, client_pair("first"))
    (tmp_path / "ca.pem").write_bytes(certificate_authority().pem)
    certificates = ClientCertificates(
        authority=tmp_path / "ca.pem",
        pair=(tmp_path / "tls.crt", tmp_path / "tls.key"),
    )
    assert not certificates.renew()
    write_pair(tmp_path, client_pair("second"))
    assert certificates.renew()
    assert not certificates.renew()
    assert certificates.generation == 1


def written_kubeconfig(folder, url, pair, **user):
    """A kubeconfig with authority, certificate and key in itself."""
    ca, certificate, key = (
        base64.b64encode(content).decode()
        for content in ((folder / "ca.pem").read_bytes(), *pair)
    )
    inline = {"client-certificate-data": certificate, "client-key-data": key}
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "c",
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [
            {"name": "c", "cluster": {"server": url, "certificate-authority-data": ca}}
        ],
        "users": [{"name": "u", "user": {**inline, **user}}],
    }
    path = folder / "kubeconfig"
    path.write_text(json.dumps(config))
    return path


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    """Where the process puts its temporary files."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def test_a_key_inside_a_kubeconfig_is_used_and_never_on_disk(tmp_path, temporary):
    pair = client_pair("inline")
    with asking_for_certificates(tmp_path, pair[0]) as url:
        path = written_kubeconfig(tmp_path, url, pair)
        config = load(str(path))
        transport = Transport(config, user_agent="tests")
        assert transport.send("GET", "/", headers={}).body == b"inline"
        assert transport.send("GET", "/", headers={}).body == b"inline"
        transport.close()
    assert list(temporary.iterdir()) == []


def test_a_key_inside_goes_with_a_certificates_file(tmp_path, temporary):
    pair = client_pair("mixed")
    (tmp_path / "tls.crt").write_bytes(pair[0])
    user = {"client-certificate": "tls.crt"}
    with asking_for_certificates(tmp_path, pair[0]) as url:
        path = written_kubeconfig(tmp_path, url, pair, **user)
        written = json.loads(path.read_text())
        del written["users"][0]["user"]["client-certificate-data"]
        path.write_text(json.dumps(written))
        transport = Transport(load(str(path)), user_agent="tests")
        assert transport.send("GET", "/", headers={}).body == b"mixed"
        transport.close()
    assert list(temporary.iterdir()) == []


def test_a_key_that_is_no_base64_is_named_and_not_quoted(tmp_path):
    (tmp_path / "ca.pem").write_bytes(certificate_authority().pem)
    path = written_kubeconfig(tmp_path, "https://127.0.0.1:1", client_pair("bad"))
    text = path.read_text().replace(
        '"client-key-data": "', '"client-key-data": "canary-'
    )
    path.write_text(text)
    with pytest.raises(KubeConfigError) as caught:
        load(str(path))
    assert "canary" not in str(caught.value)
