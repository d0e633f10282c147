"""Client assertions: signed proofs in place of a client secret, checked as Entra does.

An application sends a JWT that was signed with the key of a registered certificate, or
a JWT that a trusted issuer made (federation, for example of a cluster's service
accounts).
"""

import base64
import time
from collections.abc import Callable, Iterable
from typing import Any

import attrs
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric import padding
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.x509 import load_pem_x509_certificate

from asoreconcile.base import jsontext

JWT_BEARER = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
EXCHANGE_AUDIENCE = "api://AzureADTokenExchange"
# Clocks may differ by five minutes before a token begins.
_SKEW_SECONDS = 300.0


@attrs.frozen
class Federated:
    """A federated credential: the issuer, subject and audience that prove an
    application.

    Signatures are not checked, because the issuer's keys are not available here.
    """

    issuer: str
    subject: str
    audience: str = EXCHANGE_AUDIENCE


@attrs.frozen
class AssertionProblem:
    """The reason why an assertion is refused.

    code: one of Entra's AADSTS numbers.
    """

    code: int
    message: str


def problem_of(
    assertion: str,
    *,
    client_id: str,
    certificates: Iterable[bytes],
    federated: Iterable[Federated],
    audiences: frozenset[str],
    now: Callable[[], float] = time.time,
) -> AssertionProblem | None:
    """Return why an assertion does not prove the application, or None if it does.

    certificates: in PEM.
    audiences: the URLs of this token endpoint.
    """
    try:
        claims = _part(assertion, 1)
        _part(assertion, 0)
    except ValueError:
        return AssertionProblem(50027, "Invalid JWT token. Token format not valid.")
    begins, expires = claims.get("nbf", 0), claims.get("exp")
    if (
        not isinstance(begins, (int, float))
        or not isinstance(expires, (int, float))
        or not begins - _SKEW_SECONDS <= now() < expires
    ):
        return AssertionProblem(
            700024, "Client assertion is not within its valid time range."
        )
    if claims.get("iss") == client_id:
        return _own(assertion, claims, client_id, certificates, audiences)
    said = (claims.get("iss"), claims.get("sub"), _audience(claims))
    if any(said == (f.issuer, f.subject, f.audience) for f in federated):
        return None
    return AssertionProblem(
        70021,
        "No matching federated identity record found for presented assertion. "
        f"Assertion Issuer: '{said[0]}'. Assertion Subject: '{said[1]}'. Assertion "
        f"Audience: '{said[2]}'.",
    )


def _own(
    assertion: str,
    claims: dict[str, Any],
    client_id: str,
    certificates: Iterable[bytes],
    audiences: frozenset[str],
) -> AssertionProblem | None:
    if claims.get("sub") != client_id or _audience(claims) not in audiences:
        return AssertionProblem(
            700023, "Client assertion audience claim does not match."
        )
    if any(_signed(assertion, certificate) for certificate in certificates):
        return None
    return AssertionProblem(
        700027, "The certificate used to sign the client assertion is not registered."
    )


def _audience(claims: dict[str, Any]) -> str:
    audience = claims.get("aud")
    return str(audience[0] if isinstance(audience, list) and audience else audience)


def _signed(assertion: str, certificate: bytes) -> bool:
    key = load_pem_x509_certificate(certificate).public_key()
    if not isinstance(key, RSAPublicKey):
        return False
    message, _, signature = assertion.rpartition(".")
    algorithm = _part(assertion, 0).get("alg")
    scheme: padding.AsymmetricPadding = padding.PKCS1v15()
    if algorithm == "PS256":
        scheme = padding.PSS(padding.MGF1(SHA256()), padding.PSS.DIGEST_LENGTH)
    try:
        key.verify(_decoded(signature), message.encode(), scheme, SHA256())
    except InvalidSignature:
        return False
    return algorithm in ("PS256", "RS256")


def _part(assertion: str, index: int) -> dict[str, Any]:
    parts = assertion.split(".")
    if len(parts) != 3:
        raise ValueError(assertion[:0])
    value = jsontext.loads(_decoded(parts[index]))
    if not isinstance(value, dict):
        raise ValueError(assertion[:0])  # noqa: TRY004 - callers catch one kind
    return value


def _decoded(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
