"""What a process says of itself: its checks, and the servers that answer for them.

`/healthz` and `/readyz` begin with what every process has to show; others add theirs.
"""

from prometheus_client import CollectorRegistry

from asoreconcile.clock import Clock
from asoreconcile.runtime.endpoints import Access, ListenersAlive, endpoints_at
from asoreconcile.runtime.health import (
    CachesSynced,
    HealthChecks,
    ThreadsAlive,
    TimersAlive,
)
from asoreconcile.runtime.runnable import Runnable
from asoreconcile.threads import Threads


class ProcessEndpoints:
    """The checks and servers of one process. Making it opens no socket."""

    def __init__(
        self,
        metrics_address: str,
        health_address: str,
        *,
        registry: CollectorRegistry,
        access: Access | None,
        clock: Clock,
        threads: Threads,
    ) -> None:
        """The addresses are as of an `Application`; access: to the metrics, None is
        plain HTTP. Raises ListenError.
        """
        self.healthz, self.readyz = HealthChecks("healthz"), HealthChecks("readyz")
        self.synced = CachesSynced(clock)
        self.by_address = endpoints_at(
            metrics_address,
            health_address,
            registry=registry,
            checks=(self.healthz, self.readyz),
            access=access,
        )
        self.listening = ListenersAlive(self.by_address.values())
        self._timers = TimersAlive(clock)
        self.healthz.add("timers", self._timers)
        self.healthz.add("listeners", self.listening)
        self.healthz.add("threads", ThreadsAlive(threads))
        self.readyz.add("caches", self.synced)

    def services(self) -> tuple[Runnable, ...]:
        """What the manager runs for them."""
        return (*self.by_address.values(), self._timers)
