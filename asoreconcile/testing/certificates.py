"""A certificate authority for one test or sandbox, and certificates it signs.

Everything is made in memory and thrown away with the process, but for who keeps an
authority to load it again; keys are P-256.
"""

import ipaddress
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import attrs
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

_VALID = timedelta(days=7)
_SKEW = timedelta(hours=1)


@attrs.frozen
class Authority:
    """A self-signed authority; `pem` is what clients trust."""

    pem: bytes
    _certificate: x509.Certificate = attrs.field(repr=False)
    _key: ec.EllipticCurvePrivateKey = attrs.field(repr=False)

    @property
    def key_pem(self) -> bytes:
        """The private key, for who keeps the authority: nobody else may read it."""
        return self._key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )

    @property
    def lasts(self) -> timedelta:
        """How long certificates of it are still good."""
        return self._certificate.not_valid_after_utc - datetime.now(UTC)

    def issue(
        self, hosts: Sequence[str], *, client: bool = False
    ) -> tuple[bytes, bytes]:
        """A server's certificate for host names and addresses: (certificate, key) PEM.

        client: a client's instead.
        """
        usage = ExtendedKeyUsageOID
        key = ec.generate_private_key(ec.SECP256R1())
        builder = _builder(hosts[0], key, issuer=self._certificate.subject)
        certificate = (
            builder.add_extension(
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
        return (
            certificate.public_bytes(serialization.Encoding.PEM),
            key.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.PKCS8,
                serialization.NoEncryption(),
            ),
        )


def certificate_authority(name: str = "asoreconcile test authority") -> Authority:
    """A new authority."""
    key = ec.generate_private_key(ec.SECP256R1())
    certificate = (
        _builder(name, key, issuer=_name(name))
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(
            x509.KeyUsage(
                digital_signature=True,
                content_commitment=False,
                key_encipherment=False,
                data_encipherment=False,
                key_agreement=False,
                key_cert_sign=True,
                crl_sign=True,
                encipher_only=False,
                decipher_only=False,
            ),
            critical=True,
        )
        .add_extension(
            x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False
        )
        .sign(key, hashes.SHA256())
    )
    pem = certificate.public_bytes(serialization.Encoding.PEM)
    return Authority(pem, certificate, key)


def load_authority(pem: bytes, key_pem: bytes) -> Authority:
    """An authority that was kept. Raises ValueError for what is none."""
    key = serialization.load_pem_private_key(key_pem, password=None)
    if not isinstance(key, ec.EllipticCurvePrivateKey):
        message = "the key of an authority is an elliptic curve's"
        raise ValueError(message)  # noqa: TRY004 - one error for all that is none
    return Authority(pem, x509.load_pem_x509_certificate(pem), key)


def _builder(
    name: str, key: ec.EllipticCurvePrivateKey, *, issuer: x509.Name
) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(_name(name))
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _SKEW)
        .not_valid_after(now + _VALID)
    )


def _name(common_name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)])


def _general_name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)
