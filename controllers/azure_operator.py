"""The operator put together: settings in, a running process out.

What owns what: the manager owns lifetimes; the informers belong to one `Informers`; the
CRD watcher starts and stops kinds in the `KindRegistry` as CRDs come and go. Nothing
here decides anything about a resource.
"""

import threading
from collections.abc import Callable
from contextlib import suppress

import attrs
from prometheus_client import CollectorRegistry, ProcessCollector

from asoreconcile.arm.metrics import ArmMetrics
from asoreconcile.azure.default_delete import delete_resource
from asoreconcile.azure.dependency_index import DependencyIndex
from asoreconcile.azure.object_reference import CONFIG_MAP, SECRET
from asoreconcile.azure.scope import SharedDependencies
from asoreconcile.azure.waiting import Waiting
from asoreconcile.cache.events import Event
from asoreconcile.cache.informers import Informers
from asoreconcile.cache.pulse import pulse_of
from asoreconcile.cache.scope import CacheOptions
from asoreconcile.cache.unreadable import REASON, Unreadable
from asoreconcile.catalogue.kinds import KindVersion
from asoreconcile.catalogue.patterns import Matched, match
from asoreconcile.catalogue.reserved import SERVING_SECRET, SETTINGS_SECRET
from asoreconcile.catalogue.webhook_manifests import MUTATING_NAME, VALIDATING_NAME
from asoreconcile.clock import Clock, SystemClock
from asoreconcile.controllers import crds
from asoreconcile.controllers.answered_kinds import AnsweredKinds
from asoreconcile.controllers.arm_client_factory import ArmClientFactory
from asoreconcile.controllers.catalogue import builtin
from asoreconcile.controllers.conversion_probe import ConversionProbe
from asoreconcile.controllers.crd_watcher import CrdWatcher
from asoreconcile.controllers.credential_resolver import (
    CredentialResolver,
    GlobalConnection,
)
from asoreconcile.controllers.credential_watcher import (
    CredentialWatcher,
    NamedCredentials,
    is_change,
)
from asoreconcile.controllers.definitions import Definitions
from asoreconcile.controllers.event_mapping import EventMapping
from asoreconcile.controllers.kind_builder import KindBuilder
from asoreconcile.controllers.kind_metrics import KindMetrics
from asoreconcile.controllers.kind_registry import (
    KindRegistry,
)
from asoreconcile.controllers.lifecycle import Lifecycle
from asoreconcile.controllers.metrics_endpoint import secured
from asoreconcile.controllers.namespace_annotations import NamespaceAnnotations
from asoreconcile.controllers.options import Options
from asoreconcile.controllers.rate_limiter import retries, turns
from asoreconcile.controllers.ready_metrics import ReadyMetrics
from asoreconcile.controllers.settings import Settings
from asoreconcile.controllers.stored_versions import StoredVersions
from asoreconcile.controllers.webhooks import Webhooks, certificates
from asoreconcile.errors import StoppedError
from asoreconcile.extensions.registry import builtin_sets
from asoreconcile.fencing import Fence
from asoreconcile.kube.client import KubeClient
from asoreconcile.kube.config import load
from asoreconcile.kube.events import EventRecorder
from asoreconcile.kube.resources import (
    CONFIG_MAPS,
    CUSTOM_RESOURCE_DEFINITIONS,
    NAMESPACES,
    SECRETS,
)
from asoreconcile.kube.retrying import START_UP, is_passing
from asoreconcile.log import Logger
from asoreconcile.metrics import RuntimeMetrics
from asoreconcile.middleware.chain import Extensions
from asoreconcile.middleware.default_handlers import DefaultHandlers
from asoreconcile.middleware.discovery import load_sets
from asoreconcile.middleware.metrics import ExtensionMetrics
from asoreconcile.objects import GroupKind, ObjectKey
from asoreconcile.retry import retry
from asoreconcile.runtime.controller import Controller
from asoreconcile.runtime.endpoints import OFF, Endpoints, ListenersAlive
from asoreconcile.runtime.health import (
    ApiServerAnswers,
    CachesSynced,
    HealthChecks,
    ThreadsAlive,
    TimersAlive,
)
from asoreconcile.runtime.leaderelection.elector import LeaseElector, lease_elector
from asoreconcile.runtime.manager import Manager
from asoreconcile.runtime.options import ControllerOptions
from asoreconcile.runtime.runnable import RunnableGroup, RunnableHooks
from asoreconcile.runtime.sources import Watch
from asoreconcile.threads import Threads
from asoreconcile.version import __version__
from asoreconcile.webhooks.ca_bundles import WebhookTarget
from asoreconcile.webhooks.metrics import WebhookMetrics

