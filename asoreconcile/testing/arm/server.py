"""The ARM simulator: Azure Resource Manager and its token endpoint over TLS.

    with ArmServer() as azure:
        azure.write_ca(path)          # for REQUESTS_CA_BUNDLE
        settings = azure.settings()   # for the operator's environment

Generic over all resource types, with each provider's way to answer (`styles`). `faults`
makes things go wrong, `journal` tells what was asked.
"""

import secrets
import threading
import uuid
from pathlib import Path
from types import TracebackType
from typing import Self

from asoreconcile.clock import Clock, SystemClock
from asoreconcile.objects import JsonObject
from asoreconcile.testing.arm.address import parse
from asoreconcile.testing.arm.control import PREFIX, Control
from asoreconcile.testing.arm.entra import Entra, Registered
from asoreconcile.testing.arm.faults import ArmFaults
from asoreconcile.testing.arm.gateway import Gateway, unauthenticated
from asoreconcile.testing.arm.journal import Exchange, exchange
from asoreconcile.testing.arm.monitors import Monitors
from asoreconcile.testing.arm.operations import Operations
from asoreconcile.testing.arm.provider import Estate
from asoreconcile.testing.arm.resources import Resources
from asoreconcile.testing.arm.scopes import Scopes
from asoreconcile.testing.arm.session import ArmSession
from asoreconcile.testing.arm.styles import Styles
from asoreconcile.testing.arm.views import Views
from asoreconcile.testing.certificates import certificate_authority
from asoreconcile.testing.faults import Faults
from asoreconcile.testing.http import HttpsServer, Request, Response

AUDIENCE = "https://management.core.windows.net/"


class ArmServer:
    """Start with `with` or `start()`; end with `close()`."""

    def __init__(
        self,
        *,
        port: int = 0,
        token_port: int = 0,
        clock: Clock | None = None,
        latency: float = 0.0,
        lro: float = 0.0,
        retry_after: int | None = None,
        subscription_id: str = "",
        token_lifetime_seconds: int = 3600,
        control_token: str = "",
    ) -> None:
        """port, token_port: 0 is any free one. latency: seconds before each answer.
        lro: seconds each long-running operation takes. retry_after: seconds, instead
        of the ones each provider asks for. control_token: opens `/_control/`.
        """
        clock = clock or SystemClock()
        self.subscription_id = subscription_id or str(uuid.uuid4())
        self.tenant_id = str(uuid.uuid4())
        self.client_id = str(uuid.uuid4())
        self.client_secret = secrets.token_urlsafe(24)
        self.faults = ArmFaults()
        self.faults.latency_seconds = latency
        self.token_faults = Faults()
        self.journal: list[Exchange] = []
        self._clock = clock
        self._lock = threading.RLock()
        application = Registered(self.tenant_id, self.client_id, self.client_secret)
        # Tokens live by the wall clock: that is what clients measure them by.
        self.entra = Entra(
            application, SystemClock(), lifetime_seconds=token_lifetime_seconds
        )
        authority = certificate_authority()
        self.ca_pem: bytes = authority.pem
        certificate = authority.issue(["127.0.0.1", "localhost"])
        self._arm = HttpsServer(self._serve, certificate=certificate, port=port)
        self._tokens = HttpsServer(
            lambda request: self.token_faults.around(request, self.entra.handle),
            certificate=certificate,
            port=token_port,
        )
        self.entra.url = self._tokens.url
        self.styles = Styles()
        self._resources = Resources()
        views = Views(self._resources, self.styles, clock)
        subscriptions = frozenset({self.subscription_id.lower()})
        self._estate = Estate(
            tenant_id=self.tenant_id,
            clock=clock,
            styles=self.styles,
            resources=self._resources,
            views=views,
            operations=Operations(clock, seconds=lro),
            monitors=Monitors(self._arm.url, retry_after=retry_after),
            scopes=Scopes(subscriptions, self._resources, self.styles),
            faults=self.faults,
        )
        self._gateway = Gateway(self._estate)
        self._control = Control(
            control_token, journal=self.journal, resources=self.resources
        )

    @property
    def url(self) -> str:
        """ARM's endpoint."""
        return self._arm.url

    @property
    def authority(self) -> str:
        """The token endpoint's host."""
        return self._tokens.url

    def start(self) -> None:
        self._arm.start()
        self._tokens.start()

    def close(self) -> None:
        """Stop: held requests go on, connections are cut."""
        self.faults.release_all()
        self.token_faults.release_all()
        self._arm.close()
        self._tokens.close()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

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

    def session(self) -> ArmSession:
        """A signed-in session for requests by hand; close it. Safe from any thread."""
        return ArmSession(
            self.url, ca_pem=self.ca_pem, token=self.entra.issue(self.client_id)
        )

    def resources(self) -> dict[str, JsonObject]:
        """All resources by id, as a GET would show them."""
        with self._lock:
            views = self._estate.views
            return {r.address.id: views.body(r) for r in self._resources}

    def seed(self, id_: str, body: JsonObject) -> None:
        """Put a resource there, as somebody else would have. Raises ValueError."""
        address = parse(id_)
        if address is None:
            message = f"{id_} is not a resource's id"
            raise ValueError(message)
        with self._lock:
            self._gateway.provider.store_seed(address, body)

    def remove(self, id_: str) -> None:
        """Take a resource away with all below it, as somebody else would have."""
        with self._lock:
            self._resources.remove(id_)

    def _serve(self, request: Request) -> Response:
        def handle(request: Request) -> Response:
            scheme, _, token = request.headers.get("authorization", "").partition(" ")
            if scheme.lower() != "bearer" or not self.entra.knows(token):
                return unauthenticated(f"{self.authority}/{self.tenant_id}")
            with self._lock:
                return self._gateway.handle(request)

        if request.path.startswith(PREFIX):
            return self._control.handle(request)
        status = 0
        try:
            response = self.faults.around(request, handle)
            status = response.status
        finally:
            self._note(request, status)
        return response

    def _note(self, request: Request, status: int) -> None:
        """Journal a request. status: 0 for a dropped connection."""
        with self._lock:
            look = self._gateway.look(request)
            entry = exchange(
                request,
                status=status,
                at=self._clock.monotonic(),
                monitored=look.operation.address.id if look else "",
            )
            self.journal.append(entry)
