"""A private certificate authority, and the certificates that it signs.

Used for servers whose clients get the CA: webhooks, test servers. Keys are P-256, and
nothing is written to disk. Pure except for random keys.
"""

import ipaddress
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Self

import attrs
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

BACKDATED = timedelta(hours=1)
"""How far a certificate's validity is backdated: clients' clocks may be behind."""


class CertificateError(ValueError):
    """A certificate or key cannot be read, or they do not belong together."""


@attrs.frozen
class Authority:
    """A self-signed authority; clients trust its `pem`."""

    pem: bytes
    certificate: x509.Certificate = attrs.field(repr=False)
    _key: ec.EllipticCurvePrivateKey = attrs.field(repr=False)

    @classmethod
    def make(cls, name: str, *, now: datetime, days: float) -> Self:
        """Create an authority, valid for this many days from now."""
        key = ec.generate_private_key(ec.SECP256R1())
        certificate = (
            _builder(name, key, _name(name), now=now, days=days)
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(_SIGNS, critical=True)
            .add_extension(
                x509.SubjectKeyIdentifier.from_public_key(key.public_key()),
                critical=False,
            )
            .sign(key, hashes.SHA256())
        )
        return cls(_pem(certificate), certificate, key)

    @classmethod
    def load(cls, pem: bytes, key_pem: bytes) -> Self:
        """Load an authority from its certificate and key. Raises CertificateError."""
        certificate, key = load_pair(pem, key_pem)
        return cls(_pem(certificate), certificate, key)

    @property
    def key_pem(self) -> bytes:
        """The private key as PEM: keep it secret."""
        return _key_pem(self._key)

    def issue(
        self, hosts: Sequence[str], *, now: datetime, days: float, client: bool = False
    ) -> tuple[bytes, bytes]:
        """Return a server certificate for host names and addresses, and its key, as
        PEM.

        client: whether to make a client certificate instead.
        """
        key = ec.generate_private_key(ec.SECP256R1())
        usage = ExtendedKeyUsageOID
        issuer = self.certificate.subject
        certificate = (
            _builder(hosts[0], key, issuer, now=now, days=days)
            .add_extension(
                x509.SubjectAlternativeName([_general_name(host) for host in hosts]),
                critical=False,
            )
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), True)
            .add_extension(
                x509.ExtendedKeyUsage(
                    [usage.CLIENT_AUTH if client else usage.SERVER_AUTH]
                ),
                critical=False,
            )
            .add_extension(
                x509.AuthorityKeyIdentifier.from_issuer_public_key(
                    self._key.public_key()
                ),
                critical=False,
            )
            .sign(self._key, hashes.SHA256())
        )
        return _pem(certificate), _key_pem(key)


def load_all(pem: bytes) -> list[x509.Certificate]:
    """Return the certificates of a bundle, at least one. Raises CertificateError."""
    try:
        return x509.load_pem_x509_certificates(pem)
    except ValueError as error:
        raise CertificateError(f"no certificate: {error}") from error


def load_pair(
    pem: bytes, key_pem: bytes
) -> tuple[x509.Certificate, ec.EllipticCurvePrivateKey]:
    """Return the first certificate and its key. Raises CertificateError."""
    certificate = load_all(pem)[0]
    try:
        key = serialization.load_pem_private_key(key_pem, None)
    except (ValueError, TypeError) as error:
        raise CertificateError(f"no key: {error}") from error
    if (
        not isinstance(key, ec.EllipticCurvePrivateKey)
        or key.public_key() != certificate.public_key()
    ):
        raise CertificateError("the key is not the certificate's")
    return certificate, key


def bundle(certificates: Sequence[x509.Certificate]) -> bytes:
    """Return the PEM bundle of several certificates, in order."""
    return b"".join(_pem(certificate) for certificate in certificates)


def hosts_of(certificate: x509.Certificate) -> frozenset[str]:
    """Return the certificate's host names and addresses."""
    try:
        names = certificate.extensions.get_extension_for_class(
            x509.SubjectAlternativeName
        ).value
    except x509.ExtensionNotFound:
        return frozenset()
    return frozenset(str(name.value) for name in names)


_SIGNS = x509.KeyUsage(
    digital_signature=True,
    content_commitment=False,
    key_encipherment=False,
    data_encipherment=False,
    key_agreement=False,
    key_cert_sign=True,
    crl_sign=True,
    encipher_only=False,
    decipher_only=False,
)


def _builder(
    name: str,
    key: ec.EllipticCurvePrivateKey,
    issuer: x509.Name,
    *,
    now: datetime,
    days: float,
) -> x509.CertificateBuilder:
    now = now.astimezone(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(_name(name))
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - BACKDATED)
        .not_valid_after(now + timedelta(days=days))
    )


def _name(common_name: str) -> x509.Name:
    # X.520's limit; clients use the subject alternative names, which have none.
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name[:64])])


def _general_name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)


def _key_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        # Stored in Secrets, whose readers would also have the passphrase.
        serialization.NoEncryption(),
    )
