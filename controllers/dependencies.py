"""Build the dependencies that all reconciles share. Loaded with the first object."""

from collections.abc import Callable
from functools import partial

from asoreconcile.azure.arm.collection_reads import CollectionReads
from asoreconcile.azure.catalogue.kinds import Catalogue, KindVersion
from asoreconcile.azure.controllers.credential_watcher import is_named_credential
from asoreconcile.azure.controllers.kind_registry import KindRegistry
from asoreconcile.azure.controllers.namespace_annotations import NamespaceAnnotations
from asoreconcile.azure.controllers.protected_objects import ProtectedObjects
from asoreconcile.azure.controllers.record_key_secret import RecordKeySecret
from asoreconcile.azure.controllers.reference_grants import ReferenceGrants
from asoreconcile.azure.controllers.settings import Settings
from asoreconcile.azure.expressions.api import Expressions
from asoreconcile.azure.extensions.registry import builtin_sets
from asoreconcile.azure.middleware.chain import Extensions
from asoreconcile.azure.middleware.discovery import load_sets
from asoreconcile.azure.middleware.metrics import ExtensionMetrics
from asoreconcile.azure.reconcile.model.object_reference import ObjectReference
from asoreconcile.azure.reconcile.model.sync_mode import BulkReads
from asoreconcile.azure.reconcile.scope.shared_dependencies import (
    ConnectionResolver,
    SharedDependencies,
)
from asoreconcile.azure.reconcile.state.dependency_index import (
    DependencyIndex,
    named_by,
)
from asoreconcile.azure.reconcile.state.exported_objects import ExportedObjects
from asoreconcile.azure.reconcile.state.sync_metrics import SyncMetrics
from asoreconcile.azure.reconcile.state.waiting import Waiting
from asoreconcile.base.objects import JsonObject
from asoreconcile.base.version import __version__
from asoreconcile.kube.resources import NAMESPACES
from asoreconcile.runtime.application import Application

# Delays are spread over half a period, so that one list may do for all.
# Its age counts as part of the period that begins then.
_LIST_PERIODS = 0.5


def shared_dependencies(
    app: Application,
    settings: Settings,
    *,
    extension_names: tuple[str, ...],
    catalogue: Catalogue,
    kinds: KindRegistry,
    connections: ConnectionResolver,
    metrics: ExtensionMetrics,
    waiting: Waiting,
    wake_children: Callable[[ObjectReference], None],
    dependents: DependencyIndex,
    exported: ExportedObjects,
    expressions: Expressions,
    asks_for_certificates: bool,
) -> SharedDependencies:
    """Return the shared dependencies.

    extension_names: extension sets to load in addition to the project's own.
    asks_for_certificates: see `SecretAccessCheck`.

    Raises AsoreconcileError for a set that cannot be used.
    """
    namespaces = app.informer(NAMESPACES, metadata_only=True)
    record_key = RecordKeySecret(app.client, settings.pod_namespace, app.clock)
    syncs = SyncMetrics(app.registry)
    return SharedDependencies(
        clock=app.clock,
        client=app.client,
        catalogue=catalogue,
        objects=kinds,
        connections=connections,
        extensions=Extensions.of_catalogue(
            (*builtin_sets(), *load_sets(extension_names)),
            catalogue,
            metrics=metrics,
        ),
        recorder=app.recorder,
        namespace_annotations=NamespaceAnnotations(namespaces, app.client, app.clock),
        namespace=settings.pod_namespace,
        default_policy=settings.default_policy,
        sync_mode=settings.sync_mode,
        undeclared=settings.undeclared,
        foreign_tags=settings.foreign_tags,
        ignore_fields=settings.ignore_fields,
        force_put_seconds=settings.force_put_seconds,
        count_sync=syncs.count,
        count_replaced=syncs.count_replaced,
        count_confirmation=syncs.count_confirmation,
        predecessor_renewed=lambda: app.predecessor_renewed,
        expressions=lambda: expressions,
        is_credential=partial(is_named_credential, kinds),
        record_key=record_key,
        is_granted=ReferenceGrants(app.client, kinds.objects_with_arm_id, record_key),
        objects_with_arm_id=kinds.objects_with_arm_id,
        protected_below=ProtectedObjects(kinds, namespaces),
        objects_of=kinds.objects_of,
        waiting=waiting,
        wake_children=wake_children,
        exported=exported,
        children_of=partial(named_by, dependents),
        export_loop=dependents.export_loop,
        leads_to=dependents.leads_to,
        why_secrets_unchecked=_secret_access(
            app, settings, catalogue, asks_for_certificates
        ),
        wait_for_references=settings.wait_for_references,
        collection_reads=_collection_reads(app, settings),
        build=f"asoreconcile-{__version__}",
    )


def _secret_access(
    app: Application,
    settings: Settings,
    catalogue: Catalogue,
    asks_for_certificates: bool,
) -> Callable[[KindVersion, JsonObject], str]:
    if not settings.check_secret_access:
        return lambda _version, _obj: ""
    # Only with the setting: a start does not pay for it otherwise.
    from asoreconcile.azure.controllers.secret_access import SecretAccessCheck

    return SecretAccessCheck(
        app.client, catalogue, app.clock, asks_for_certificates=asks_for_certificates
    )


def _collection_reads(app: Application, settings: Settings) -> CollectionReads | None:
    period = settings.sync_period_seconds
    # Without a period nothing is synced by itself, so that there is nothing to read in
    # bulk.
    if settings.bulk_reads is BulkReads.OFF or period is None:
        return None
    return CollectionReads(app.clock, max_age_seconds=period * _LIST_PERIODS)
