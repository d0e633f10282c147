"""An Azure to sign in to: ARM's endpoint and the token endpoint, over TLS.

What stands behind ARM's endpoint is the subclass's: the simulator, or a recording.
"""

import secrets
import uuid
from abc import abstractmethod
from pathlib import Path

from asoreconcile.clock import SystemClock
from asoreconcile.testing.arm.entra import Entra, Registered
from asoreconcile.testing.arm.gateway import unauthenticated
from asoreconcile.testing.faults import Faults
from asoreconcile.testing.http import HttpRequest, HttpResponse, HttpsServer, Server
from asoreconcile.testing.throwaway_certificates import certificate_authority

AUDIENCE = "https://management.core.windows.net/"


class Cloud(Server):
    """One tenant with one subscription and one application that may sign in.

    faults, token_faults: what goes wrong at ARM's endpoint and at the token endpoint.
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
        """public_url: where clients reach ARM's endpoint, if something stands before
        it; "" for its own address.
        """
        self.subscription_id = subscription_id
        self.tenant_id = str(uuid.uuid4())
        self.client_id = str(uuid.uuid4())
        self.client_secret = secrets.token_urlsafe(24)
        self.token_faults = Faults()
        self._faults = faults
        # Tokens live by the wall clock: that is what clients measure them by.
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
        """ARM's endpoint, as clients reach it."""
        return self._public_url or self._arm.url

    @property
    def port(self) -> int:
        """Where ARM's endpoint listens."""
        return self._arm.port

    @property
    def authority(self) -> str:
        """The token endpoint's host."""
        return self._tokens.url

    def start(self) -> None:
        """Start serving both endpoints, each on threads of its own; returns at once."""
        self._arm.start()
        self._tokens.start()

    def close(self) -> None:
        """Stop: held requests go on, connections are cut."""
        self._faults.release_all()
        self.token_faults.release_all()
        self._arm.close()
        self._tokens.close()

    def write_ca(self, path: str | Path) -> None:
        """Write the certificate authority, for REQUESTS_CA_BUNDLE or SSL_CERT_FILE."""
        Path(path).write_bytes(self.ca_pem)

    def settings(self) -> dict[str, str]:
        """The operator's settings for this Azure; the client secret is among them."""
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
        """Answer at ARM's endpoint, on a connection's thread."""
        return self._faults.around(request, self._signed_in)

    def _signed_in(self, request: HttpRequest) -> HttpResponse:
        if not self.entra.knows(bearer_token(request)):
            return unauthenticated(f"{self.authority}/{self.tenant_id}")
        return self.answer(request)

    @abstractmethod
    def answer(self, request: HttpRequest) -> HttpResponse:
        """Answer who has shown a token; several threads at a time."""


def bearer_token(request: HttpRequest) -> str:
    """The token that a request shows; "" for none."""
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    return token if scheme.lower() == "bearer" else ""
