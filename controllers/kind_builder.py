"""Build one kind: cache, reconciler, queue, and the handlers of its watch events."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import attrs

from asoreconcile.azure.catalogue.kinds import Catalogue, KindVersion
from asoreconcile.azure.catalogue.storage_codec import StorageCodec, storage_codec_of
from asoreconcile.azure.controllers.credential_watcher import index_credentials
from asoreconcile.azure.controllers.event_mapping import EventMapping
from asoreconcile.azure.controllers.kind_registry import (
    RunningKind,
    controller_name,
    failure_limiter,
    index_azure_ids,
    needs_reconcile,
    resource_of,
)
from asoreconcile.azure.controllers.protected_objects import (
    VanishedObjects,
    index_protected,
)
from asoreconcile.azure.controllers.ready_metrics import index_not_ready
from asoreconcile.azure.controllers.settings import Settings
from asoreconcile.azure.controllers.webhooks import Webhooks
from asoreconcile.azure.reconcile.state.memory import ObjectMemories
from asoreconcile.azure.reconcile.state.read_set import InFlightReads
from asoreconcile.azure.reconcile.state.requeue_backoff import RequeueBackoff
from asoreconcile.base.lazy import Lazy
from asoreconcile.base.objects import GroupKind, ObjectKey
from asoreconcile.cache.events import Event
from asoreconcile.cache.informer import Informer
from asoreconcile.runtime.application import Application
from asoreconcile.runtime.options import ControllerOptions
from asoreconcile.runtime.reconciler import Reconciler, Request, Result
from asoreconcile.runtime.sources import Watch
from asoreconcile.runtime.worker import Throttle

if TYPE_CHECKING:
    from asoreconcile.azure.non_arm.resource import ExternalResource
    from asoreconcile.azure.reconcile.scope.shared_dependencies import (
        SharedDependencies,
    )


# A reconcile sends a handful of requests, each with at most 90 s of silence (D9).
_RECONCILE_SECONDS = 300.0


@attrs.frozen
class KindBuilder:
    """Builds kinds from shared parts (`lifecycle.Lifecycle` runs them).

    throttle: throttle of all reconciles of the process, or None. operator: function
    that returns the shared dependencies; called with the first object of any kind.
    vanished: receives the objects that were removed.
    external: returns the resources of the kinds without ARM. on_event: called with the
    events of all kinds.
    """

    app: Application
    settings: Settings
    throttle: Throttle | None
    catalogue: Catalogue
    operator: "Callable[[], SharedDependencies]"
    wakeups: EventMapping
    webhooks: Webhooks | None
    vanished: VanishedObjects
    external: "Callable[[], Mapping[GroupKind, ExternalResource]]" = dict
    on_event: Callable[[Event], None] = lambda _: None

    def build(self, version: KindVersion) -> RunningKind:
        """Return a kind's informer and controller, neither started."""
        if self.webhooks is not None:
            self.webhooks.admit(version.group_kind)
        informer = self.app.informer(resource_of(version))
        try:
            return self._build(version, informer)
        except BaseException:
            # Undo the partial work, so that the next try does not find it.
            informer.ask_to_stop()
            self._forget(version, informer)
            raise

    def _build(self, version: KindVersion, informer: Informer) -> RunningKind:
        definition = self.catalogue.kind(version.group_kind)
        index_credentials(informer)
        form = storage_codec_of(version, definition)
        index_azure_ids(informer, form)
        index_not_ready(informer)
        index_protected(informer)

        def wake(key: ObjectKey) -> None:
            # Before, also in a standby: the sync enqueues all objects anyway.
            if controller.has_synced:
                controller.enqueue(key)

        in_flight_reads, memories = InFlightReads(wake), ObjectMemories()
        reconciler = Lazy(
            lambda: self._reconciler(version, informer, form, in_flight_reads, memories)
        )

        def reconcile(request: Request) -> Result:
            return reconciler().reconcile(request)

        options = ControllerOptions(
            max_concurrent_reconciles=self.settings.max_concurrent_reconciles,
            deadline_seconds=_RECONCILE_SECONDS,
            throttle=self.throttle,
            # A limiter counts failures by key, and objects of two kinds may have the
            # same key.
            limiter=failure_limiter(self.app.clock),
        )
        name, kind = controller_name(version), str(version.group_kind)
        controller = self.app.controller(name, reconcile, options, kind=kind)
        # The dependency index first, then the queue: when a worker finds an owner
        # missing, the index already contains its object.
        informer.add_handler(lambda event: self.wakeups.on_azure_object(form, event))
        informer.add_handler(self.on_event)
        informer.add_handler(
            lambda event: self.vanished.on_event(version.group_kind, event)
        )
        controller.watch(Watch(informer, when=needs_reconcile))
        return RunningKind(
            version, informer, controller, form, in_flight_reads, memories
        )

    def _reconciler(
        self,
        version: KindVersion,
        informer: Informer,
        form: StorageCodec,
        in_flight_reads: InFlightReads,
        memories: ObjectMemories,
    ) -> Reconciler:
        """Return a kind's reconciler, loading the modules that call Azure.

        A kind without objects does not need them.
        """
        from asoreconcile.azure.reconcile.engine.reconciler import ArmReconciler
        from asoreconcile.azure.reconcile.scope.shared_dependencies import KindRuntime

        kind = KindRuntime(
            version=version,
            resource=resource_of(version),
            cache=informer,
            form=form,
            requeue_backoff=RequeueBackoff(
                sync_period_seconds=self.settings.sync_periods.get(
                    version.group_kind, self.settings.sync_period_seconds
                ),
            ),
            in_flight_reads=in_flight_reads,
            memories=memories,
            selections=informer.selections,
            unreadable=lambda: informer.unreadable,
            recorder=self.app.recorder.named(controller_name(version)),
        )
        if version.is_arm:
            return ArmReconciler(self.operator(), kind, informer)
        from asoreconcile.azure.non_arm.reconciler import ExternalReconciler

        resource = self.external()[version.group_kind]
        return ExternalReconciler(self.operator(), kind, informer, resource)

    def forget(self, kind: RunningKind) -> None:
        """Drop the remaining state of a kind that has stopped."""
        self._forget(kind.version, kind.informer)

    def _forget(self, version: KindVersion, informer: Informer) -> None:
        self.app.release(informer)
        self.wakeups.forget(version.group_kind)
        self.app.metrics.forget(controller_name(version))
