"""The Entra token endpoint. An application's credentials are exchanged for opaque
tokens.
"""

import secrets
import threading
import urllib.parse
import uuid

import attrs

from asoreconcile.base.clock import Clock
from asoreconcile.base.objects import JsonObject
from asoreconcile.testing.arm.applications import (
    ARM_AUDIENCES,
    EntraApplication,
    SignInError,
    audience_of,
    check_secret,
    need,
)
from asoreconcile.testing.arm.assertions import JWT_BEARER, problem_of
from asoreconcile.testing.arm.refusals import answer
from asoreconcile.testing.http import HttpRequest, HttpResponse


@attrs.frozen
class Registered:
    """A tenant and its first application."""

    tenant_id: str
    client_id: str
    client_secret: str = attrs.field(repr=False)


@attrs.frozen
class Grant:
    """The rights of a token.

    audience: without a slash at the end.
    """

    client_id: str
    audience: str
    expires_at: float
    tenant_id: str


class Entra:
    """The tenants of the simulator, and the tokens given out. Safe to use from any
    thread.
    """

    def __init__(
        self, application: Registered, clock: Clock, *, lifetime_seconds: int
    ) -> None:
        self._tenant_id = application.tenant_id
        self._tenants = {application.tenant_id.lower()}
        self._clock = clock
        self.lifetime_seconds = lifetime_seconds
        self._lock = threading.Lock()
        self._applications: dict[str, EntraApplication] = {}
        self._grants: dict[str, Grant] = {}
        self.url = ""
        # These audiences belong to servers of the simulator that are not among Azure's
        # known resources.
        self.audiences: frozenset[str] = frozenset()
        self.register(
            EntraApplication(application.client_id, application.client_secret)
        )

    def register(self, application: EntraApplication) -> None:
        """Let an application sign in. It replaces an application with the same id."""
        with self._lock:
            self._applications[application.client_id.lower()] = application

    def add_tenant(self, tenant_id: str) -> None:
        """Let every application sign in to another tenant, too."""
        with self._lock:
            self._tenants.add(tenant_id.lower())

    def issue(
        self,
        client_id: str,
        *,
        audience: str = "https://management.azure.com",
        tenant_id: str = "",
    ) -> str:
        """Return a new token, as after a sign-in.

        tenant_id: "" is the first tenant.
        """
        token = secrets.token_urlsafe(48)
        expires_at = self._clock.monotonic() + self.lifetime_seconds
        tenant = (tenant_id or self._tenant_id).lower()
        with self._lock:
            self._grants[token] = Grant(client_id, audience, expires_at, tenant)
        return token

    def grant(self, token: str) -> Grant | None:
        """Return the rights of a token, or None if it is unknown or has expired."""
        with self._lock:
            grant = self._grants.get(token)
        if grant is None or self._clock.monotonic() >= grant.expires_at:
            return None
        return grant

    def knows(self, token: str) -> bool:
        """Return whether ARM accepts a token: it must be of the
        subscription's tenant.
        """
        grant = self.grant(token)
        return (
            grant is not None
            and grant.audience in ARM_AUDIENCES
            and grant.tenant_id == self._tenant_id.lower()
        )

    def tokens(self) -> list[str]:
        """Return every token that was given out and not revoked.

        Tests use them to search for leaked tokens.
        """
        with self._lock:
            return list(self._grants)

    def revoke_all(self) -> None:
        """Make all existing tokens invalid."""
        with self._lock:
            self._grants.clear()

    def handle(self, request: HttpRequest) -> HttpResponse:
        """Answer one request to the authority's host."""
        try:
            return self._route(request)
        except SignInError as refused:
            return self._refusal(refused)

    def _route(self, request: HttpRequest) -> HttpResponse:
        tenant = request.path.strip("/").split("/")[0].lower()
        with self._lock:
            is_known = tenant in self._tenants
        if not is_known:
            raise SignInError(
                400, "invalid_tenant", 90002, f"Tenant '{tenant}' not found."
            )
        if request.path.endswith("/v2.0/.well-known/openid-configuration"):
            return answer(200, self._configuration(tenant))
        if request.method == "POST" and request.path.endswith("/oauth2/v2.0/token"):
            return self._token(request, tenant)
        return answer(404, None)

    def _configuration(self, tenant: str) -> JsonObject:
        base = f"{self.url}/{tenant}"
        return {
            "issuer": f"{base}/v2.0",
            "authorization_endpoint": f"{base}/oauth2/v2.0/authorize",
            "token_endpoint": f"{base}/oauth2/v2.0/token",
            "device_authorization_endpoint": f"{base}/oauth2/v2.0/devicecode",
            "token_endpoint_auth_methods_supported": [
                "client_secret_post",
                "private_key_jwt",
            ],
        }

    def _token(self, request: HttpRequest, tenant: str) -> HttpResponse:
        form = dict(urllib.parse.parse_qsl(request.body.decode("utf-8", "replace")))
        need(form, ("grant_type", "client_id", "scope"))
        if form["grant_type"] != "client_credentials":
            raise SignInError(
                400,
                "unsupported_grant_type",
                70003,
                "The app requested an unsupported grant type.",
            )
        application = self._application(form["client_id"])
        self._check_credential(application, form, tenant)
        audience = audience_of(form["scope"], self.audiences)
        token = self.issue(application.client_id, audience=audience, tenant_id=tenant)
        return answer(
            200,
            {
                "token_type": "Bearer",
                "expires_in": self.lifetime_seconds,
                "ext_expires_in": self.lifetime_seconds,
                "access_token": token,
            },
        )

    def _application(self, client_id: str) -> EntraApplication:
        with self._lock:
            application = self._applications.get(client_id.lower())
        if application is None:
            raise SignInError(
                400,
                "unauthorized_client",
                700016,
                f"Application with identifier '{client_id}' was not found in the "
                "directory.",
            )
        return application

    def _check_credential(
        self, application: EntraApplication, form: dict[str, str], tenant: str
    ) -> None:
        if "client_assertion" not in form:
            check_secret(application, form)
            return
        if form.get("client_assertion_type") != JWT_BEARER:
            raise SignInError(
                400, "invalid_request", 90023, "Unsupported client_assertion_type."
            )
        base = f"{self.url}/{tenant}"
        problem = problem_of(
            form["client_assertion"],
            client_id=application.client_id,
            certificates=application.certificates,
            federated=application.federated,
            audiences=frozenset({f"{base}/oauth2/v2.0/token", f"{base}/v2.0"}),
        )
        if problem is not None:
            raise SignInError(401, "invalid_client", problem.code, problem.message)

    def _refusal(self, refused: SignInError) -> HttpResponse:
        now = self._clock.now()
        return answer(
            refused.status,
            {
                "error": refused.error,
                "error_description": f"AADSTS{refused.code}: {refused}",
                "error_codes": [refused.code],
                "timestamp": f"{now:%Y-%m-%d %H:%M:%SZ}",
                "trace_id": str(uuid.uuid4()),
                "correlation_id": str(uuid.uuid4()),
            },
        )
