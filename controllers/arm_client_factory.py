"""Create clients of ARM and Microsoft Graph: one per credential.

All clients of one endpoint share a pool of connections.
"""

import threading
from collections.abc import Callable
from functools import cache
from typing import Any, cast

import attrs
from azure.core.credentials import TokenCredential

from asoreconcile.azure.arm.budget import Budget
from asoreconcile.azure.arm.client import ArmClient
from asoreconcile.azure.arm.credentials import (
    CloudConfig,
    CredentialSource,
    auxiliary_tenants,
    sign_in_transport,
)
from asoreconcile.azure.arm.metrics import ArmMetrics
from asoreconcile.azure.arm.registration import Registrations
from asoreconcile.azure.arm.transport import ArmTransport
from asoreconcile.azure.graph.client import GraphClient
from asoreconcile.azure.graph.cloud import graph_endpoint
from asoreconcile.azure.graph.metrics import resource_label
from asoreconcile.azure.reconcile.scope.shared_dependencies import Connection
from asoreconcile.base.clock import Clock
from asoreconcile.base.fencing import Fence


@attrs.frozen
class _Principal:
    """The parts that all clients of one principal at an endpoint share.

    Several Secrets may name one principal. ARM limits each principal separately (T2),
    and a principal requests a registration once (PR4).
    """

    budget: Budget
    registrations: Registrations


@attrs.define(eq=False, kw_only=True)
class ArmClientFactory:
    """`controllers.credential_resolver.Connect`: creates connections, sends nothing.
    Thread-safe.

    A dropped connection leaves nothing open: the pools belong to all credentials of an
    endpoint or authority.

    connections: the maximum kept open to one endpoint; use the number of workers, else
    each further worker needs a handshake for each request (T10). before_write: argument
    of `ArmTransport`. read_only: if true, clients never request a provider's
    registration. graph_endpoint: the operator's setting of that name.
    """

    _clock: Clock
    _metrics: ArmMetrics | None = None
    _user_agent: str = ""
    _connections: int = 64
    _before_write: Fence | None = None
    _read_only: bool = False
    _graph_endpoint: str = ""
    _lock: threading.Lock = attrs.field(init=False, factory=threading.Lock)
    _transports: dict[str, ArmTransport] = attrs.field(init=False, factory=dict)
    _principals: dict[tuple[str, str], _Principal] = attrs.field(
        init=False, factory=dict
    )

    def __call__(
        self, source: CredentialSource, name: str, *, entra_app_id: str = ""
    ) -> Connection:
        """Return the connection of a credential.

        name: `namespace/name` of the credential's Secret.
        entra_app_id: the application that calls Graph instead of the credential's own;
        it signs in with the same proof (a federated token, a certificate or a secret).

        Raises CredentialError for a malformed credential.
        """
        cloud = source.cloud
        principal = self._principal_of(cloud.endpoint, source)
        credential = source.credential(self._to_authority(cloud))

        @cache
        def graph() -> GraphClient:
            if not entra_app_id:
                return self._graph_client(source, credential)
            other = cast(
                "CredentialSource",
                attrs.evolve(cast("Any", source), client_id=entra_app_id),
            )
            return self._graph_client(
                other, other.credential(self._to_authority(cloud))
            )

        client = ArmClient(
            cloud.endpoint,
            credential,
            scope=cloud.scope,
            clock=self._clock,
            metrics=self._metrics,
            budget=principal.budget,
            registrations=principal.registrations,
            register_providers=not self._read_only,
            user_agent=self._user_agent,
            transport=self._to_azure(cloud.endpoint),
            auxiliary_tenants=auxiliary_tenants(source),
        )
        return Connection(
            client,
            subscription_id=source.subscription_id,
            source=name,
            tenant_id=source.tenant_id,
            client_id=source.client_id,
            graph=graph,
        )

    def close(self) -> None:
        """Close all connections; no client can be used afterwards."""
        with self._lock:
            transports, self._transports = self._transports, {}
        for transport in transports.values():
            transport.close()

    def _graph_client(
        self, source: CredentialSource, credential: TokenCredential
    ) -> GraphClient:
        endpoint = graph_endpoint(
            source.cloud.authority_host, configured=self._graph_endpoint
        )
        return GraphClient(
            endpoint,
            credential,
            clock=self._clock,
            metrics=self._metrics and self._metrics.labelled(resource_label),
            budget=self._principal_of(endpoint, source).budget,
            user_agent=self._user_agent,
            transport=self._to_azure(endpoint),
        )

    def _principal_of(self, endpoint: str, source: CredentialSource) -> _Principal:
        gauge = None if self._metrics is None else self._metrics.remaining
        with self._lock:
            return self._principals.setdefault(
                (endpoint, source.client_id.lower()),
                _Principal(
                    Budget(self._clock, gauge=gauge), Registrations(self._clock)
                ),
            )

    def _to_azure(self, endpoint: str) -> ArmTransport:
        return self._transport(
            endpoint,
            lambda: ArmTransport(
                url=endpoint,
                connections=self._connections,
                before_write=self._before_write,
                clock=self._clock,
            ),
        )

    def _to_authority(self, cloud: CloudConfig) -> ArmTransport:
        return self._transport(cloud.authority_host, lambda: sign_in_transport(cloud))

    def _transport(self, url: str, make: Callable[[], ArmTransport]) -> ArmTransport:
        with self._lock:
            if url not in self._transports:
                self._transports[url] = make()
            return self._transports[url]
