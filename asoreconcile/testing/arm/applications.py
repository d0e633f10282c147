"""Applications that sign in, and the errors by which Entra refuses a token."""

import hmac
from collections.abc import Iterable

import attrs

from asoreconcile.testing.arm.assertions import Federated

_OPENID_SCOPES = frozenset({"email", "offline_access", "openid", "profile"})
ARM_AUDIENCES = frozenset(
    {"https://management.core.windows.net", "https://management.azure.com"}
)
# Tokens are also given out for these other resources of Azure, but ARM does not accept
# them.
OTHER_AUDIENCES = frozenset(
    {
        "https://graph.microsoft.com",
        "https://ossrdbms-aad.database.windows.net",
        "https://storage.azure.com",
        "https://vault.azure.net",
    }
)


@attrs.frozen
class EntraApplication:
    """An application that may sign in.

    client_secret: "" if the application has none.
    certificates: PEM of the certificates whose keys may sign its assertions.
    federated: federated credentials of the application.
    """

    client_id: str
    client_secret: str = attrs.field(default="", repr=False)
    certificates: tuple[bytes, ...] = attrs.field(default=(), repr=False)
    federated: tuple[Federated, ...] = ()


class SignInError(Exception):
    """A sign-in that Entra refuses.

    code: one of Entra's AADSTS numbers.
    """

    def __init__(self, status: int, error: str, code: int, message: str) -> None:
        super().__init__(message)
        self.status, self.error, self.code = status, error, code


def need(form: dict[str, str], names: Iterable[str]) -> None:
    """Check that a form has all of the names. Raises SignInError."""
    for name in names:
        if not form.get(name):
            raise SignInError(
                400,
                "invalid_request",
                900144,
                f"The request body must contain the following parameter: '{name}'.",
            )


def check_secret(application: EntraApplication, form: dict[str, str]) -> None:
    """Check the application's secret in a form. Raises SignInError."""
    given, known = form.get("client_secret", ""), application.client_secret
    if not given:
        raise SignInError(
            401,
            "invalid_client",
            7000218,
            "The request body must contain the following parameter: "
            "'client_assertion' or 'client_secret'.",
        )
    if not known or not hmac.compare_digest(given.encode(), known.encode()):
        raise SignInError(
            401, "invalid_client", 7000215, "Invalid client secret provided."
        )


def audience_of(scope: str, also: frozenset[str] = frozenset()) -> str:
    """Return the audience of a scope, without a slash at the end.

    also: further known audiences.

    Scopes of OpenID Connect in the same request are ignored, as Entra does: MSAL for Go
    always sends them. Raises SignInError.
    """
    words = [word for word in scope.split(" ") if word not in _OPENID_SCOPES]
    resource, default, rest = " ".join(words).rpartition("/.default")
    if not default or rest:
        raise SignInError(
            400,
            "invalid_scope",
            1002012,
            f"The provided value for scope {scope} is not valid: client credential "
            "flows must have a resource identifier followed by /.default.",
        )
    audience = resource.rstrip("/").lower()
    if audience not in ARM_AUDIENCES | OTHER_AUDIENCES | also:
        raise SignInError(
            400,
            "invalid_resource",
            500011,
            f"The resource principal named {resource} was not found in the tenant.",
        )
    return audience
