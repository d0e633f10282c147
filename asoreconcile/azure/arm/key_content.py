"""Read a certificate and its private key with OpenSSL. Pure, but without any bound on
time: call it through `key_files`.
"""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from asoreconcile.azure.arm.key_derivation import MOST_BITS
from asoreconcile.azure.arm.key_files import (
    PASSWORD,
    PEM,
    UnusableKeyError,
    is_encrypted,
)

_CERTIFICATE = re.compile(rb"-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----")

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
    from cryptography.x509 import Certificate


def checked(content: bytes) -> bytes:
    """Return PEM without a password as it is. Raises UnusableKeyError unless it has a
    certificate and an RSA key.
    """
    _read_pem(content, "")
    return content


def opened(content: bytes, password: str) -> bytes:
    """Return the key without its password and the certificates, as PEM. Raises
    UnusableKeyError.
    """
    from cryptography.hazmat.primitives.serialization import (
        Encoding,
        NoEncryption,
        PrivateFormat,
    )

    if PEM in content:
        # A superfluous password is not an error.
        key = _read_pem(content, password if is_encrypted(content) else "")
        # As they are: one that cannot be read may follow the key's own.
        certificates = _CERTIFICATE.findall(content)
    else:
        key, others = _read_pkcs12(content, password)
        certificates = [one.public_bytes(Encoding.PEM) for one in others]
    plain = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return b"\n".join([plain, *certificates])


def _rsa(key: object) -> "RSAPrivateKey":
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey

    if not isinstance(key, RSAPrivateKey):
        raise UnusableKeyError("its key is not an RSA key, which Entra needs")
    if key.key_size > MOST_BITS:
        # It is checked at each sign-in, and longer ones take seconds.
        raise UnusableKeyError(
            f"its key has {key.key_size} bits: use one of 2048 to {MOST_BITS} bits"
        )
    return key


def _read_pem(content: bytes, password: str) -> "RSAPrivateKey":
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.serialization import load_pem_private_key
    from cryptography.x509 import load_pem_x509_certificate

    if b"PRIVATE KEY-----" not in content:
        raise UnusableKeyError(
            "it holds no private key: put the key into the same text"
        )
    encrypted = is_encrypted(content)
    if encrypted and not password:
        raise UnusableKeyError(f"its key is encrypted: give the password in {PASSWORD}")
    problem = ""
    key: object = None
    try:
        load_pem_x509_certificate(content)
    except ValueError:
        problem = "it holds no certificate that can be read: put both into it"
    try:
        key = load_pem_private_key(content, password.encode() or None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        wrong = f", or the password in {PASSWORD} is wrong" if encrypted else ""
        problem = problem or f"its private key cannot be read{wrong}"
    if problem:
        raise UnusableKeyError(problem)
    return _rsa(key)


def _read_pkcs12(
    content: bytes, password: str
) -> tuple["RSAPrivateKey", Sequence["Certificate"]]:
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.serialization.pkcs12 import (
        load_key_and_certificates,
    )

    key: object = None
    certificate: Certificate | None = None
    others: Sequence[Certificate] = ()
    problem = ""
    try:
        key, certificate, others = load_key_and_certificates(
            content, password.encode() or None
        )
    except (ValueError, TypeError, UnsupportedAlgorithm):
        problem = (
            f"it is neither PEM nor PKCS12, or the password in {PASSWORD} is wrong"
        )
    if not problem and (key is None or certificate is None):
        problem = "it must hold a certificate and its private key"
    if problem or certificate is None:
        raise UnusableKeyError(problem)
    return _rsa(key), [certificate, *others]
