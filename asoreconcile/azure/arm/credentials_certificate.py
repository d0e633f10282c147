"""A service principal that signs in with a certificate (mode 2).

The content is as in a Secret or a setting: PEM, with the key in the same text, or
PKCS12. It is read when the credential is made, so that a mistake is found before Azure
is asked.
Rules: R8.1-R8.6.
"""

import base64
import binascii
from typing import TYPE_CHECKING

import attrs

from asoreconcile.azure.arm.credentials import (
    CloudConfig,
    CredentialError,
    Explained,
    Sealed,
    SignInTransport,
    check_tenant,
    holder,
    identity_options,
)

if TYPE_CHECKING:
    from azure.core.credentials import TokenCredential

_PEM = b"-----BEGIN"
# Base64 of the first bytes of any PKCS12 file: a DER sequence of two length bytes.
_PKCS12_IN_BASE64 = (b"MII",)
_CERTIFICATE = "AZURE_CLIENT_CERTIFICATE"
_PASSWORD = "AZURE_CLIENT_CERTIFICATE_PASSWORD"  # noqa: S105 - a setting's name


@attrs.frozen
class ClientCertificate(Sealed):
    """A service principal that signs its token requests with a certificate's key.

    certificate: PEM or PKCS12; PKCS12 also in base64, because an environment variable
    holds text only.
    password: "" if there is no password.
    """

    tenant_id: str
    client_id: str
    certificate: bytes = attrs.field(repr=False)
    password: str = attrs.field(default="", repr=False)
    subscription_id: str = ""
    cloud: CloudConfig = attrs.field(factory=CloudConfig)
    additional_tenants: tuple[str, ...] = ()
    origin: str = ""

    def credential(self, transport: SignInTransport = None) -> "TokenCredential":
        """Return the token source. Makes no request.

        Raises CredentialError that says what is wrong with the content.
        """
        check_tenant(self.tenant_id)
        content, password = _content(self.certificate), self.password
        if _PEM in content and not _is_encrypted(content):
            # A superfluous password is not an error.
            password = ""
        check_certificate(content, password)

        def make() -> "TokenCredential":
            from azure.identity import CertificateCredential

            return CertificateCredential(
                self.tenant_id,
                self.client_id,
                certificate_data=content,
                password=password or None,
                additionally_allowed_tenants=list(self.additional_tenants),
                **identity_options(self.cloud, transport),
            )

        who = holder(self.client_id, self.origin)
        return Explained(make, self.password, who=who)


def _content(certificate: bytes) -> bytes:
    """Return the certificate's bytes, with base64 around PKCS12 decoded."""
    text = b"".join(certificate.split())
    if not text.startswith(_PKCS12_IN_BASE64):
        return certificate
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error:
        return certificate


def check_certificate(content: bytes, password: str, name: str = _CERTIFICATE) -> None:
    """Raise CredentialError unless the content has a certificate with its RSA key.

    content: PEM or PKCS12.
    name: the name of the setting or key, for messages.
    """
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey

    problem = ""
    try:
        key = (_pem_key if _PEM in content else _key12)(content, password)
    except _UnusableError as error:
        problem = str(error)
    else:
        if not isinstance(key, RSAPrivateKey):
            problem = "its key is not an RSA key, which Entra needs"
    if problem:
        raise CredentialError(f"{name} cannot be used: {problem}")


class _UnusableError(Exception):
    """A certificate cannot be used; the text says why."""


def _pem_key(content: bytes, password: str) -> object:
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.serialization import load_pem_private_key
    from cryptography.x509 import load_pem_x509_certificate

    if b"PRIVATE KEY-----" not in content:
        raise _UnusableError("it holds no private key: put the key into the same text")
    encrypted = _is_encrypted(content)
    if encrypted and not password:
        raise _UnusableError(f"its key is encrypted: give the password in {_PASSWORD}")
    problem = ""
    try:
        load_pem_x509_certificate(content)
    except ValueError:
        problem = "it holds no certificate that can be read: put both into it"
    try:
        key = load_pem_private_key(content, password.encode() or None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        wrong = f", or the password in {_PASSWORD} is wrong" if encrypted else ""
        problem = problem or f"its private key cannot be read{wrong}"
    if problem:
        raise _UnusableError(problem)
    return key


def _is_encrypted(pem: bytes) -> bool:
    """Return whether a PEM key is encrypted: PKCS8 and the older form both say so."""
    return b"ENCRYPTED" in pem


def _key12(content: bytes, password: str) -> object:
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.serialization.pkcs12 import (
        load_key_and_certificates,
    )

    key: object = None
    certificate: object = None
    problem = ""
    try:
        key, certificate, _ = load_key_and_certificates(
            content, password.encode() or None
        )
    except (ValueError, TypeError, UnsupportedAlgorithm):
        problem = (
            f"it is neither PEM nor PKCS12, or the password in {_PASSWORD} is wrong"
        )
    if not problem and (key is None or certificate is None):
        problem = "it must hold a certificate and its private key"
    if problem:
        raise _UnusableError(problem)
    return key
