"""A simulated Azure to sign in to: ARM's endpoint and the token endpoint, over TLS.

A subclass answers the requests to ARM: the simulator, or a recording.
"""

import secrets
import uuid
from abc import abstractmethod
from pathlib import Path

from asoreconcile.base.clock import SystemClock
from asoreconcile.testing.arm.entra import Entra, Registered
from asoreconcile.testing.arm.gateway import unauthenticated
from asoreconcile.testing.faults import Faults
from asoreconcile.testing.http import HttpRequest, HttpResponse, HttpsServer, Server
from asoreconcile.testing.throwaway_certificates import certificate_authority

AUDIENCE = "https://management.core.windows.net/"


class Cloud(Server):
    """One tenant with one subscription and one application that may sign in.

    faults: faults of ARM's endpoint.
    token_faults: faults of the token endpoint.
    """

    def __init__(
        self,
        *,
        faults: Faults,
        subscription_id: str,
        port: int = 0,
        token_port: int = 0,
        token_lifetime_seconds: int = 3600,
        public_url: str = "",
    ) -> None:
        """Make both endpoints.

        public_url: address at which clients reach ARM's endpoint, if there is a proxy
        before it; "" means its own address.
        """
        self.subscription_id = subscription_id
        self.tenant_id = str(uuid.uuid4())
        self.client_id = str(uuid.uuid4())
        self.client_secret = secrets.token_urlsafe(24)
        self.token_faults = Faults()
        self._faults = faults
        # Tokens expire by the wall clock, because clients measure them by it.
        self.entra = Entra(
            Registered(self.tenant_id, self.client_id, self.client_secret),
            SystemClock(),
            lifetime_seconds=token_lifetime_seconds,
        )
        authority = certificate_authority()
        self.ca_pem: bytes = authority.pem
        certificate = authority.issue(["127.0.0.1", "localhost"])
        self._certificate = certificate
        self._arm = HttpsServer(self.serve, certificate=certificate, port=port)
        self._public_url = public_url
        self._tokens = HttpsServer(
            lambda request: self.token_faults.around(request, self.entra.handle),
            certificate=certificate,
            port=token_port,
        )
        self.entra.url = self._tokens.url

    @property
    def url(self) -> str:
        """Return the URL at which clients reach ARM's endpoint."""
        return self._public_url or self._arm.url

    @property
    def port(self) -> int:
        """Return the port of ARM's endpoint."""
        return self._arm.port

    @property
    def authority(self) -> str:
        """Return the token endpoint's URL."""
        return self._tokens.url

    def start(self) -> None:
        """Start serving both endpoints, on threads of their own. Returns at once."""
        self._arm.start()
        self._tokens.start()

    def close(self) -> None:
        """Stop. Held requests are released and connections are cut."""
        self._faults.release_all()
        self.token_faults.release_all()
        self._arm.close()
        self._tokens.close()

    def write_ca(self, path: str | Path) -> None:
        """Write the certificate authority, for REQUESTS_CA_BUNDLE or SSL_CERT_FILE."""
        Path(path).write_bytes(self.ca_pem)

    def settings(self) -> dict[str, str]:
        """Return the operator's settings for this Azure, including the
        client secret.
        """
        return {
            "AZURE_SUBSCRIPTION_ID": self.subscription_id,
            "AZURE_TENANT_ID": self.tenant_id,
            "AZURE_CLIENT_ID": self.client_id,
            "AZURE_CLIENT_SECRET": self.client_secret,
            "AZURE_RESOURCE_MANAGER_ENDPOINT": self.url,
            "AZURE_RESOURCE_MANAGER_AUDIENCE": AUDIENCE,
            "AZURE_AUTHORITY_HOST": self.authority,
        }

    def serve(self, request: HttpRequest) -> HttpResponse:
        """Answer a request to ARM's endpoint, on the connection's thread."""
        return self._faults.around(request, self._signed_in)

    def _signed_in(self, request: HttpRequest) -> HttpResponse:
        if not self.entra.knows(bearer_token(request)):
            return unauthenticated(f"{self.authority}/{self.tenant_id}")
        return self.answer(request)

    @abstractmethod
    def answer(self, request: HttpRequest) -> HttpResponse:
        """Answer a request that has a token. Several threads call this at a time."""


def bearer_token(request: HttpRequest) -> str:
    """Return the token of a request, or "" if there is none."""
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    return token if scheme.lower() == "bearer" else ""
