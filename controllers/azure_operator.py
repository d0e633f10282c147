"""The operator put together: settings in, a running process out.

An `Application` has the clients, caches, checks, endpoints and the election, and owns
lifetimes. On it stand the webhooks, the CRDs' installation, the watcher that starts and
stops kinds as CRDs come and go, and, where this process reconciles, the kinds'
controllers. Nothing here decides anything about a resource.
"""

from asoreconcile.cache.scope import CacheOptions
from asoreconcile.cache.unreadable import Unreadable, unreadable_events
from asoreconcile.catalogue.kinds import KindVersion
from asoreconcile.catalogue.reserved import SERVING_SECRET
from asoreconcile.clock import Clock
from asoreconcile.controllers.answered_kinds import AnsweredKinds
from asoreconcile.controllers.azure_controllers import AzureControllers
from asoreconcile.controllers.catalogue import builtin
from asoreconcile.controllers.conversion_probe import ConversionProbe
from asoreconcile.controllers.crd_installation import CrdInstallation
from asoreconcile.controllers.crd_watcher import CrdWatcher
from asoreconcile.controllers.definitions import Definitions
from asoreconcile.controllers.kind_metrics import KindMetrics
from asoreconcile.controllers.kind_registry import KindRegistry
from asoreconcile.controllers.options import Options
from asoreconcile.controllers.settings import Settings
from asoreconcile.controllers.stored_versions import StoredVersions, controller_options
from asoreconcile.controllers.webhooks import Webhooks
from asoreconcile.expressions.api import shared as shared_expressions
from asoreconcile.expressions.metrics import ExpressionMetrics
from asoreconcile.kube.resources import CUSTOM_RESOURCE_DEFINITIONS
from asoreconcile.log import Logger
from asoreconcile.objects import ObjectKey
from asoreconcile.runtime.application import Application
from asoreconcile.runtime.options import ClientOptions
from asoreconcile.runtime.predicates import concerns
from asoreconcile.runtime.runnable import RunnableGroup, RunnableHooks
from asoreconcile.version import __version__

_log = Logger(__name__)


