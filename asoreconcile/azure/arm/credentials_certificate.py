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
from asoreconcile.azure.arm.key_files import UnusableKeyError, open_key

if TYPE_CHECKING:
    from azure.core.credentials import TokenCredential

# Base64 of the first bytes of any PKCS12 file: a DER sequence of two length bytes.
_PKCS12_IN_BASE64 = (b"MII",)
_CERTIFICATE = "AZURE_CLIENT_CERTIFICATE"


@attrs.frozen
class ClientCertificate(Sealed):
    """A service principal that signs its token requests with a certificate's key.

    certificate: PEM or PKCS12; PKCS12 also in base64, because an environment variable
    holds text only.
    password: "" if there is no password.
    sharer: the namespace that the certificate is of, for which its key is opened.
    """

    tenant_id: str
    client_id: str
    certificate: bytes = attrs.field(repr=False)
    password: str = attrs.field(default="", repr=False)
    subscription_id: str = ""
    cloud: CloudConfig = attrs.field(factory=CloudConfig)
    additional_tenants: tuple[str, ...] = ()
    origin: str = ""
    sharer: str = ""

    def credential(self, transport: SignInTransport = None) -> "TokenCredential":
        """Return the token source. Makes no request.

        Raises CredentialError that says what is wrong with the content.
        """
        check_tenant(self.tenant_id)
        plain = open_certificate(
            _content(self.certificate), self.password, sharer=self.sharer
        )

        def make() -> "TokenCredential":
            from azure.identity import CertificateCredential

            return CertificateCredential(
                self.tenant_id,
                self.client_id,
                # Without the password: it would be derived at each use.
                certificate_data=plain,
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


def open_certificate(
    content: bytes, password: str, name: str = _CERTIFICATE, *, sharer: str = ""
) -> bytes:
    """Return a certificate with its RSA key as PEM without a password.

    content: PEM or PKCS12; a superfluous password is not an error.
    name: the name of the setting or key, for messages.
    Raises CredentialError, and RetryError; blocks as `key_files.open_key`.
    """
    try:
        return open_key(content, password, sharer=sharer)
    except UnusableKeyError as error:
        problem = str(error)
    raise CredentialError(f"{name} cannot be used: {problem}")
