"""Keys and self-signed certificates, in the forms used for service principals."""

import base64
import datetime as dt
import functools
import json
from ipaddress import ip_address
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import pkcs12
from cryptography.x509.oid import NameOID

NAME = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "tests")])
PEM = serialization.Encoding.PEM
P256 = ec.SECP256R1()
PrivateKey = rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey


@functools.cache
def rsa_key() -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


def certificate_of(key: PrivateKey) -> x509.Certificate:
    now = dt.datetime.now(dt.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(NAME)
        .issuer_name(NAME)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - dt.timedelta(days=1))
        .not_valid_after(now + dt.timedelta(days=1))
        .sign(key, hashes.SHA256())
    )


def key_pem(key: PrivateKey, password: str = "") -> bytes:
    encryption = (
        serialization.BestAvailableEncryption(password.encode())
        if password
        else serialization.NoEncryption()
    )
    return key.private_bytes(PEM, serialization.PrivateFormat.PKCS8, encryption)


def certificate_pem(key: PrivateKey) -> bytes:
    return certificate_of(key).public_bytes(PEM)


def pem(key: PrivateKey, password: str = "") -> bytes:
    return key_pem(key, password) + certificate_pem(key)


def key12(password: str = "") -> bytes:
    encryption = (
        serialization.BestAvailableEncryption(password.encode())
        if password
        else serialization.NoEncryption()
    )
    return pkcs12.serialize_key_and_certificates(
        b"tests", rsa_key(), certificate_of(rsa_key()), None, encryption
    )


def identity_file(tenant: str, client: str, authority: str, **changes: Any) -> str:
    """Return the managed identity data plane's JSON for a user-assigned identity.

    changes: members to change; if None, the member is left out.
    """
    document = {
        "client_id": client,
        "tenant_id": tenant,
        "client_secret": base64.b64encode(key12()).decode(),
        "authentication_endpoint": authority,
        "client_secret_url": "https://identity.example/credentials?tid=canary-url-7d",
        "mtls_authentication_endpoint": "https://mtls.example/",
        "object_id": "3",
        "resource_id": "/subscriptions/s/resourcegroups/g/providers/p/t/n",
        "custom_claims": {},
        "not_before": "2026-01-01T00:00:00Z",
        "not_after": "2026-04-01T00:00:00Z",
        "renew_after": "2026-02-15T00:00:00Z",
        "cannot_renew_after": "2026-07-01T00:00:00Z",
        **changes,
    }
    return json.dumps({k: v for k, v in document.items() if v is not None})


def authority_without_key_identifiers(host: str) -> tuple[bytes, bytes, bytes]:
    """Return a hand-made authority, and a server's chain and key: (authority, chain,
    key).

    All are PEM. As with `openssl req -x509` and in EKS, no identifier names the key
    that signed.
    """
    root, server = ec.generate_private_key(P256), ec.generate_private_key(P256)
    now = dt.datetime.now(dt.UTC)

    def signed(
        key: PrivateKey, name: x509.Name, *extensions: x509.ExtensionType
    ) -> bytes:
        builder = (
            x509.CertificateBuilder()
            .subject_name(name)
            .issuer_name(NAME)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - dt.timedelta(days=1))
            .not_valid_after(now + dt.timedelta(days=1))
        )
        for extension in extensions:
            builder = builder.add_extension(extension, critical=False)
        return builder.sign(root, hashes.SHA256()).public_bytes(PEM)

    address = x509.SubjectAlternativeName([x509.IPAddress(ip_address(host))])
    leaf = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, host)])
    authority = signed(root, NAME, x509.BasicConstraints(ca=True, path_length=None))
    return authority, signed(server, leaf, address), key_pem(server)
