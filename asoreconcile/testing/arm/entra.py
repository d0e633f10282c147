"""The Entra token endpoint: client credentials in, opaque bearer tokens out."""

import hmac
import secrets
import threading
import urllib.parse

import attrs

from asoreconcile.clock import Clock
from asoreconcile.objects import JsonObject
from asoreconcile.testing.arm.refusals import answer
from asoreconcile.testing.http import Request, Response


@attrs.frozen
class Registered:
    """The one application that may sign in."""

    tenant_id: str
    client_id: str
    client_secret: str = attrs.field(repr=False)


class Entra:
    """Gives out tokens and knows them again. Safe from any thread."""

    def __init__(
        self, application: Registered, clock: Clock, *, lifetime_seconds: int
    ) -> None:
        self._application = application
        self._clock = clock
        self._lifetime = lifetime_seconds
        self._lock = threading.Lock()
        self._expiry: dict[str, float] = {}
        self.url = ""

    def knows(self, token: str) -> bool:
        """Whether a token was given out here and still holds."""
        with self._lock:
            expires = self._expiry.get(token)
        return expires is not None and self._clock.monotonic() < expires

    def tokens(self) -> list[str]:
        """Every token given out and not revoked, to look for where none may be."""
        with self._lock:
            return list(self._expiry)

    def revoke_all(self) -> None:
        """Make every token so far invalid."""
        with self._lock:
            self._expiry.clear()

    def handle(self, request: Request) -> Response:
        parts = request.path.strip("/").split("/")
        tenant = self._application.tenant_id
        if parts[0].lower() != tenant:
            return _refused(
                400, "invalid_tenant", f"AADSTS90002: Tenant '{parts[0]}' not found."
            )
        if request.path.endswith("/v2.0/.well-known/openid-configuration"):
            return answer(200, self._configuration(tenant))
        if request.method == "POST" and request.path.endswith("/oauth2/v2.0/token"):
            return self._token(request)
        return _refused(404, "not_found", "There is nothing here.")

    def _configuration(self, tenant: str) -> JsonObject:
        base = f"{self.url}/{tenant}"
        return {
            "issuer": f"{base}/v2.0",
            "authorization_endpoint": f"{base}/oauth2/v2.0/authorize",
            "token_endpoint": f"{base}/oauth2/v2.0/token",
            "device_authorization_endpoint": f"{base}/oauth2/v2.0/devicecode",
            "token_endpoint_auth_methods_supported": ["client_secret_post"],
        }

    def _token(self, request: Request) -> Response:
        form = dict(urllib.parse.parse_qsl(request.body.decode("utf-8", "replace")))
        application = self._application
        if form.get("grant_type") != "client_credentials":
            return _refused(
                400,
                "unsupported_grant_type",
                "AADSTS70003: The app requested an unsupported grant type.",
            )
        if form.get("client_id", "").lower() != application.client_id:
            return _refused(
                400,
                "unauthorized_client",
                "AADSTS700016: Application with identifier "
                f"'{form.get('client_id', '')}' was not found in the directory.",
            )
        given = form.get("client_secret", "").encode()
        if not hmac.compare_digest(given, application.client_secret.encode()):
            return _refused(
                401,
                "invalid_client",
                "AADSTS7000215: Invalid client secret provided.",
            )
        if not form.get("scope", "").endswith("/.default"):
            return _refused(
                400,
                "invalid_scope",
                "AADSTS1002012: The provided value for scope is not valid.",
            )
        token = secrets.token_urlsafe(48)
        with self._lock:
            self._expiry[token] = self._clock.monotonic() + self._lifetime
        return answer(
            200,
            {
                "token_type": "Bearer",
                "expires_in": self._lifetime,
                "ext_expires_in": self._lifetime,
                "access_token": token,
            },
        )


def _refused(status: int, error: str, description: str) -> Response:
    return answer(status, {"error": error, "error_description": description})
