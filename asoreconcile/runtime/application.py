"""A process of controllers in a few lines: the parts they share, made and wired once.

    app = Application("mirror", health_address=":8081")
    app.reconcile(CONFIG_MAPS, Mirror(app)).owns(SECRETS).watches(NAMESPACES, to_maps)
    sys.exit(app.run())

Every part is public and works alone: an application only saves the wiring.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from datetime import datetime
from functools import partial
from threading import Lock
from typing import Self

from asoreconcile.cache.scope import CacheOptions
from asoreconcile.cache.unreadable import ReportUnreadable
from asoreconcile.clock import Clock
from asoreconcile.errors import check_seconds
from asoreconcile.fencing import Fence
from asoreconcile.kube.cluster import ClusterConfig
from asoreconcile.kube.events import EventApi
from asoreconcile.resources.webhooks import TypedWebhookServer
from asoreconcile.runtime.cluster import Cluster, ClusterOptions, config_of
from asoreconcile.runtime.controller_host import ControllerHost
from asoreconcile.runtime.detached import detached, wait_until_ready
from asoreconcile.runtime.leaderelection.elector import lease_elector
from asoreconcile.runtime.leaderelection.lease import LeaderElectionOptions
from asoreconcile.runtime.manager import GRACE_SECONDS, Manager, ManagerError
from asoreconcile.runtime.options import ClientOptions
from asoreconcile.runtime.process_endpoints import EndpointOptions, ProcessEndpoints
from asoreconcile.runtime.process_parts import ProcessParts
from asoreconcile.runtime.runnable import RunnableGroup, RunnableHooks
from asoreconcile.runtime.signals import stop_signals
from asoreconcile.runtime.startup import StartUp
from asoreconcile.runtime.webhook_servers import WebhookServers
from asoreconcile.tracing import Tracing
from asoreconcile.webhooks.metrics import WebhookMetrics
from asoreconcile.webhooks.server import WebhookLimits
from asoreconcile.webhooks.serving_certificates import ServingCertificates


class Application(ControllerHost):
    """A client, informers, metrics, health checks and a manager that know each other.

    Make one a process. Making it sends nothing; `run` starts everything. Methods are
    safe from any thread.
    """

    def __init__(
        self,
        name: str,
        *,
        cluster: ClusterConfig | str | None = None,
        clock: Clock | None = None,
        client: ClientOptions | None = None,
        cache: CacheOptions | None = None,
        on_unreadable: ReportUnreadable | None = None,
        event_api: EventApi = "v1",
        leader_election: LeaderElectionOptions | str | None = None,
        metrics_address: str = "0",
        secure_metrics: bool = False,
        metrics_certificates: ServingCertificates | None = None,
        health_address: str = "0",
        tracing: Tracing | None = None,
        grace_seconds: float = GRACE_SECONDS,
    ) -> None:
        """name: the user agent, and the source of events.
        cluster: a configuration or a kubeconfig's path; None looks where kubectl does,
        and into the pod. Raises KubeConfigError if there is none.
        client: how fast, how patiently and by which name `client` asks. cache: which
        namespaces and objects `informer` watches.
        on_unreadable: called with objects that the caches leave out because they
        cannot be read; None records a Warning event at each.
        event_api: which kind of events `recorder` writes.
        leader_election: wait for this Lease, or one of this name, before anything is
        reconciled; None leads at once. Who loses it may write no more: `client` refuses
        to, and `run` ends with 1.
        metrics_address, health_address: `:8080`, `127.0.0.1:0`; "0" is off; one address
        may serve both, unless the probes would have to log in. Raises ListenError.
        secure_metrics: serve them over HTTPS, to users whose roles allow it (MG-8);
        metrics_certificates: what with; None makes a self-signed pair.
        tracing: spans of reconciles and of their requests, by OpenTelemetry.
        grace_seconds: the whole budget of a stop.
        Raises ValueError without a name, TypeError or ValueError for what is no time.
        """
        if not name:
            raise ValueError(
                "an application needs a name: requests and events carry it"
            )
        check_seconds("grace_seconds", grace_seconds)
        self._tracing = tracing
        parts = ProcessParts.of(clock)
        clock, metrics, threads = parts.clock, parts.metrics, parts.threads
        self.threads = threads
        """Where all that runs for as long as the process does is started, and started
        again if it dies."""
        self.registry = metrics.registry
        """What `/metrics` shows: register metrics of your own in it."""
        config = config_of(cluster)
        client = client or ClientOptions()
        user_agent = client.user_agent_of(name)
        self._elector = (
            None
            if leader_election is None
            else lease_elector(
                config,
                leader_election,
                user_agent=user_agent,
                clock=clock,
                metrics=metrics,
                threads=threads,
            )
        )
        self._process = ProcessEndpoints(
            name,
            EndpointOptions(
                metrics_address=metrics_address,
                secure_metrics=secure_metrics,
                metrics_certificates=metrics_certificates,
                health_address=health_address,
            ),
            parts,
            cluster=config,
            user_agent=user_agent,
        )
        self.healthz, self.readyz = self._process.healthz, self._process.readyz
        self.endpoints = self._process.by_address
        """The servers by address; `port` says where one listens."""
        super().__init__(
            name,
            config,
            ClusterOptions(
                client=client,
                cache=cache,
                on_unreadable=on_unreadable,
                event_api=event_api,
            ),
            parts,
            fence=self.fence,
            show=self._process.informers.add,
        )
        # Last of all: what is closed before may use timers. A process goes on after it.
        self._closing.insert(0, parts.close)
        self.on_close(self._process.close)
        metrics.expose_server_probe(
            lambda: self._probe.seconds_since_answer, lambda: self._probe.renewed
        )
        self._parts = parts
        self._not_run = Lock()
        self._clusters: set[str] = set()
        self.manager = Manager(
            clock=clock,
            elector=self._elector,
            grace_seconds=grace_seconds,
            caches_ready=lambda: self._process.synced().ok,
        )
        self._grace_seconds = grace_seconds
        self._startup = StartUp(clock, self.manager.stopping)
        self._webhook_servers = WebhookServers(
            self.manager, self._process, self.registry, clock=clock
        )
        self._add_services()

    def cluster(
        self,
        name: str,
        cluster: ClusterConfig | str,
        options: ClusterOptions | None = None,
    ) -> Cluster:
        """Another API server: `reconcile`, `owns` and `watches` take its informers.

        name: in metrics and `/readyz`; unique here. cluster: a configuration, or a
        kubeconfig's path. It starts, stops and is ready with the application; to lose
        the lease of the own cluster stops writes there too. To be made before `run`.
        Raises ManagerError if the name is taken, KubeConfigError.
        """
        config = config_of(cluster)
        if name in self._clusters:
            raise ManagerError(f"there is a cluster {name} already")
        made = Cluster(
            self.name,
            config,
            options or ClusterOptions(),
            self._parts,
            fence=self.fence,
            show=partial(self._process.informers.add, cluster=name),
        )
        self._clusters.add(name)
        self.on_close(made.close)
        for service in (made.recorder, made.informers, made.probe):
            service.name = f"{service.name} of {name}"
        self.readyz.add(f"apiServer-{name}", made.answers)
        self._run_cluster(made)
        return made

    @property
    def webhook_metrics(self) -> WebhookMetrics:
        """For `FileCertificates` and the like; there are none before it is asked."""
        return self._webhook_servers.metrics

    def webhooks(
        self,
        address: str = ":9443",
        *,
        certificates: ServingCertificates,
        limits: WebhookLimits | None = None,
    ) -> TypedWebhookServer:
        """A server for what the API server asks: register functions on the answer.

        It runs on every replica, and readiness waits for it.
        certificates: `FileCertificates`, or `ManagedCertificates`, which is started
        and stopped with it. Raises ListenError for what is no address.
        """
        return self._webhook_servers.add(address, certificates, limits)

    def before_start(self, name: str, step: Callable[[], None]) -> None:
        """Have a function called by `run`, on its thread, before anything is started:
        after those that were added before it.

        name: what it does, for the log. step: may block; called again for a quarter of
        a minute while the API server does not answer, as it may be starting too. What
        it raises else, `run` raises. For what needs the lease there is `when_leading`.
        """
        self._startup.add(name, step)

    def when_leading(
        self,
        name: str,
        step: Callable[[], None],
        *,
        on_stop: Callable[[], None] = lambda: None,
    ) -> None:
        """Have a function called once this process may write: after those and the
        controllers that were added before it, whether or not the caches are full.

        step, on_stop: as of `RunnableHooks`. Raises ManagerError if the name is taken.
        """
        hooks = RunnableHooks(name, step, on_stop=on_stop)
        self.manager.add(hooks, group=RunnableGroup.LEADER, after_caches=False)

    def run(self, *, signals: bool = True) -> int:
        """Start everything, block until stopped, stop everything; the exit code.

        signals: SIGINT and SIGTERM stop it, from the first step of `before_start` on;
        main thread only. Raises what a step of `before_start` raises, and ManagerError
        if it runs or ran: an application runs once. Rules: MG-1, MG-4, MG-6.
        """
        # From the first step on: a container's first process is not ended by a signal
        # that nobody handles, it misses it.
        with stop_signals(self.stop) if signals else nullcontext():
            self._begin()
            return self._run()

    @contextmanager
    def running(self) -> Iterator[Self]:
        """Run on a thread of its own until the block ends, as tests do.

        Blocks at the end until all has stopped. Raises RuntimeError if the exit code
        would not be 0, from what `run` would have raised; ManagerError as `run` does.
        """
        self._begin()
        with detached(self.name, self._run, self.manager):
            yield self

    def _begin(self) -> None:
        """Before anything that a second run could stop or close for the first one."""
        if not self._not_run.acquire(blocking=False):
            raise ManagerError(f"{self.name} runs once: make another Application")

    def _run(self) -> int:
        try:
            self._startup.run()
            return self.manager.run()
        except BaseException as error:
            # For who waits on another thread until it is ready.
            self.manager.fail(error)
            raise
        finally:
            self.close()

    def wait_until_ready(self, timeout_seconds: float = 30.0) -> None:
        """Block until all runs and `/readyz` would say so, in real seconds; a standby
        is ready too. Raises NotReadyError, which says what is missing.
        """
        wait_until_ready(self.manager, self.readyz, timeout_seconds)

    def stop(self) -> None:
        """Ask `run` to end. Does not wait."""
        self.manager.stop()
        self._startup.stop(self._grace_seconds)

    @property
    def fence(self) -> Fence | None:
        """What `client` asks before each piece of a write: raises NotLeadingError once
        another process may lead. For other clients that must not write then; None
        without a leader election.
        """
        return self._elector.check if self._elector else None

    @property
    def leads(self) -> bool:
        """Whether this process may write now; always, without a leader election."""
        return self._elector is None or self._elector.leads

    @property
    def predecessor_renewed(self) -> datetime | None:
        """Until when another process led before this one, by the Lease; None if none
        did, and without a leader election. Settled once `leads`.
        """
        return self._elector.predecessor_renewed if self._elector else None

    def _add_services(self) -> None:
        self.readyz.add("apiServer", self.answers)
        if self._elector is not None:
            self.healthz.add("leaderElection", self._elector.liveness)
            self.readyz.add("leaderElection", self._elector.readiness)
        for server in self._process.services():
            self.manager.add(server, group=RunnableGroup.SERVERS)
        self._run_cluster(self)

    def _run_cluster(self, cluster: Cluster) -> None:
        # The recorder with the servers, which stop last: a stop is worth events too.
        self.manager.add(cluster.recorder, group=RunnableGroup.SERVERS)
        self.manager.add(cluster.informers, group=RunnableGroup.CACHES)
        self.manager.add(cluster.probe, group=RunnableGroup.CACHES)
