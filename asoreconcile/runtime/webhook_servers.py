"""The webhook servers of a process: started, checked and counted with everything else.

They run on every replica: the API server asks whichever the Service leads it to.
"""

from collections.abc import Callable, Mapping
from functools import cached_property

from prometheus_client import CollectorRegistry

from asoreconcile.clock import Clock
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
    """Makes them for one application (`Application.webhooks`)."""

    def __init__(
        self,
        manager: Manager,
        process: ProcessEndpoints,
        registry: CollectorRegistry,
        *,
        clock: Clock,
    ) -> None:
        """manager: runs them. process: has the checks that wait for them."""
        self._manager = manager
        self._process = process
        self._registry = registry
        self._clock = clock

    @cached_property
    def metrics(self) -> WebhookMetrics:
        """The families of all servers; not registered before they are asked for."""
        return WebhookMetrics(self._registry)

    def add(
        self,
        address: str,
        certificates: ServingCertificates,
        limits: WebhookLimits | None,
    ) -> TypedWebhookServer:
        """The arguments are those of `Application.webhooks`. Raises ListenError."""
        server = TypedWebhookServer(
            address,
            certificates=certificates,
            clock=self._clock,
            metrics=self.metrics,
            limits=limits,
        )
        # Before the server, in the same group: it needs a certificate to begin.
        if isinstance(certificates, Runnable):
            self._manager.add(certificates, group=RunnableGroup.WEBHOOKS)
        self._manager.add(server, group=RunnableGroup.WEBHOOKS)
        # A port that died with its process alive is found by liveness: its readiness
        # alone would only take it out of the Service.
        self._process.listening.watch(server)
        pending_injections: Callable[[], Mapping[str, str]] = dict
        if isinstance(certificates, ManagedCertificates):
            pending_injections = certificates.pending_injections
        ready = WebhookReadiness(server.problem, pending_injections, clock=self._clock)
        self._process.readyz.add("webhooks", ready)
        return server
