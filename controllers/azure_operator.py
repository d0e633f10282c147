"""Build the operator from its settings, and run it.

An `Application` provides clients, caches, checks, endpoints and leader election, and
starts and stops everything. The parts register with it: the installation of CRDs,
webhooks, the watcher that starts and stops kinds as CRDs come and go, and, if this
process reconciles, the kinds' controllers.
"""

import tempfile
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from asoreconcile.azure.catalogue.kinds import KindVersion
from asoreconcile.azure.catalogue.reserved import SERVING_SECRET
from asoreconcile.azure.controllers.azure_controllers import azure_controllers
from asoreconcile.azure.controllers.catalogue import builtin
from asoreconcile.azure.controllers.conversion_probe import ConversionProbe
from asoreconcile.azure.controllers.crd_installation import CrdInstallation
from asoreconcile.azure.controllers.crd_watcher import CrdWatcher, Kinds
from asoreconcile.azure.controllers.crds import BUILD
from asoreconcile.azure.controllers.definitions import Definitions, reduced
from asoreconcile.azure.controllers.kind_registry import KindRegistry
from asoreconcile.azure.controllers.leader_note import LeaderNote, leader_note
from asoreconcile.azure.controllers.options import Options
from asoreconcile.azure.controllers.protected_objects import ProtectedObjects
from asoreconcile.azure.controllers.settings import Settings
from asoreconcile.azure.controllers.stored_versions import StoredVersions
from asoreconcile.azure.controllers.webhooks import MountedTrust, Webhooks
from asoreconcile.azure.expressions.api import shared as shared_expressions
from asoreconcile.azure.expressions.metrics import ExpressionMetrics
from asoreconcile.base.clock import Clock
from asoreconcile.base.log import Logger
from asoreconcile.base.objects import GroupKind, ObjectKey
from asoreconcile.base.version import __version__
from asoreconcile.cache.scope import CacheOptions, Scope
from asoreconcile.cache.unreadable import Unreadable, unreadable_events
from asoreconcile.kube.resources import CUSTOM_RESOURCE_DEFINITIONS
from asoreconcile.runtime.application import Application
from asoreconcile.runtime.options import ClientOptions

_log = Logger(__name__)


class WebhookKinds:
    """The kinds for which webhooks are served in a process that reconciles none.

    This is for AZURE_OPERATOR_MODE=webhooks: other processes reconcile the objects,
    this one only serves reviews. It lists and watches no objects. An implementation of
    `controllers.crd_watcher.Kinds`; one thread calls it.
    """

    def __init__(self, admit: Callable[[GroupKind], None]) -> None:
        """admit: serves a kind's reviews; called again if its version changes."""
        self._admit = admit
        self._versions: Mapping[GroupKind, KindVersion] = {}
        self.on_failure: Callable[[], None] = lambda: None
        """Never called: nothing here can fail."""

    def versions(self) -> Mapping[GroupKind, KindVersion]:
        """Return the version of each kind, as set last."""
        return self._versions

    def begin(self, versions: Iterable[KindVersion]) -> Mapping[GroupKind, str]:
        """Serve these kinds, and return no failures, because there is nothing to
        start.
        """
        started = {version.group_kind: version for version in versions}
        for version in started.values():
            self._admit(version.group_kind)
            _log.info("Answering for kind", kind=str(version.gvk))
        self._versions = {**self._versions, **started}
        return {}

    def end(self, group_kind: GroupKind) -> None:
        """Remove a kind. Its paths stay, because there are no reviews of a removed
        kind.
        """
        self._versions = {
            known: version
            for known, version in self._versions.items()
            if known != group_kind
        }


