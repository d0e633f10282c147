"""The half of the operator that reconciles: kinds, credentials, and what wakes objects.

Everything runs on the parts of one `Application`; kinds start and stop in `lifecycle`
as the CRD watcher says. Nothing here decides anything about a resource.
"""

from collections.abc import Callable
from functools import partial

from asoreconcile.arm.metrics import ArmMetrics
from asoreconcile.azure.default_delete import delete_resource
from asoreconcile.azure.dependency_index import DependencyIndex
from asoreconcile.azure.object_reference import CONFIG_MAP, SECRET
from asoreconcile.azure.scope import SharedDependencies
from asoreconcile.azure.waiting import Waiting
from asoreconcile.catalogue.kinds import Catalogue
from asoreconcile.catalogue.reserved import SETTINGS_SECRET
from asoreconcile.controllers.arm_client_factory import ArmClientFactory
from asoreconcile.controllers.credential_resolver import (
    CredentialResolver,
    GlobalConnection,
)
from asoreconcile.controllers.credential_watcher import (
    CredentialWatcher,
    NamedCredentials,
    is_change,
)
from asoreconcile.controllers.event_mapping import EventMapping
from asoreconcile.controllers.external_kinds import (
    ExternalDependencies,
    external_resources,
)
from asoreconcile.controllers.kind_builder import KindBuilder
from asoreconcile.controllers.kind_registry import KindRegistry
from asoreconcile.controllers.lifecycle import Lifecycle
from asoreconcile.controllers.namespace_annotations import NamespaceAnnotations
from asoreconcile.controllers.rate_limiter import retries, throttle_for
from asoreconcile.controllers.ready_metrics import ReadyMetrics
from asoreconcile.controllers.settings import Settings
from asoreconcile.controllers.webhooks import Webhooks
from asoreconcile.extensions.registry import builtin_sets
from asoreconcile.kube.resources import CONFIG_MAPS, NAMESPACES, SECRETS
from asoreconcile.middleware.chain import Extensions
from asoreconcile.middleware.default_handlers import DefaultHandlers
from asoreconcile.middleware.discovery import load_sets
from asoreconcile.middleware.metrics import ExtensionMetrics
from asoreconcile.runtime.application import Application
from asoreconcile.runtime.options import ControllerOptions
from asoreconcile.runtime.runnable import RunnableGroup
from asoreconcile.version import __version__

# A reconcile asks Azure a handful of times, for 90 s of silence each at the worst (D9).
_RECONCILE_SECONDS = 300.0
# Kinds whose workers may all be talking to Azure at once.
_BUSY_KINDS = 16


