"""A process of controllers in a few lines: creates and connects the parts they share.

    app = Application("mirror", health_address=":8081")
    app.reconcile(CONFIG_MAPS, Mirror(app)).owns(SECRETS).watches(NAMESPACES, to_maps)
    sys.exit(app.run())

Every part is public and works alone; an application only connects them.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from datetime import datetime
from functools import cached_property, partial
from os import PathLike
from pathlib import Path
from threading import Lock
from typing import Self

from asoreconcile.base.clock import Clock
from asoreconcile.base.errors import check_is, check_number
from asoreconcile.base.fencing import Fence
from asoreconcile.base.log import Logger
from asoreconcile.base.signatures import check_takes
from asoreconcile.base.tracing import Tracing
from asoreconcile.cache.scope import CacheOptions
from asoreconcile.cache.unreadable import ReportUnreadable
from asoreconcile.kube.cluster import ClusterConfig
from asoreconcile.kube.events import EventApi
from asoreconcile.resources.webhooks import TypedWebhookServer
from asoreconcile.runtime.cluster import Cluster, ClusterOptions, config_of
from asoreconcile.runtime.controller_registrar import ControllerRegistrar
from asoreconcile.runtime.detached import detached, wait_until_ready
from asoreconcile.runtime.flight_record import FlightRecord
from asoreconcile.runtime.health import CheckResult, WebhookReadiness
from asoreconcile.runtime.leaderelection.elector import lease_elector
from asoreconcile.runtime.leaderelection.lease import LeaderElectionOptions
from asoreconcile.runtime.manager import GRACE_SECONDS, Manager, ManagerError
from asoreconcile.runtime.options import ClientOptions
from asoreconcile.runtime.process_endpoints import ProcessEndpoints
from asoreconcile.runtime.process_parts import ProcessParts
from asoreconcile.runtime.runnable import Runnable, RunnableGroup, RunnableHooks
from asoreconcile.runtime.signals import stop_signals
from asoreconcile.runtime.startup import StartUp
from asoreconcile.runtime.watchdog import Watchdog
from asoreconcile.webhooks.managed import ManagedCertificates
from asoreconcile.webhooks.metrics import WebhookMetrics
from asoreconcile.webhooks.server import WebhookLimits
from asoreconcile.webhooks.serving_certificates import ServingCertificates

_log = Logger(__name__)


class Application(ControllerRegistrar):
    """A client, informers, metrics, health checks and a manager, connected.

    Create one per process. The constructor sends no request; `run` starts everything.
    Methods are safe from any thread.
    """

    def __init__(
        self,
        name: str,
        *,
        cluster: ClusterConfig | str | PathLike[str] | None = None,
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
        drain_seconds: float = 0.0,
        flight_record: Path | None = None,
    ) -> None:
        """name: the user agent, and the source of events.
        cluster: a configuration or a kubeconfig's path; None looks where kubectl does,
        then for the pod's service account. Raises KubeConfigError if there is none.
        client: rate limit, timeouts and user agent of `client`. cache: which namespaces
        and objects `informer` watches.
        on_unreadable: called with each object that the caches leave out because it
        cannot be read; None records a Warning event on it.
        event_api: which API's events `recorder` writes.
        leader_election: the Lease, or its name, to hold before anything is reconciled;
        None leads at once. After losing the lease, `client` refuses to write, and `run`
        returns 1.
        metrics_address, health_address: `:8080`, `127.0.0.1:0`; "0" is off. Both may
        share one address, unless secure_metrics would make probes authenticate. Raises
        ListenError.
        secure_metrics: serve metrics over HTTPS, to users whose roles allow it (MG-8);
        metrics_certificates: the serving certificates; None makes a self-signed pair.
        tracing: OpenTelemetry spans for reconciles and their requests.
        grace_seconds: the total time for a graceful stop. drain_seconds: how long
        webhooks are answered after the stop was requested, for Services to follow; the
        lease is released meanwhile.
        flight_record: a file for the objects in flight: if the process dies, the next
        one with this file takes them last. In a pod, use a volume such as an emptyDir.
        Raises ValueError without a name, TypeError or ValueError for an invalid
        duration, TypeError for options of another class.
        """
        if not name:
            raise ValueError(
                "an application needs a name: requests and events carry it"
            )
        check_number("grace_seconds", grace_seconds, least=0)
        check_number("drain_seconds", drain_seconds, least=0)
        if client is not None:
            check_is("client", client, ClientOptions)
        if cache is not None:
            check_is("cache", cache, CacheOptions)
        if leader_election is not None:
            check_is("leader_election", leader_election, str, LeaderElectionOptions)
        self._tracing = tracing
        self._flight_record = FlightRecord(flight_record) if flight_record else None
        parts = ProcessParts.of(clock)
        clock, metrics, threads = parts.clock, parts.metrics, parts.threads
        self.threads = threads
        """Starts the process's long-running threads, and restarts one that dies."""
        self.registry = metrics.registry
        """The registry behind `/metrics`: register your own metrics here."""
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
        self._asked, self._controllers = set(), {}
        self._process = ProcessEndpoints(
            name,
            parts,
            cluster=config,
            user_agent=user_agent,
            metrics_address=metrics_address,
            secure_metrics=secure_metrics,
            metrics_certificates=metrics_certificates,
            health_address=health_address,
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
        # Last: parts that are closed before may use timers. The process may live on.
        self._closing.insert(0, parts.close)
        self.on_close(self._process.close)
        metrics.expose_server_probe(
            lambda: self._probe.seconds_since_answer, lambda: self._probe.renewed
        )
        self._parts = parts
        self._not_run = Lock()
        self._changing = Lock()
        self._clusters: dict[Cluster, str] = {}
        self.manager = Manager(
            clock=clock,
            elector=self._elector,
            grace_seconds=grace_seconds,
            drain_seconds=drain_seconds,
            caches_ready=lambda: self._process.synced().ok,
        )
        self._grace_seconds = grace_seconds
        self._startup = StartUp(clock, self.manager.stopping)
        self._add_services()

    def cluster(
        self,
        name: str,
        cluster: ClusterConfig | str | PathLike[str],
        options: ClusterOptions | None = None,
    ) -> Cluster:
        """Connect another API server; `reconcile`, `owns` and `watches` take its
        informers.

        name: in metrics and `/readyz`; unique here. cluster: a configuration, or a
        kubeconfig's path. It starts and stops with the application, and is part of its
        readiness. Losing the application's lease stops writes to this cluster too.
        Works before `run` and while the application runs. Raises ManagerError if the
        name is taken, KubeConfigError.
        """
        config = config_of(cluster)
        check_is("name", name, str)
        if options is not None:
            check_is("options", options, ClusterOptions)
        with self._changing:
            if name in self._clusters.values():
                raise ManagerError(f"there is a cluster {name} already")
            made = Cluster(
                self.name,
                config,
                options or ClusterOptions(),
                self._parts,
                fence=self.fence,
                show=partial(self._process.informers.add, cluster=name),
            )
            self._clusters[made] = name
        made.on_close(partial(self._end_cluster, made, self._grace_seconds))
        self.on_close(made.close)
        try:
            for service in (made.recorder, made.informers, made.probe):
                service.name = f"{service.name} of {name}"
            self.readyz.add(f"apiServer-{name}", made.answers)
            self._run_cluster(made)
        except BaseException:
            made.close()
            raise
        return made

    def _remove_cluster(self, cluster: Cluster, seconds: float) -> list[str]:
        left = self._end_cluster(cluster, seconds)
        cluster.close()
        return left

    def _end_cluster(self, cluster: Cluster, seconds: float) -> list[str]:
        """Stop all that uses a cluster, before its client is closed."""
        with self._changing:
            name = self._clusters.pop(cluster, None)
        if name is None:
            return []
        self.not_on_close(cluster.close)
        deadline = self.clock.monotonic() + seconds
        informers = cluster.informers.all()
        controllers = [
            one
            for one in list(self._controllers)
            if one.sources and all(source in informers for source in one.sources)
        ]
        left = self._remove_controllers(controllers, seconds)
        for service in (cluster.recorder, cluster.probe, cluster.informers):
            left += self.manager.remove(
                service, max(0.0, deadline - self.clock.monotonic())
            )
        for informer in informers:
            self._process.informers.remove(informer)
        self.readyz.remove(f"apiServer-{name}")
        others = (self, *self._clusters)
        if all(cluster.client.host != one.client.host for one in others):
            self.metrics.forget_host(cluster.client.host)
        return left

    @cached_property
    def webhook_metrics(self) -> WebhookMetrics:
        """The metrics of webhooks, which `FileCertificates` and other parts take;
        registered at first use.
        """
        return WebhookMetrics(self.registry)

    def webhooks(
        self,
        address: str = ":9443",
        *,
        certificates: ServingCertificates,
        limits: WebhookLimits | None = None,
        client_authority: Path | None = None,
    ) -> TypedWebhookServer:
        """Add a webhook server; register webhook functions on the returned object.

        It runs on every replica, and readiness waits for it.
        certificates: `FileCertificates`, or `ManagedCertificates`, which is started
        and stopped with it. limits, client_authority: see `WebhookServer`. Raises
        ListenError for an invalid address, OSError for an unusable authority.
        """
        server = TypedWebhookServer(
            address,
            certificates=certificates,
            clock=self.clock,
            metrics=self.webhook_metrics,
            limits=limits,
            client_authority=client_authority,
        )
        # Before the server, in the same group: it needs a certificate to start.
        if isinstance(certificates, Runnable):
            self.manager.add(certificates, group=RunnableGroup.WEBHOOKS)
        self.manager.add(server, group=RunnableGroup.WEBHOOKS)
        # Liveness finds a dead port in a live process: readiness alone would only
        # remove the pod from the Service.
        self._process.listening.watch(server)
        pending_injections: Callable[[], Mapping[str, str]] = dict
        if isinstance(certificates, ManagedCertificates):
            pending_injections = certificates.pending_injections
        ready = WebhookReadiness(server.problem, pending_injections, clock=self.clock)
        self.readyz.add("webhooks", ready)
        return server

    def before_start(self, name: str, step: Callable[[], object]) -> None:
        """Register a function that `run` calls on its thread before it starts anything.
        Functions are called in the order they were added.

        name: description of the step for the log. step: may block. While the API server
        does not answer, it is retried for 15 seconds, as the server may be starting
        too; `run` raises any other error. Use `when_leading` for work that needs the
        lease. Raises TypeError unless step is a function without arguments.
        """
        check_takes(step, what="step")
        self._startup.add(name, step)

    def when_leading(
        self,
        name: str,
        step: Callable[[], object],
        *,
        on_stop: Callable[[], object] = lambda: None,
    ) -> None:
        """Register a function to call once this process leads. It runs after the
        functions and controllers that were added before it, and does not wait for cache
        sync.

        step, on_stop: see `RunnableHooks`. Raises ManagerError if the name is taken,
        TypeError as `before_start` does.
        """
        hooks = RunnableHooks(name, step, on_stop=on_stop)
        self.manager.add(hooks, group=RunnableGroup.LEADER, after_caches=False)

    def run(self, *, signals: bool = True) -> int:
        """Start everything, block until stopped, stop everything; return the exit code.

        signals: SIGINT and SIGTERM stop it, from the first `before_start` function on;
        main thread only. Raises the exception of a `before_start` function, and
        ManagerError if the application has run before or was closed: it runs once.
        Rules: MG-1, MG-4, MG-6.
        """
        # Before the first step: the kernel drops signals to a container's first process
        # that has no handler for them.
        with stop_signals(self._stop_because) if signals else nullcontext():
            self._begin()
            return self._run()

    @contextmanager
    def running(self) -> Iterator[Self]:
        """Run on a separate thread until the `with` block ends, as tests do.

        Blocks at the end of the block until everything has stopped. Raises RuntimeError
        if the exit code is not 0, caused by the error `run` raised; ManagerError as
        `run` does.
        """
        self._begin()
        with detached(self.name, self._run, self.manager):
            yield self

    def _begin(self) -> None:
        """Mark the application as running; raise ManagerError if it has run before.

        `run` calls this first, so that a second `run` cannot end parts of the first
        one.
        """
        if not self._not_run.acquire(blocking=False):
            raise ManagerError(f"{self.name} runs once: make another Application")
        # `close` calls them all: without it they would run on without a client.
        if not self._closing:
            raise ManagerError(f"{self.name} is closed: make another Application")

    def _run(self) -> int:
        _log.info(
            "Application starts",
            application=self.name,
            server=self._config.url,
            user=self._config.user or "unknown",
            watching=sorted(self._process.informers.by_label()),
        )
        try:
            self._startup.run()
            return self.manager.run()
        except BaseException as error:
            # For a caller of `wait_until_ready` on another thread.
            self.manager.fail(error)
            raise
        finally:
            self.close()

    def wait_until_ready(self, timeout_seconds: float = 30.0) -> None:
        """Block until everything runs and `/readyz` would pass; the timeout is in real
        seconds. A standby counts as ready. Raises NotReadyError, which names what is
        missing.
        """
        controllers = self._process.debug.controllers
        wait_until_ready(
            self.manager, self.readyz, timeout_seconds, controllers=controllers
        )

    def stop(self) -> None:
        """Ask `run` to end. Does not wait."""
        self._stop_because("stop was called")

    def _stop_because(self, why: str) -> None:
        self.manager.stop(why)
        self._startup.stop(self._grace_seconds)

    @property
    def fence(self) -> Fence | None:
        """The check that `client` makes before it sends each part of a write. Raises
        NotLeadingError if this process led and another may lead now. A process that has
        not led yet may write, for example its certificates. Pass it to other clients
        that must stop writing then. None without leader election.
        """
        return self._elector.check if self._elector else None

    @property
    def leads(self) -> bool:
        """Return whether this process leads now; always True without leader
        election.
        """
        return self._elector is None or self._elector.leads

    @property
    def leader_annotations(self) -> Mapping[str, str]:
        """Return the annotations of the Lease if another process holds it, else {}."""
        return self._elector.leader_annotations if self._elector else {}

    def annotate_lease(self, annotations: Callable[[], Mapping[str, str]]) -> None:
        """Let this process write these annotations with each renewal of its Lease, for
        standbys to read. Call before `run`; annotations must not block.
        """
        if self._elector is not None:
            self._elector.annotate(annotations)

    @property
    def predecessor_renewed(self) -> datetime | None:
        """Return when the previous leader last renewed the Lease, or None if there was
        no leader or no leader election. Final once `leads` is True.
        """
        return self._elector.predecessor_renewed if self._elector else None

    def _is_running(self) -> CheckResult:
        """Return the result of a readiness check that fails once a stop is requested,
        so that Services no longer list this process.
        """
        return CheckResult(not self.manager.stopping.is_set())

    def _add_services(self) -> None:
        self.readyz.add("running", self._is_running)
        self.readyz.add("apiServer", self.answers)
        if self._elector is not None:
            self.healthz.add("leaderElection", self._elector.liveness)
            self.readyz.add("leaderElection", self._elector.readiness)
        watchdog = Watchdog(
            self._process.debug.controllers, self._parts.metrics.held, self.threads
        )
        # The last group to stop: it is to see the others end.
        self.manager.add(watchdog, group=RunnableGroup.SERVERS)
        for server in self._process.services():
            self.manager.add(server, group=RunnableGroup.SERVERS)
        self._run_cluster(self)

    def _run_cluster(self, cluster: Cluster) -> None:
        self.manager.add(cluster.recorder, group=RunnableGroup.RECORDERS)
        self.manager.add(cluster.informers, group=RunnableGroup.CACHES)
        self.manager.add(cluster.probe, group=RunnableGroup.CACHES)
