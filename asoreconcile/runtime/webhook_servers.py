"""The webhook servers of a process, with their services, health checks and metrics.

They run on every replica, as the Service may route a call to any of them.
"""

from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path

from prometheus_client import CollectorRegistry

from asoreconcile.base.clock import Clock
from asoreconcile.resources.webhooks import TypedWebhookServer
from asoreconcile.runtime.health import WebhookReadiness
from asoreconcile.runtime.manager import Manager
from asoreconcile.runtime.process_endpoints import ProcessEndpoints
from asoreconcile.runtime.runnable import Runnable, RunnableGroup
from asoreconcile.webhooks.managed import ManagedCertificates
from asoreconcile.webhooks.metrics import WebhookMetrics
from asoreconcile.webhooks.server import WebhookLimits
from asoreconcile.webhooks.serving_certificates import ServingCertificates


class WebhookServers:
    """Creates them for one application (`Application.webhooks`)."""

    def __init__(
        self,
        manager: Manager,
        process: ProcessEndpoints,
        registry: CollectorRegistry,
        *,
        clock: Clock,
    ) -> None:
        """manager: runs them. process: its readiness checks include them."""
        self._manager = manager
        self._process = process
        self._registry = registry
        self._clock = clock

    @cached_property
    def metrics(self) -> WebhookMetrics:
        """The metric families of all servers; registered at first use."""
        return WebhookMetrics(self._registry)

    def add(
        self,
        address: str,
        certificates: ServingCertificates,
        limits: WebhookLimits | None,
        client_authority: Path | None,
    ) -> TypedWebhookServer:
        """The arguments are those of `Application.webhooks`. Raises ListenError,
        OSError.
        """
        server = TypedWebhookServer(
            address,
            certificates=certificates,
            clock=self._clock,
            metrics=self.metrics,
            limits=limits,
            client_authority=client_authority,
        )
        # Before the server, in the same group: it needs a certificate to start.
        if isinstance(certificates, Runnable):
            self._manager.add(certificates, group=RunnableGroup.WEBHOOKS)
        self._manager.add(server, group=RunnableGroup.WEBHOOKS)
        # Liveness finds a dead port in a live process: readiness alone would only
        # remove the pod from the Service.
        self._process.listening.watch(server)
        pending_injections: Callable[[], Mapping[str, str]] = dict
        if isinstance(certificates, ManagedCertificates):
            pending_injections = certificates.pending_injections
        ready = WebhookReadiness(server.problem, pending_injections, clock=self._clock)
        self._process.readyz.add("webhooks", ready)
        return server
