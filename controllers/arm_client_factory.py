"""Clients of ARM: one a credential, over one pool of connections an endpoint."""

import threading
from collections.abc import Callable

import attrs

from asoreconcile.arm.budget import Budget
from asoreconcile.arm.client import ArmClient
from asoreconcile.arm.credentials import (
    CloudConfig,
    CredentialSource,
    auxiliary_tenants,
    sign_in_transport,
)
from asoreconcile.arm.metrics import ArmMetrics
from asoreconcile.arm.registration import Registrations
from asoreconcile.arm.transport import ArmTransport
from asoreconcile.azure.scope import Connection
from asoreconcile.clock import Clock
from asoreconcile.fencing import Fence


@attrs.frozen
class _Principal:
    """What all clients of one principal share, whatever Secrets name it.

    ARM meters each principal apart (T2), and one asks for a registration once (PR4).
    """

    budget: Budget
    registrations: Registrations


class ArmClientFactory:
    """`controllers.credential_resolver.Connect`: makes connections, sends nothing.

    Thread-safe. A connection that is dropped leaves nothing open behind: its pool
    belongs to all credentials of the endpoint, and so does the one they sign in by.
    """

    def __init__(
        self,
        *,
        clock: Clock,
        metrics: ArmMetrics | None = None,
        user_agent: str = "",
        connections: int = 64,
        before_write: Fence | None = None,
        read_only: bool = False,
    ) -> None:
        """connections: kept open at most to one endpoint; as many as there are
        workers, or each further one costs a handshake a request (T10).
        before_write: see `ArmTransport`. read_only: clients never ask for a provider's
        registration, which a read may bring about otherwise.
        """
        self._clock = clock
        self._metrics = metrics
        self._user_agent = user_agent
        self._connections = connections
        self._before_write = before_write
        self._read_only = read_only
        self._lock = threading.Lock()
        self._transports: dict[str, ArmTransport] = {}
        self._principals: dict[tuple[str, str], _Principal] = {}

    def __call__(self, source: CredentialSource, name: str) -> Connection:
        """name: `namespace/name` of the credential's Secret.

        Raises CredentialError for a malformed credential.
        """
        cloud, principal = source.cloud, self._principal_of(source)
        client = ArmClient(
            cloud.endpoint,
            source.credential(self._to_authority(cloud)),
            scope=cloud.scope,
            clock=self._clock,
            metrics=self._metrics,
            budget=principal.budget,
            registrations=principal.registrations,
            register_providers=not self._read_only,
            user_agent=self._user_agent,
            transport=self._to_arm(cloud),
            auxiliary_tenants=auxiliary_tenants(source),
        )
        return Connection(client, subscription_id=source.subscription_id, source=name)

    def close(self) -> None:
        """Close all connections; no client can be used after it."""
        with self._lock:
            transports, self._transports = self._transports, {}
        for transport in transports.values():
            transport.close()

    def _principal_of(self, source: CredentialSource) -> _Principal:
        gauge = None if self._metrics is None else self._metrics.remaining
        with self._lock:
            return self._principals.setdefault(
                (source.cloud.endpoint, source.client_id.lower()),
                _Principal(
                    Budget(self._clock, gauge=gauge), Registrations(self._clock)
                ),
            )

    def _to_arm(self, cloud: CloudConfig) -> ArmTransport:
        return self._shared(
            cloud.endpoint,
            lambda: ArmTransport(
                url=cloud.endpoint,
                connections=self._connections,
                before_write=self._before_write,
            ),
        )

    def _to_authority(self, cloud: CloudConfig) -> ArmTransport:
        return self._shared(cloud.authority_host, lambda: sign_in_transport(cloud))

    def _shared(self, url: str, make: Callable[[], ArmTransport]) -> ArmTransport:
        with self._lock:
            transport = self._transports.get(url)
            if transport is None:
                transport = self._transports[url] = make()
            return transport