_log = Logger(__name__)

_REVIEW_SECONDS = 10.0
_EVENT_SOURCE = "asoreconcile"
# Kinds whose workers may all be talking to Azure at once.
_BUSY_KINDS = 16


class AzureOperator:
    """One operator process: made, run once on the main thread, stopped from any."""

    def __init__(
        self, settings: Settings, options: Options, *, clock: Clock | None = None
    ) -> None:
        """Raises KubeConfigError when no cluster is configured. Sends nothing yet."""
        self._settings = settings
        self._options = options
        self._threads = Threads.timed_by(clock) if clock else Threads()
        self._clock = clock or SystemClock(start_thread=self._threads.start)
        self._registry = CollectorRegistry()
        ProcessCollector(registry=self._registry)
        self._metrics = RuntimeMetrics(self._registry)
        self._metrics.threads(self._threads)
        self._catalogue = builtin()
        self._user_agent = f"asoreconcile/{__version__}"
        self._cluster = load(options.kubeconfig)
        self._closing: list[Callable[[], None]] = []
        self._stopping = threading.Event()
        self._elector = self._make_elector()
        self._client = KubeClient(
            self._cluster,
            user_agent=self._user_agent,
            metrics=self._metrics,
            before_write=self._fence(),
        )
        self._recorder = EventRecorder(
            self._client, _EVENT_SOURCE, clock=self._clock, threads=self._threads
        )
        self._informers = Informers(
            self._client,
            CacheOptions(namespaces=settings.target_namespaces),
            clock=self._clock,
            report=self._report_unreadable,
            threads=self._threads,
        )
        self._namespaces = self._informers.of(NAMESPACES, metadata_only=True)
        self._crds = self._informers.of(CUSTOM_RESOURCE_DEFINITIONS, metadata_only=True)
        self._definitions = self._make_definitions()
        self._kinds = KindRegistry()
        self._waiting = Waiting()
        self._wakeups = EventMapping(self._kinds, DependencyIndex(), self._waiting)
        self._connector = self._make_connector()
        self._connections = self._connect()
        self._operator = self._make_operator()
        self._webhooks = self._make_webhooks()
        self._pulse = pulse_of(
            self._cluster,
            self._client,
            self._informers,
            user_agent=self._user_agent,
            clock=self._clock,
            threads=self._threads,
        )
        self._metrics.pulse(
            lambda: self._pulse.silent_seconds, lambda: self._pulse.renewed
        )
        self._synced = CachesSynced(self._clock)
        self._lifecycle = self._make_lifecycle()
        self._supervisor = CrdWatcher(
            self._client,
            self._catalogue,
            self._lifecycle if settings.mode.watches else self._answered_kinds(),
            clock=self._clock,
            threads=self._threads,
            converts=options.webhooks.on or not settings.mode.answers,
        )
        self._registry.register(
            KindMetrics(lambda: self._supervisor.failed, self._lifecycle.handovers)
        )
        self._registry.register(ReadyMetrics(self._kinds.running, self._clock))
        self._manager = Manager(
            clock=self._clock,
            elector=self._elector,
            grace_seconds=options.grace_seconds,
        )

    def run(self) -> int:
        """Install CRDs, run until stopped; returns the exit code. Blocking.

        One of several installs CRDs, and reconciles, once it leads (LE-5).
        Raises AsoreconcileError when it cannot start: the cluster does not answer, a
        pattern matches nothing.
        """
        self._serve()
        if self._elector is None:
            self._at_start("install CRDs", self._install_crds)
        else:
            self._manager.add(
                RunnableHooks("CRDs", self._install_crds, on_stop=self._stopping.set),
                group=RunnableGroup.LEADER,
            )
        self._watch_crds()
        if self._settings.mode.watches:
            self._watch_others()
            self._watch_credentials()
        self._at_start("discover kinds", self._supervisor.bring_in_line)
        # Without objects to watch, no Secret is listed either.
        watches = self._settings.mode.watches
        caches = self._informers if watches else self._crds
        self._manager.add(caches, group=RunnableGroup.CACHES)
        self._manager.add(self._pulse, group=RunnableGroup.CACHES)
        self._manager.add(self._supervisor, group=RunnableGroup.OTHERS)
        self._manager.add(self._lifecycle, group=RunnableGroup.LEADER)
        self._keep_stored_versions()
        if self._webhooks is not None:
            # From now on it is ours to write the CRDs' caBundle.
            self._manager.add(
                RunnableHooks("webhooks' callers", self._webhooks.changed),
                group=RunnableGroup.LEADER,
            )
        for notice in self._settings.notices:
            _log.warning("Settings", notice=notice)
        kinds = len(self._supervisor.running)
        _log.info("Starting", version=__version__, kinds=kinds)
        try:
            return self._manager.run(signals=True)
        finally:
            for close in (self._client.close, self._connector.close, *self._closing):
                close()

    def stop(self) -> None:
        """Ask `run` to end. Any thread; does not wait."""
        self._manager.stop()

    def _serve(self) -> None:
        alive, ready = HealthChecks("healthz"), HealthChecks("readyz")
        timers = TimersAlive(self._clock)
        alive.add("timers", timers)
        alive.add("threads", ThreadsAlive(self._threads))
        alive.add("controllers", self._lifecycle.progress)
        listening = ListenersAlive()
        alive.add("listeners", listening)
        ready.add("caches", self._synced)
        ready.add("apiServer", ApiServerAnswers(self._pulse))
        ready.add("definitions", self._definitions.ready)
        ready.add("kinds", self._supervisor.standing)
        ready.add("handovers", self._lifecycle.standing)
        if self._elector is not None:
            alive.add("leaderElection", self._elector.progress)
            ready.add("leaderElection", self._elector.standing)
        if self._webhooks is not None:
            ready.add("webhooks", self._webhooks.ready)
            listening.watch(self._webhooks.server)
            for service in self._webhooks.services:
                self._manager.add(service, group=RunnableGroup.WEBHOOKS)
            probe = ConversionProbe(
                self._client,
                self._kinds.running,
                clock=self._clock,
                threads=self._threads,
            )
            ready.add("conversion", probe)
            self._manager.add(probe, group=RunnableGroup.OTHERS)
        options = self._options
        if options.health_address not in OFF:
            health = Endpoints(options.health_address, checks=(alive, ready))
            self._manager.add(health, group=RunnableGroup.SERVERS)
            listening.watch(health)
        if options.metrics_address not in OFF:
            metrics = self._metrics_endpoints()
            self._manager.add(metrics, group=RunnableGroup.SERVERS)
            listening.watch(metrics)
        self._manager.add(timers, group=RunnableGroup.SERVERS)
        # With the servers, because those stop last: a stop is worth events too.
        self._manager.add(self._recorder, group=RunnableGroup.SERVERS)

    def _metrics_endpoints(self) -> Endpoints:
        options = self._options
        if not options.secure_metrics:
            return Endpoints(options.metrics_address, registry=self._registry)
        reviewer = KubeClient(
            self._cluster,
            user_agent=self._user_agent,
            metrics=self._metrics,
            read_seconds=_REVIEW_SECONDS,
        )
        self._closing.append(reviewer.close)
        return secured(
            options.metrics_address,
            self._registry,
            client=reviewer,
            clock=self._clock,
            folder=options.metrics_certificates,
        )

    def _at_start(self, what: str, call: Callable[[], None]) -> None:
        """Ask the cluster, which may be starting as well: several times, for a quarter
        of a minute. Once this process is to stop, `run` goes on to its end.
        """
        with suppress(StoppedError):
            retry(
                call,
                backoff=START_UP,
                when=is_passing,
                clock=self._clock,
                stop=self._manager.stopping,
                what=what,
            )

    def _install_crds(self) -> None:
        options = self._options
        matched = self._match()
        if matched is not None:
            matched.require_all()
        conversion = options.webhooks.client() if options.all_versions else None
        kinds = matched.kinds if matched is not None else ()
        # As Azure Service Operator does, where it could be its webhooks that convert.
        others = self._catalogue.kinds() if options.manages_crds and conversion else ()
        installer = crds.CrdInstaller(
            self._client,
            conversion=conversion,
            crd_labels=options.crd_labels,
            is_stopping=self._stopping.is_set,
        )
        if kinds or others:
            done = installer.install(kinds, others=[k for k in others if k.is_arm])
            _log.info(
                "CRDs are in place",
                kinds=len(kinds),
                applied=done.applied,
                kept=len(done.kept),
            )

    def _keep_stored_versions(self) -> None:
        """Of CRDs that are ours to see to, where the objects may be written too."""
        options = self._options
        sees_to_crds = options.manages_crds and (
            options.crd_pattern or options.webhooks.on
        )
        if not (sees_to_crds and self._settings.mode.watches):
            return
        keeper = StoredVersions(
            self._client,
            self._definitions.of_operators,
            clock=self._clock,
            threads=self._threads,
        )
        self._crds.add_handler(lambda _: keeper.changed())
        self._manager.add(keeper, group=RunnableGroup.LEADER)

    def _match(self) -> Matched | None:
        """The kinds whose CRDs are to be installed; None installs none."""
        if not self._options.crd_pattern:
            return None
        kinds = [kind for kind in self._catalogue.kinds() if kind.is_arm]
        return match(self._options.crd_pattern, kinds)

    def _make_definitions(self) -> Definitions:
        matched = self._match()
        return Definitions(
            self._crds,
            self._catalogue,
            installed=matched.kinds if matched else (),
            clock=self._clock,
        )

    def _watch_others(self) -> None:
        """Sources beside the kinds; `event_mapping` decides which objects they wake."""
        self._namespaces.add_handler(self._wakeups.on_namespace)
        for resource, group_kind in ((SECRETS, SECRET), (CONFIG_MAPS, CONFIG_MAP)):
            informer = self._informers.of(resource, metadata_only=True)

            def wake(event: Event, group_kind: GroupKind = group_kind) -> None:
                self._wakeups.on_secret_or_config_map(group_kind, event)

            informer.add_handler(wake)

    def _watch_crds(self) -> None:
        """Kinds start and stop, and webhooks are told, as CRDs come and change."""
        self._crds.add_handler(lambda _: self._supervisor.changed())
        if self._webhooks is not None:
            webhooks = self._webhooks
            self._crds.add_handler(lambda _: webhooks.changed())

    def _watch_credentials(self) -> None:
        controller = Controller(
            "credentials",
            CredentialWatcher(self._connections, self._kinds),
            ControllerOptions(limiter=retries(self._clock)),
            clock=self._clock,
            metrics=self._metrics,
            threads=self._threads,
        )
        secrets = self._informers.of(SECRETS, metadata_only=True)
        controller.watch(Watch(secrets, when=is_change))
        self._manager.add(controller, group=RunnableGroup.LEADER)

    def _make_operator(self) -> SharedDependencies:
        named = (*self._options.extension_names, *self._settings.extensions)
        names = tuple(dict.fromkeys(named))
        return SharedDependencies(
            clock=self._clock,
            client=self._client,
            catalogue=self._catalogue,
            objects=self._kinds,
            connections=self._connections,
            extensions=Extensions.compose(
                (*builtin_sets(), *load_sets(names)),
                terminals=DefaultHandlers(delete=delete_resource),
                kinds=[kind.group_kind for kind in self._catalogue.kinds()],
                metrics=ExtensionMetrics(self._registry),
            ),
            recorder=self._recorder,
            namespace_annotations=NamespaceAnnotations(self._namespaces),
            namespace=self._settings.pod_namespace,
            default_policy=self._settings.default_policy,
            sync_mode=self._settings.sync_mode,
            is_credential=NamedCredentials(self._kinds),
            namesakes=self._kinds.namesakes,
            waiting=self._waiting,
            build=f"asoreconcile-{__version__}",
        )

    def _answered_kinds(self) -> AnsweredKinds:
        def admit(version: KindVersion) -> None:
            if self._webhooks is not None:
                self._webhooks.admit(self._catalogue.kind(version.group_kind))

        return AnsweredKinds(admit)

    def _make_lifecycle(self) -> Lifecycle:
        assembly = KindBuilder(
            settings=self._settings,
            clock=self._clock,
            metrics=self._metrics,
            informers=self._informers,
            operator=self._operator,
            wakeups=self._wakeups,
            throttle=turns(self._settings.rate_limit, self._clock),
            synced=self._synced,
            webhooks=self._webhooks,
            threads=self._threads,
        )
        return Lifecycle(
            self._kinds,
            assembly.build,
            assembly.forget,
            clock=self._clock,
            threads=self._threads,
            on_failure=self._look_anew,
        )

    def _look_anew(self) -> None:
        """A kind that was begun had to be taken out again."""
        self._supervisor.changed()

    def _make_elector(self) -> LeaseElector | None:
        wanted = self._options.leader_election
        if wanted is None:
            return None
        return lease_elector(
            self._cluster,
            attrs.evolve(
                wanted, namespace=wanted.namespace or self._settings.pod_namespace
            ),
            user_agent=self._user_agent,
            clock=self._clock,
            metrics=self._metrics,
            threads=self._threads,
        )

    def _report_unreadable(self, found: Unreadable) -> None:
        """Record the event by the kind's own controller, or by the operator."""
        kind = self._kinds.running().get(found.resource.group_kind)
        if kind is None:
            self._recorder.event(found.known, "Warning", REASON, found.message)
        else:
            kind.controller.enqueue(found.key)

    def _fence(self) -> Fence | None:
        """The fence that stops the writes of a former leader."""
        return self._elector.check if self._elector is not None else None

    def _make_webhooks(self) -> Webhooks | None:
        if not self._options.webhooks.on:
            return None
        metrics = WebhookMetrics(self._registry)
        secret = ObjectKey(self._settings.pod_namespace, SERVING_SECRET)
        shown = certificates(
            self._options.webhooks,
            self._client,
            secret,
            clock=self._clock,
            callers=self._callers,
            may_write=lambda: self._elector is None or self._elector.leads,
            metrics=metrics,
            threads=self._threads,
        )
        return Webhooks(
            self._options.webhooks.address,
            self._catalogue,
            certificates=shown,
            clock=self._clock,
            metrics=metrics,
        )

    def _callers(self) -> list[WebhookTarget]:
        """What may name our webhooks; the leader writes their caBundle."""
        return [
            WebhookTarget.mutating(MUTATING_NAME),
            WebhookTarget.validating(VALIDATING_NAME),
            *self._definitions.callers(),
        ]

    def _make_connector(self) -> ArmClientFactory:
        return ArmClientFactory(
            clock=self._clock,
            metrics=ArmMetrics(self._registry),
            user_agent=self._settings.user_agent_suffix,
            connections=_BUSY_KINDS * self._settings.max_concurrent_reconciles,
            before_write=self._fence(),
        )

    def _connect(self) -> CredentialResolver:
        return CredentialResolver(
            self._client,
            self._informers.of(SECRETS, metadata_only=True),
            connect=self._connector,
            rules=self._settings.credentials,
            settings=_global(self._settings, self._connector),
            seen=self._kinds.seen,
            clock=self._clock,
        )


def _global(settings: Settings, connect: ArmClientFactory) -> GlobalConnection:
    if settings.credential is None:
        return GlobalConnection(None)
    source = f"{settings.pod_namespace}/{SETTINGS_SECRET}"
    made = connect(settings.credential, source)
    return GlobalConnection(
        made.client, subscription_id=made.subscription_id, source=source
    )
