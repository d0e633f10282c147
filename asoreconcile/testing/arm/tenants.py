"""Other tenants, and the tokens that give access to their resources (H5).

A request acts as the token of the home tenant says. If a body refers to a resource in
another tenant's subscription, the request also needs a token of that tenant, in
`x-ms-authorization-auxiliary: Bearer a, Bearer b`. There are three at most, and all of
them must be valid.
"""

from asoreconcile.base.objects import JsonObject
from asoreconcile.testing.arm.address import ArmAddress, parse
from asoreconcile.testing.arm.applications import ARM_AUDIENCES
from asoreconcile.testing.arm.entra import Entra
from asoreconcile.testing.arm.refusals import RefusedError
from asoreconcile.testing.arm.resources import references
from asoreconcile.testing.http import HttpRequest

HEADER = "x-ms-authorization-auxiliary"
_MOST = 3


class Tenants:
    """The other tenants. The caller holds the server's lock."""

    def __init__(self, entra: Entra) -> None:
        self._entra = entra
        self._by_subscription: dict[str, str] = {}

    def add(self, tenant_id: str, subscription_id: str) -> None:
        """Add another tenant, in which every application may sign in."""
        self._entra.add_tenant(tenant_id)
        self._by_subscription[subscription_id.lower()] = tenant_id.lower()

    def shown(self, request: HttpRequest) -> frozenset[str]:
        """Return the other tenants whose tokens a request has.

        Raises RefusedError 401.
        """
        tokens = [part.strip() for part in request.headers.get(HEADER, "").split(",")]
        tokens = [token for token in tokens if token]
        if len(tokens) > _MOST:
            raise _bad_token(f"{len(tokens)} tokens are more than {_MOST}.")
        return frozenset(self._tenant(token) for token in tokens)

    def check(
        self, address: ArmAddress, body: JsonObject, shown: frozenset[str]
    ) -> None:
        """Check that a body refers only to tenants whose tokens the request has.

        Raises RefusedError 403.
        """
        for id_ in references(body):
            found = parse(id_)
            subscription = found.subscription.lower() if found else ""
            tenant = self._by_subscription.get(subscription)
            if tenant is not None and tenant not in shown:
                raise RefusedError(
                    403,
                    "LinkedAuthorizationFailed",
                    "The client has permission to perform the action on scope "
                    f"'{address.id}', however the current tenant is not authorized "
                    f"to access linked subscription '{subscription}'.",
                )

    def _tenant(self, token: str) -> str:
        scheme, _, value = token.partition(" ")
        grant = self._entra.grant(value)
        if scheme != "Bearer" or grant is None or grant.audience not in ARM_AUDIENCES:
            raise _bad_token("An auxiliary token is invalid or expired.")
        return grant.tenant_id


def _bad_token(message: str) -> RefusedError:
    return RefusedError(401, "InvalidAuthenticationToken", message)