class AzureOperator:
    """One operator process: made, run once on the main thread, stopped from any."""

    def __init__(
        self, settings: Settings, options: Options, *, clock: Clock | None = None
    ) -> None:
        """Sends nothing yet. Raises an AsoreconcileError for what cannot be used: no
        cluster is configured, an address, a certificate, a credential, an extension.
        """
        self._settings = settings
        self._options = options
        self._catalogue = builtin()
        self._kinds = KindRegistry()
        self._app = self._make_application(clock)
        shared_expressions().metrics = ExpressionMetrics(self._app.registry)
        self._installation = CrdInstallation(options, self._catalogue, self._app.client)
        self._install_crds()
        self._crds = self._app.informer(CUSTOM_RESOURCE_DEFINITIONS, metadata_only=True)
        self._definitions = Definitions(
            self._crds,
            self._catalogue,
            installed=self._installation.kinds,
            clock=self._app.clock,
        )
        self._app.readyz.add("definitions", self._definitions.ready)
        self._webhooks = self._make_webhooks() if options.webhooks.on else None
        self._controllers = self._make_controllers() if settings.mode.watches else None
        self._watcher = self._make_watcher()
        self._keep_stored_versions()

    def run(self) -> int:
        """Install CRDs, run until stopped; returns the exit code. Blocking.

        One of several installs CRDs, and reconciles, once it leads (LE-5).
        Raises AsoreconcileError when it cannot start: the cluster does not answer, a
        pattern matches nothing.
        """
        return self._app.run()

    def stop(self) -> None:
        """Ask `run` to end. Any thread; does not wait."""
        self._app.stop()

    def _make_application(self, clock: Clock | None) -> Application:
        settings, options = self._settings, self._options
        return Application(
            "asoreconcile",
            cluster=options.kubeconfig,
            clock=clock,
            client=ClientOptions(user_agent=f"asoreconcile/{__version__}"),
            cache=CacheOptions(namespaces=settings.target_namespaces),
            on_unreadable=self._report_unreadable,
            leader_election=options.leader_election,
            metrics_address=options.metrics_address,
            secure_metrics=options.secure_metrics,
            metrics_certificates=options.scrape_certificates(clock),
            health_address=options.health_address,
            grace_seconds=options.grace_seconds,
        )

    def _install_crds(self) -> None:
        """Before all else that asks for them."""
        install, end = self._installation.run, self._installation.stop
        if self._options.leader_election is None:
            self._app.before_start("install CRDs", install)
        else:
            self._when_leading(RunnableHooks("CRDs", install, on_stop=end))

    def _discover_kinds(self) -> None:
        """Before anything runs: what is wrong with the kinds ends the start, and
        readiness counts all that are there.
        """
        self._watcher.sync()
        for notice in self._settings.notices:
            _log.warning("Settings", notice=notice)
        kinds = len(self._watcher.running)
        _log.info("Starting", version=__version__, kinds=kinds)

    def _make_webhooks(self) -> Webhooks:
        app = self._app
        webhooks = Webhooks(
            app,
            self._options.webhooks,
            self._catalogue,
            secret=ObjectKey(self._settings.pod_namespace, SERVING_SECRET),
            crds=self._definitions.targets,
        )
        probe = ConversionProbe(
            app.client, self._kinds.running, clock=app.clock, threads=app.threads
        )
        app.readyz.add("conversion", probe)
        app.manager.add(probe, group=RunnableGroup.OTHERS, after_caches=False)
        self._crds.add_handler(lambda _: webhooks.changed())
        return webhooks

    def _make_controllers(self) -> AzureControllers:
        return AzureControllers(
            self._app,
            self._settings,
            extension_names=self._options.extension_names,
            catalogue=self._catalogue,
            kinds=self._kinds,
            webhooks=self._webhooks,
            on_failure=self._resync_kinds,
        )

    def _make_watcher(self) -> CrdWatcher:
        app, controllers = self._app, self._controllers
        watcher = CrdWatcher(
            app.client,
            self._catalogue,
            controllers.lifecycle if controllers else AnsweredKinds(self._answer),
            clock=app.clock,
            threads=app.threads,
            converts=self._webhooks is not None or not self._settings.mode.answers,
        )
        app.before_start("discover kinds", self._discover_kinds)
        self._crds.add_handler(lambda _: watcher.changed())
        app.manager.add(watcher, group=RunnableGroup.OTHERS, after_caches=False)
        app.readyz.add("kinds", watcher.readiness)
        handovers = controllers.lifecycle.handovers if controllers else list
        app.registry.register(KindMetrics(lambda: watcher.failed, handovers))
        if self._webhooks is not None:
            # From then on it is ours to write the CRDs' caBundle.
            self._when_leading(RunnableHooks("webhook targets", self._webhooks.changed))
        return watcher

    def _keep_stored_versions(self) -> None:
        """Of CRDs that are ours to see to, also where others reconcile the objects: who
        moved the storage version has the rights to end the move.
        """
        app, options = self._app, self._options
        sees_to_crds = options.manages_crds and (
            options.crd_pattern or options.webhooks.on
        )
        if not sees_to_crds:
            return
        app.reconcile(
            self._crds,
            StoredVersions(app.client, clock=app.clock),
            name="storedversions",
            when=concerns(self._definitions.is_of_operators),
            options=controller_options(app.clock),
        )

    def _resync_kinds(self) -> None:
        """A kind that was begun had to be taken out again."""
        self._watcher.changed()

    def _when_leading(self, hooks: RunnableHooks) -> None:
        """Run a step once this process may write, which no cache waits for."""
        self._app.manager.add(hooks, group=RunnableGroup.LEADER, after_caches=False)

    def _answer(self, version: KindVersion) -> None:
        if self._webhooks is not None:
            self._webhooks.admit(self._catalogue.kind(version.group_kind))

    def _report_unreadable(self, found: Unreadable) -> None:
        """Record the event by the kind's own controller, or by the operator."""
        kind = self._kinds.running().get(found.resource.group_kind)
        if kind is None:
            unreadable_events(self._app.recorder)(found)
        else:
            kind.controller.enqueue(found.key)
