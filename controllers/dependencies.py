"""What all reconciles share, put together. Loaded with the first object."""

from asoreconcile.azure.default_delete import delete_resource
from asoreconcile.azure.reconcile_scope import ConnectionResolver, SharedDependencies
from asoreconcile.azure.waiting import Waiting
from asoreconcile.catalogue.kinds import Catalogue
from asoreconcile.controllers.credential_watcher import NamedCredentials
from asoreconcile.controllers.kind_registry import KindRegistry
from asoreconcile.controllers.namespace_annotations import NamespaceAnnotations
from asoreconcile.controllers.settings import Settings
from asoreconcile.extensions.registry import builtin_sets
from asoreconcile.kube.resources import NAMESPACES
from asoreconcile.middleware.chain import Extensions, LinkMetrics
from asoreconcile.middleware.default_handlers import DefaultHandlers
from asoreconcile.middleware.discovery import load_sets
from asoreconcile.runtime.application import Application
from asoreconcile.version import __version__


def shared_dependencies(
    app: Application,
    settings: Settings,
    *,
    extension_names: tuple[str, ...],
    catalogue: Catalogue,
    kinds: KindRegistry,
    connections: ConnectionResolver,
    metrics: LinkMetrics,
    waiting: Waiting,
) -> SharedDependencies:
    """extension_names: of the sets to load beside ours. Raises AsoreconcileError for a
    set that cannot be used.
    """
    return SharedDependencies(
        clock=app.clock,
        client=app.client,
        catalogue=catalogue,
        objects=kinds,
        connections=connections,
        extensions=Extensions.compose(
            (*builtin_sets(), *load_sets(extension_names)),
            terminals=DefaultHandlers(delete=delete_resource),
            kinds=[kind.group_kind for kind in catalogue.kinds()],
            metrics=metrics,
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
        waiting=waiting,
        build=f"asoreconcile-{__version__}",
    )