class AzureOperator:
    """One operator process: created, run once on the main thread, stopped from any."""

    def __init__(
        self, settings: Settings, options: Options, *, clock: Clock | None = None
    ) -> None:
        """Sends no request.

        Raises an AsoreconcileError for unusable settings: no cluster is configured, or
        an address, certificate, credential or extension is wrong.
        """
        self._settings = settings
        self._options = options
        self._catalogue = catalogue = builtin()
        self._kinds = KindRegistry()
        self._app = app = self._make_application(clock)
        metrics = ExpressionMetrics(app.registry)
        self._expressions = shared_expressions().counted_by(metrics)
        # First, so that the other parts find the CRDs installed.
        installation = CrdInstallation(options, catalogue, app.client, app.clock)
        installation.setup_with(app)
        self._crds = crds = app.informer(CUSTOM_RESOURCE_DEFINITIONS)
        self._definitions = Definitions(
            crds,
            catalogue,
            installed=installation.kinds,
            clock=app.clock,
            leader=self._other_leader,
        )
        app.readyz.add("definitions", self._definitions.ready)
        installation.keep_in_place(app, crds)
        self._webhooks = self._make_webhooks() if options.webhooks.on else None
        self._watcher = self._make_watcher()
        app.before_start("look at the settings", self._say_what_starts)
        if options.sees_to_crds:
            keeper = StoredVersions(app.client, clock=app.clock)
            keeper.setup_with(app, crds, self._definitions)

    def run(self) -> int:
        """Install CRDs, run until stopped, and return the exit code. Blocking.

        If there are several processes, the leader installs CRDs and reconciles (LE-5).
        Raises AsoreconcileError if the process cannot start: the cluster does not
        respond, or a pattern matches nothing.
        """
        return self._app.run()

    def stop(self) -> None:
        """Make `run` end. May be called from any thread; does not block."""
        self._app.stop()

    def _make_application(self, clock: Clock | None) -> Application:
        settings, options = self._settings, self._options
        return Application(
            "asoreconcile",
            cluster=options.kubeconfig,
            clock=clock,
            client=ClientOptions(user_agent=f"asoreconcile/{__version__}"),
            cache=CacheOptions(
                namespaces=settings.target_namespaces,
                kinds={CUSTOM_RESOURCE_DEFINITIONS: Scope(transform=reduced)},
            ),
            on_unreadable=self._report_unreadable,
            leader_election=options.leader_election,
            metrics_address=options.metrics_address,
            secure_metrics=options.secure_metrics,
            metrics_certificates=options.scrape_certificates(clock),
            health_address=options.health_address,
            grace_seconds=options.grace_seconds,
            drain_seconds=options.drain_seconds,
            flight_record=_flight_record(settings.pod_uid),
        )

    def _make_webhooks(self) -> Webhooks:
        from asoreconcile.azure.controllers.deletion_guard import DeletionGuard

        app = self._app
        webhooks = Webhooks(
            app,
            self._options.webhooks,
            self._catalogue,
            secret=ObjectKey(self._settings.pod_namespace, SERVING_SECRET),
            crds=self._definitions.targets,
            expressions=self._expressions,
            guard=DeletionGuard(
                app.client, self._settings.default_policy, ProtectedObjects(self._kinds)
            ),
            owners=self._kinds,
            checks_writers=self._settings.check_secret_access,
        )
        self._crds.add_handler(lambda _: webhooks.changed())
        if self._options.webhooks.cert_dir is not None:
            trust = MountedTrust(
                self._options.webhooks, self._definitions.distrusting, app
            )
            app.readyz.add("mountedCertificate", trust)
        probe = ConversionProbe(app.client, self._kinds.running, clock=app.clock)
        probe.setup_with(app)
        return webhooks

    def _make_watcher(self) -> CrdWatcher:
        app, settings, webhooks = self._app, self._settings, self._webhooks
        kinds: Kinds = WebhookKinds(webhooks.admit if webhooks else lambda _: None)
        if settings.mode.watches:
            kinds = azure_controllers(
                app,
                settings,
                extension_names=self._options.extension_names,
                catalogue=self._catalogue,
                kinds=self._kinds,
                webhooks=webhooks,
                expressions=self._expressions,
            )
        watcher = CrdWatcher(
            app.client,
            self._catalogue,
            kinds,
            crds=self._definitions.states,
            clock=app.clock,
            expected=self._definitions.installed,
            converts=webhooks is not None or not settings.mode.answers,
            leader=self._other_leader,
        )
        app.annotate_lease(
            lambda: LeaderNote(BUILD, frozenset(watcher.running)).annotations()
        )
        watcher.setup_with(app, self._crds, self._definitions)
        return watcher

    def _other_leader(self) -> LeaderNote:
        return leader_note(self._app.leader_annotations)

    def _say_what_starts(self) -> None:
        for notice in self._settings.notices:
            _log.warning("Settings", notice=notice)
        running = self._watcher.running.values()
        stored = sum(bool(version.kept_as) for version in running)
        if stored and self._webhooks is not None and not self._options.all_versions:
            _log.warning(
                "Objects are stored in a form that the webhook converts; `asoctl clean "
                "crds --one-version` stores them in one version",
                kinds=stored,
            )
        kinds = len(running)
        _log.info("Starting", version=__version__, kinds=kinds)

    def _report_unreadable(self, found: Unreadable) -> None:
        """Report through the kind's own controller, else record an event."""
        kind = self._kinds.running().get(found.resource.group_kind)
        if kind is None:
            unreadable_events(self._app.recorder)(found)
        else:
            kind.controller.enqueue(found.key)


def _flight_record(pod_uid: str) -> Path | None:
    """Return the file of the objects in flight: one for each pod, whose temporary
    folder is a volume that outlives its containers.
    """
    if not pod_uid.replace("-", "").isalnum():
        return None
    return Path(tempfile.gettempdir()) / f"asoreconcile-in-flight-{pod_uid}"
