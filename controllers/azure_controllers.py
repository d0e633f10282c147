"""The half of the operator that reconciles: kinds, credentials, and what wakes objects.

Everything runs on the parts of one `Application`; kinds start and stop in `lifecycle`
as the CRD watcher says. Nothing here decides anything about a resource.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING

import attrs

from asoreconcile.arm.credentials import CredentialSource
from asoreconcile.arm.metrics import ArmMetrics
from asoreconcile.azure.dependency_index import DependencyIndex
from asoreconcile.azure.object_reference import CONFIG_MAP, SECRET
from asoreconcile.azure.waiting import Waiting
from asoreconcile.catalogue.kinds import Catalogue
from asoreconcile.catalogue.reserved import SETTINGS_SECRET
from asoreconcile.controllers.credential_resolver import (
    CredentialResolver,
    GlobalConnection,
)
from asoreconcile.controllers.credential_watcher import (
    CredentialWatcher,
    is_change,
)
from asoreconcile.controllers.event_mapping import EventMapping
from asoreconcile.controllers.kind_builder import KindBuilder
from asoreconcile.controllers.kind_registry import KindRegistry
from asoreconcile.controllers.lifecycle import Lifecycle
from asoreconcile.controllers.rate_limiter import retries, throttle_for
from asoreconcile.controllers.ready_metrics import ReadyMetrics
from asoreconcile.controllers.settings import Settings
from asoreconcile.controllers.webhooks import Webhooks
from asoreconcile.deferred import Deferred
from asoreconcile.kube.resources import CONFIG_MAPS, NAMESPACES, SECRETS
from asoreconcile.middleware.metrics import ExtensionMetrics
from asoreconcile.objects import GroupKind, JsonObject
from asoreconcile.runtime.application import Application
from asoreconcile.runtime.options import ControllerOptions
from asoreconcile.runtime.runnable import RunnableGroup

if TYPE_CHECKING:
    from asoreconcile.azure.reconcile_scope import (
        Connection,
        ConnectionResolver,
        SharedDependencies,
    )
    from asoreconcile.controllers.arm_client_factory import ArmClientFactory
    from asoreconcile.non_arm.resource import ExternalResource

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
        self._arm_metrics = ArmMetrics(app.registry)
        self._extension_metrics = ExtensionMetrics(app.registry)
        self._factory = Deferred(self._make_factory)
        self._settings_connection = Deferred(self._connect_settings)
        self._resolver = self._make_resolver()
        self._external = Deferred(self._make_external)
        names = tuple(dict.fromkeys((*extension_names, *settings.extensions)))
        operator = Deferred(lambda: self._make_dependencies(names))
        if names:
            operator()  # a set of others that cannot be used ends the start
        mapping = EventMapping(kinds, DependencyIndex(), self._waiting)
        builder = KindBuilder(
            app=app,
            sync_period_seconds=settings.sync_period_seconds,
            options=ControllerOptions(
                max_concurrent_reconciles=settings.max_concurrent_reconciles,
                deadline_seconds=_RECONCILE_SECONDS,
                throttle=throttle_for(settings.rate_limit, app.clock),
            ),
            catalogue=catalogue,
            operator=operator,
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
        app.on_close(self._close)

    def _close(self) -> None:
        """Close the connections to Azure, once nothing runs any more."""
        if factory := self._factory.made():
            factory.close()
        for resource in (self._external.made() or {}).values():
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
            settings=_Later(self._settings_connection),
            seen=self._kinds.seen,
            clock=self._app.clock,
        )

    # What reconciles is loaded with the first object, not at the start: a replica that
    # does not lead, and one of webhooks, never need it (half of all modules).

    def _connect(
        self, source: CredentialSource, name: str, *, entra_app_id: str = ""
    ) -> "Connection":
        return self._factory()(source, name, entra_app_id=entra_app_id)

    def _make_factory(self) -> "ArmClientFactory":
        from asoreconcile.controllers.arm_client_factory import ArmClientFactory

        return ArmClientFactory(
            clock=self._app.clock,
            metrics=self._arm_metrics,
            user_agent=self._settings.user_agent_suffix,
            connections=_BUSY_KINDS * self._settings.max_concurrent_reconciles,
            before_write=self._app.fence,
            graph_endpoint=self._settings.graph_endpoint,
        )

    def _make_external(self) -> "Mapping[GroupKind, ExternalResource]":
        from asoreconcile.controllers.external_kinds import (
            ExternalDependencies,
            external_resources,
        )

        shared = ExternalDependencies(self._app.clock, self._app.fence)
        return external_resources(shared)

    def _connect_settings(self) -> "ConnectionResolver":
        settings = self._settings
        if settings.credential is None:
            return GlobalConnection(None)
        source = f"{settings.pod_namespace}/{SETTINGS_SECRET}"
        app = settings.entra_app_id
        made = self._connect(settings.credential, source, entra_app_id=app)
        return GlobalConnection(
            made.client,
            subscription_id=made.subscription_id,
            source=source,
            tenant_id=made.tenant_id,
            graph=made.graph,
        )

    def _make_dependencies(
        self, extension_names: tuple[str, ...]
    ) -> "SharedDependencies":
        from asoreconcile.controllers.dependencies import shared_dependencies

        return shared_dependencies(
            self._app,
            self._settings,
            extension_names=extension_names,
            catalogue=self._catalogue,
            kinds=self._kinds,
            connections=self._resolver,
            metrics=self._extension_metrics,
            waiting=self._waiting,
        )


@attrs.frozen
class _Later:
    """A `ConnectionResolver` that is made with the first question."""

    made: "Deferred[ConnectionResolver]"

    def for_object(self, obj: JsonObject) -> "Connection":
        return self.made().for_object(obj)