class AzureControllers:
    """The kinds of one application, and what they share."""

    def __init__(
        self,
        app: Application,
        settings: Settings,
        *,
        extension_names: tuple[str, ...],
        catalogue: Catalogue,
        kinds: KindRegistry,
        webhooks: Webhooks | None,
        on_failure: Callable[[], None],
    ) -> None:
        """extension_names: of the sets to load beside those of the settings. kinds: is
        filled. on_failure: as of a `Lifecycle`. Raises AsoreconcileError for a
        credential or a set that cannot be used.
        """
        self._app = app
        self._settings = settings
        self._catalogue = catalogue
        self._kinds = kinds
        self._waiting = Waiting()
        self._connect = ArmClientFactory(
            clock=app.clock,
            metrics=ArmMetrics(app.registry),
            user_agent=settings.user_agent_suffix,
            connections=_BUSY_KINDS * settings.max_concurrent_reconciles,
            before_write=app.fence,
            graph_endpoint=settings.graph_endpoint,
        )
        self._resolver = self._make_resolver()
        self._external = external_resources(ExternalDependencies(app.clock, app.fence))
        mapping = EventMapping(kinds, DependencyIndex(), self._waiting)
        builder = KindBuilder(
            app=app,
            sync_period_seconds=settings.sync_period_seconds,
            options=ControllerOptions(
                max_concurrent_reconciles=settings.max_concurrent_reconciles,
                deadline_seconds=_RECONCILE_SECONDS,
                throttle=throttle_for(settings.rate_limit, app.clock),
            ),
            operator=self._make_dependencies(extension_names),
            wakeups=mapping,
            webhooks=webhooks,
            external=self._external,
        )
        self.lifecycle = Lifecycle(
            kinds,
            builder.build,
            builder.forget,
            clock=app.clock,
            threads=app.threads,
            on_failure=on_failure,
        )
        self._watch_others(mapping)
        self._watch_credentials()
        app.registry.register(ReadyMetrics(kinds.running, app.clock))
        app.healthz.add("controllers", self.lifecycle.liveness)
        app.readyz.add("handovers", self.lifecycle.readiness)
        app.manager.add(self.lifecycle, group=RunnableGroup.LEADER, after_caches=False)

    def close(self) -> None:
        """Close the connections to Azure, once nothing runs any more."""
        self._connect.close()
        for resource in self._external.values():
            resource.close()

    def _watch_others(self, mapping: EventMapping) -> None:
        """Sources beside the kinds; the mapping decides which objects they wake."""
        namespaces = self._app.informer(NAMESPACES, metadata_only=True)
        namespaces.add_handler(mapping.on_namespace)
        for resource, group_kind in ((SECRETS, SECRET), (CONFIG_MAPS, CONFIG_MAP)):
            informer = self._app.informer(resource, metadata_only=True)
            informer.add_handler(partial(mapping.on_secret_or_config_map, group_kind))

    def _watch_credentials(self) -> None:
        self._app.reconcile(
            self._app.informer(SECRETS, metadata_only=True),
            CredentialWatcher(self._resolver, self._kinds),
            name="credentials",
            when=is_change,
            options=ControllerOptions(limiter=retries(self._app.clock)),
        )

    def _make_resolver(self) -> CredentialResolver:
        return CredentialResolver(
            self._app.client,
            self._app.informer(SECRETS, metadata_only=True),
            connect=self._connect,
            rules=self._settings.credentials,
            settings=_global_connection(self._settings, self._connect),
            seen=self._kinds.seen,
            clock=self._app.clock,
        )

    def _make_dependencies(
        self, extension_names: tuple[str, ...]
    ) -> SharedDependencies:
        app, settings, kinds = self._app, self._settings, self._kinds
        names = tuple(dict.fromkeys((*extension_names, *settings.extensions)))
        return SharedDependencies(
            clock=app.clock,
            client=app.client,
            catalogue=self._catalogue,
            objects=kinds,
            connections=self._resolver,
            extensions=Extensions.compose(
                (*builtin_sets(), *load_sets(names)),
                terminals=DefaultHandlers(delete=delete_resource),
                kinds=[kind.group_kind for kind in self._catalogue.kinds()],
                metrics=ExtensionMetrics(app.registry),
            ),
            recorder=app.recorder,
            namespace_annotations=NamespaceAnnotations(
                app.informer(NAMESPACES, metadata_only=True)
            ),
            namespace=settings.pod_namespace,
            default_policy=settings.default_policy,
            sync_mode=settings.sync_mode,
            is_credential=NamedCredentials(kinds),
            objects_with_arm_id=kinds.objects_with_arm_id,
            waiting=self._waiting,
            build=f"asoreconcile-{__version__}",
        )


def _global_connection(
    settings: Settings, connect: ArmClientFactory
) -> GlobalConnection:
    if settings.credential is None:
        return GlobalConnection(None)
    source = f"{settings.pod_namespace}/{SETTINGS_SECRET}"
    app = settings.entra_app_id
    made = connect(settings.credential, source, entra_app_id=app)
    return GlobalConnection(
        made.client,
        subscription_id=made.subscription_id,
        source=source,
        graph=made.graph,
    )
