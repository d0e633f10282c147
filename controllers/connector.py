"""Clients of ARM: one a credential, over one pool of connections an endpoint."""

import threading

from asoreconcile.arm.budget import Budget
from asoreconcile.arm.client import ArmClient
from asoreconcile.arm.credentials import CredentialSource
from asoreconcile.arm.metrics import ArmMetrics
from asoreconcile.arm.transport import ArmTransport
from asoreconcile.azure.work import Connection
from asoreconcile.clock import Clock


class Connector:
    """`controllers.connections.Connect`: makes connections, sends nothing.

    Thread-safe. A connection that is dropped leaves nothing open behind: its pool
    belongs to all credentials of the endpoint.
    """

    def __init__(
        self,
        *,
        clock: Clock,
        metrics: ArmMetrics | None = None,
        budget: Budget | None = None,
        user_agent: str = "",
    ) -> None:
        self._clock = clock
        self._metrics = metrics
        self._budget = budget
        self._user_agent = user_agent
        self._lock = threading.Lock()
        self._transports: dict[str, ArmTransport] = {}

    def __call__(self, source: CredentialSource, name: str) -> Connection:
        """name: `namespace/name` of the credential's Secret.

        Raises CredentialError for a malformed credential.
        """
        endpoint = source.cloud.endpoint
        client = ArmClient(
            endpoint,
            source.credential(),
            scope=source.cloud.scope,
            clock=self._clock,
            metrics=self._metrics,
            budget=self._budget,
            user_agent=self._user_agent,
            transport=self._transport(endpoint),
        )
        return Connection(client, subscription_id=source.subscription_id, source=name)

    def close(self) -> None:
        """Close all connections; no client can be used after it."""
        with self._lock:
            transports, self._transports = self._transports, {}
        for transport in transports.values():
            transport.close()

    def _transport(self, endpoint: str) -> ArmTransport:
        with self._lock:
            transport = self._transports.get(endpoint)
            if transport is None:
                transport = ArmTransport(url=endpoint)
                self._transports[endpoint] = transport
            return transport
