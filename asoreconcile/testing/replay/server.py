"""A recording of Azure as an ARM endpoint over TLS, with its token endpoint.

with ReplayServer(read_recordings(archive, [name])[name]) as azure:
    azure.write_ca(path)          # for REQUESTS_CA_BUNDLE
    settings = azure.settings()   # for the operator's environment
    ...
    azure.summary()               # what did not fit the recording
"""

import re
import secrets
import threading
import uuid
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import orjson

from asoreconcile.clock import SystemClock
from asoreconcile.testing.arm.entra import Entra, Registered
from asoreconcile.testing.arm.gateway import unauthenticated
from asoreconcile.testing.arm.refusals import JSON_TYPE
from asoreconcile.testing.arm.server import AUDIENCE
from asoreconcile.testing.certificates import certificate_authority
from asoreconcile.testing.faults import Faults
from asoreconcile.testing.http import HttpsServer, Request, Response
from asoreconcile.testing.replay.exchanges import Exchange, target_of
from asoreconcile.testing.replay.playback import (
    Asked,
    Playback,
    Played,
    Summary,
)

_SUBSCRIPTION = re.compile(r"^/subscriptions/([^/]+)", re.IGNORECASE)
_TOKEN_SECONDS = 3600


class ReplayServer:
    """Start with `with` or `start()`; end with `close()`. Safe from any thread."""

    def __init__(
        self, exchanges: Sequence[Exchange], *, retry_after_seconds: int = 1
    ) -> None:
        """exchanges: one recording, in order. retry_after_seconds: what every
        recorded Retry-After is cut down to.
        """
        self.subscription_id = _subscription_of(exchanges)
        self.tenant_id = str(uuid.uuid4())
        self.client_id = str(uuid.uuid4())
        self.client_secret = secrets.token_urlsafe(24)
        self.faults = Faults()
        self._retry_after = str(retry_after_seconds)
        self._playback = Playback(exchanges)
        self._lock = threading.Lock()
        application = Registered(self.tenant_id, self.client_id, self.client_secret)
        self.entra = Entra(application, SystemClock(), lifetime_seconds=_TOKEN_SECONDS)
        authority = certificate_authority()
        self.ca_pem: bytes = authority.pem
        certificate = authority.issue(["127.0.0.1", "localhost"])
        self._arm = HttpsServer(self._serve, certificate=certificate)
        self._tokens = HttpsServer(self.entra.handle, certificate=certificate)
        self.entra.url = self._tokens.url

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

    @property
    def journal(self) -> list[Asked]:
        """What was asked so far, in order."""
        with self._lock:
            return list(self._playback.journal)

    def summary(self) -> Summary:
        """What was asked so far, and what did not fit the recording."""
        with self._lock:
            return self._playback.summary()

    def _serve(self, request: Request) -> Response:
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not self.entra.knows(token):
            return unauthenticated()
        return self.faults.around(request, self._play)

    def _play(self, request: Request) -> Response:
        target = target_of(
            request.method, request.path, request.query.get("api-version", "")
        )
        with self._lock:
            played = self._playback.play(target, _parsed(request.body))
        return self._response(played)

    def _response(self, played: Played) -> Response:
        headers = {}
        if played.exchange is not None:
            endpoint = played.exchange.endpoint
            headers = {
                name: value.replace(endpoint, self.url)
                for name, value in played.exchange.headers.items()
            }
            if "retry-after" in headers:
                headers["retry-after"] = self._retry_after
        if isinstance(played.body, str):
            return Response(played.status, played.body.encode(), headers)
        if played.body is None:
            return Response(played.status, b"", headers)
        headers["Content-Type"] = JSON_TYPE
        return Response(played.status, orjson.dumps(played.body), headers)


def _parsed(body: bytes) -> Any:
    try:
        return orjson.loads(body) if body else None
    except ValueError:
        return body.decode("utf-8", "replace")


def _subscription_of(exchanges: Sequence[Exchange]) -> str:
    for exchange in exchanges:
        if match := _SUBSCRIPTION.match(exchange.path):
            return match[1]
    return str(uuid.UUID(int=0))
