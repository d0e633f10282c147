"""Register the reconciling parts: kinds, credentials, and watches between objects.

The CRD watcher starts and stops kinds through `lifecycle`. This module decides nothing
about a resource.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from asoreconcile.azure.catalogue.kinds import Catalogue
from asoreconcile.azure.controllers.azure_connections import AzureConnections
from asoreconcile.azure.controllers.credential_hold import CredentialHold
from asoreconcile.azure.controllers.credential_watcher import CredentialWatcher
from asoreconcile.azure.controllers.event_mapping import EventMapping
from asoreconcile.azure.controllers.kind_builder import KindBuilder
from asoreconcile.azure.controllers.kind_registry import KindRegistry, throttle_for
from asoreconcile.azure.controllers.lifecycle import Lifecycle
from asoreconcile.azure.controllers.protected_objects import VanishedObjects
from asoreconcile.azure.controllers.settings import Settings
from asoreconcile.azure.controllers.webhooks import Webhooks
from asoreconcile.azure.expressions.api import Expressions
from asoreconcile.azure.middleware.metrics import ExtensionMetrics
from asoreconcile.azure.reconcile.state.dependency_index import DependencyIndex
from asoreconcile.azure.reconcile.state.exported_objects import ExportedObjects
from asoreconcile.azure.reconcile.state.waiting import Waiting
from asoreconcile.base.lazy import Lazy
from asoreconcile.base.objects import GroupKind
from asoreconcile.kube.resources import CONFIG_MAPS, SECRETS
from asoreconcile.runtime.application import Application

if TYPE_CHECKING:
    from asoreconcile.azure.non_arm.resource import ExternalResource
    from asoreconcile.azure.reconcile.scope.shared_dependencies import (
        SharedDependencies,
    )


def azure_controllers(
    app: Application,
    settings: Settings,
    *,
    extension_names: tuple[str, ...],
    catalogue: Catalogue,
    kinds: KindRegistry,
    webhooks: Webhooks | None,
    expressions: Expressions,
) -> Lifecycle:
    """Register the parts, and return the kinds' lifecycle.

    extension_names: extension sets to load in addition to those of the settings.
    kinds: the registry, which is filled here.

    Raises AsoreconcileError for a credential or an extension set that cannot be used.
    """
    waiting, dependents = Waiting(), DependencyIndex()
    exported = ExportedObjects(
        {
            resource.group_kind: app.informer(resource, metadata_only=True)
            for resource in (SECRETS, CONFIG_MAPS)
        }
    )
    mapping = EventMapping(kinds, dependents, waiting, exported)
    mapping.setup_with(app)
    connections = AzureConnections(app, settings, seen=kinds.seen).resolver
    secrets = app.informer(SECRETS, metadata_only=True)
    hold = CredentialHold(app.client, secrets, settings.hold_credentials)
    credentials = CredentialWatcher(connections, kinds, hold)
    credentials.setup_with(app)
    metrics = ExtensionMetrics(app.registry)
    names = tuple(dict.fromkeys((*extension_names, *settings.extensions)))

    # The modules that reconcile are loaded with the first object, not at the start: a
    # replica that is not the leader, and one for webhooks, never need them (half of all
    # modules).

    def dependencies() -> "SharedDependencies":
        from asoreconcile.azure.controllers.dependencies import shared_dependencies

        return shared_dependencies(
            app,
            settings,
            extension_names=names,
            catalogue=catalogue,
            kinds=kinds,
            connections=connections,
            metrics=metrics,
            waiting=waiting,
            wake_children=mapping.wake_children,
            dependents=dependents,
            exported=exported,
            expressions=expressions,
            asks_for_certificates=webhooks is not None
            and webhooks.asks_for_certificates,
        )

    def inherited(namespace: str) -> Mapping[str, str]:
        return shared().namespace_annotations(namespace)

    shared = Lazy(dependencies)
    if names:
        shared()  # an unusable extension set ends the start
    builder = KindBuilder(
        app=app,
        settings=settings,
        throttle=throttle_for(settings.rate_limit, app.clock),
        catalogue=catalogue,
        operator=shared,
        wakeups=mapping,
        on_event=credentials.on_azure_object,
        webhooks=webhooks,
        vanished=VanishedObjects(
            recorder=app.recorder,
            namespace=settings.pod_namespace,
            inherited=inherited,
            default_policy=settings.default_policy,
            leads=lambda: app.leads,
        ),
        external=Lazy(lambda: external_resources(app)),
    )
    lifecycle = Lifecycle(
        kinds, builder.build, builder.forget, clock=app.clock, threads=app.threads
    )
    lifecycle.setup_with(app)
    return lifecycle


def external_resources(app: Application) -> "Mapping[GroupKind, ExternalResource]":
    """Return a resource for each kind without ARM, closed with the application. Sends
    nothing.

    The drivers are imported when the first object of a kind is reconciled: most
    installations have none.
    """
    from asoreconcile.azure.entra.directory_objects import DirectoryObjects
    from asoreconcile.azure.entra.kinds import ENTRA_KINDS
    from asoreconcile.azure.sql_users.kinds import USER_KINDS, database_users

    made: dict[GroupKind, ExternalResource] = {}
    for group_kind, make in USER_KINDS.items():
        users = database_users(make(), clock=app.clock, fence=app.fence)
        app.on_close(users.close)
        made[group_kind] = users
    # The clients of Entra, which belong to the credentials, have clock and fence.
    return made | {group_kind: DirectoryObjects() for group_kind in ENTRA_KINDS}
