"""The health checks of a process, and the servers that serve them.

`/healthz` and `/readyz` start with the checks that every process has; others are added.
"""

import threading

from asoreconcile.cache.informer import Informer
from asoreconcile.kube.cluster import ClusterConfig
from asoreconcile.observability.metrics import RuntimeMetrics
from asoreconcile.runtime.debug import DebugPages
from asoreconcile.runtime.endpoints import Access, ListenersAlive, endpoints_at
from asoreconcile.runtime.health import (
    CachesSynced,
    HealthChecks,
    ThreadsAlive,
    TimersAlive,
)
from asoreconcile.runtime.metrics_authorization import metrics_access, review_client
from asoreconcile.runtime.process_parts import ProcessParts
from asoreconcile.runtime.runnable import Runnable
from asoreconcile.serving.listener import OFF
from asoreconcile.webhooks.serving_certificates import (
    SelfSignedCertificate,
    ServingCertificates,
)


class InformerRegistry:
    """The informers that metrics and `/debug` show, by kind. Safe from any thread."""

    def __init__(self, *, synced: CachesSynced, metrics: RuntimeMetrics) -> None:
        """synced: readiness check that includes each informer. metrics: metrics that
        show each informer.
        """
        self._synced = synced
        self._metrics = metrics
        self._lock = threading.Lock()
        self._labels: dict[Informer, str] = {}
        self._taken: set[str] = set()

    def add(self, informer: Informer, *, cluster: str = "") -> bool:
        """Show an informer; False if it is already shown. cluster: name of the cluster;
        "" for the process's own.
        """
        with self._lock:
            if informer in self._labels:
                return False
            label = self._labels[informer] = self._label(informer, cluster)
            # Under the lock, here and below: another thread may reuse the label, and a
            # late removal would remove it from the new informer.
            self._synced.watch(label, informer.has_synced, lambda: informer.last_error)
            self._metrics.informer(
                label,
                has_synced=informer.has_synced,
                idle_seconds=informer.seconds_since_activity,
                unreadable=lambda: len(informer.unreadable),
            )
        return True

    def by_label(self) -> dict[str, Informer]:
        """Return the shown informers, by label."""
        with self._lock:
            return {label: informer for informer, label in self._labels.items()}

    def remove(self, informer: Informer) -> None:
        """Stop showing an informer. Idempotent."""
        with self._lock:
            label = self._labels.pop(informer, None)
            if label is not None:
                self._taken.discard(label)
                self._synced.forget(label)
                self._metrics.forget(label)

    def _label(self, informer: Informer, cluster: str) -> str:
        """Return the kind, with a number from its second informer on."""
        kind = str(informer.resource.group_kind)
        kind = f"{cluster}/{kind}" if cluster else kind
        # One kind may be cached twice, whole and as metadata: metric series need unique
        # names.
        label, count = kind, 1
        while label in self._taken:
            count += 1
            label = f"{kind} ({count})"
        self._taken.add(label)
        return label


class ProcessEndpoints:
    """The checks and servers of one process. The constructor opens no socket."""

    def __init__(
        self,
        name: str,
        parts: ProcessParts,
        *,
        cluster: ClusterConfig,
        user_agent: str,
        metrics_address: str,
        secure_metrics: bool,
        metrics_certificates: ServingCertificates | None,
        health_address: str,
    ) -> None:
        """name: name in the self-signed certificate, if one is needed. cluster,
        user_agent: arguments of the client that authorizes metrics requests. The other
        arguments are those of `Application`. Raises ListenError.
        """
        clock, metrics = parts.clock, parts.metrics
        self._reviewer = (
            review_client(cluster, user_agent, clock=clock, metrics=metrics)
            if secure_metrics and metrics_address not in OFF
            else None
        )
        access: Access | None = None
        if self._reviewer is not None:
            shown = metrics_certificates or SelfSignedCertificate(name, clock=clock)
            access = metrics_access(self._reviewer, shown, clock=clock)
        self.healthz, self.readyz = HealthChecks("healthz"), HealthChecks("readyz")
        self.synced = CachesSynced(clock)
        self.informers = InformerRegistry(synced=self.synced, metrics=metrics)
        self.debug = DebugPages(self.informers.by_label, clock=clock)
        self.by_address = endpoints_at(
            metrics_address,
            health_address,
            registry=metrics.registry,
            checks=(self.healthz, self.readyz),
            access=access,
            debug=self.debug,
        )
        self.listening = ListenersAlive(self.by_address.values())
        self._timers = TimersAlive(clock)
        self.healthz.add("timers", self._timers)
        self.healthz.add("listeners", self.listening)
        self.healthz.add("threads", ThreadsAlive(parts.threads))
        self.readyz.add("caches", self.synced.readiness)

    def services(self) -> tuple[Runnable, ...]:
        """Return the services for the manager to run."""
        return (*self.by_address.values(), self._timers)

    def close(self) -> None:
        """Close the client that authorizes metrics requests; idempotent."""
        if self._reviewer is not None:
            self._reviewer.close()
