"""Registers controllers and informers of kinds and of resource classes.

The part of `Application` that takes a kind, as a resource or as a class.
"""

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, Self, TypeVar, overload

from asoreconcile.base.errors import check_is, check_number
from asoreconcile.base.objects import JsonObject
from asoreconcile.base.threads import Threads
from asoreconcile.base.tracing import Tracing
from asoreconcile.cache.informer import Informer
from asoreconcile.kube.resources import ApiResource
from asoreconcile.resources.informer import TypedInformer
from asoreconcile.resources.typed_kind import HasMetadata
from asoreconcile.runtime.cluster import Cluster
from asoreconcile.runtime.controller import Controller
from asoreconcile.runtime.flight_record import FlightRecord
from asoreconcile.runtime.handlers import Handler, enqueue_owner, enqueue_self
from asoreconcile.runtime.health import HealthChecks
from asoreconcile.runtime.manager import Manager
from asoreconcile.runtime.options import ControllerOptions
from asoreconcile.runtime.predicates import Predicate
from asoreconcile.runtime.process_endpoints import ProcessEndpoints
from asoreconcile.runtime.process_parts import ProcessParts
from asoreconcile.runtime.reconciler import Reconcile, Reconciler
from asoreconcile.runtime.runnable import RunnableGroup
from asoreconcile.runtime.sources import Watch
from asoreconcile.runtime.typed_reconciler import (
    ReconcileUnreadable,
    TypedReconcile,
    TypedReconciler,
    reconcile_of_class,
)

InformerSource = ApiResource | Informer | type | TypedInformer[Any]
"""A kind, a resource class, or an informer of either."""


class ControllerBuilder:
    """Adds watches to a controller. Methods act at once and return the builder."""

    def __init__(
        self,
        controller: Controller,
        primary: Informer | None,
        informer: Callable[[Any], Informer],
    ) -> None:
        """primary: the informer of the reconciled kind, if any. informer: returns the
        informer of another kind.
        """
        self.controller = controller
        self._primary = primary
        self._informer = informer

    def owns(self, source: InformerSource, *, when: Predicate | None = None) -> Self:
        """Also watch objects that this controller creates: a change enqueues the object
        that their ownerReferences name as the controller. Rule: HA-2.

        when: a predicate; all events count without one. Raises ValueError for a
        controller without a kind.
        """
        if self._primary is None:
            raise ValueError(
                f"{self.controller.name} reconciles no kind that could own"
            )
        owner = self._primary.resource
        handler = enqueue_owner(
            # An object may have several owners, and only one of them manages it.
            owner.group_kind,
            only_controller=True,
            namespaced=owner.namespaced,
        )
        return self.watches(source, handler, when=when)

    def watches(
        self,
        source: InformerSource,
        handler: Handler = enqueue_self,
        *,
        when: Predicate | None = None,
        resync_seconds: float = 0.0,
    ) -> Self:
        """Also watch a kind. The arguments are those of `Watch`; the handler is often
        `map_to(function)`.
        """
        informer = self._informer(source)
        self.controller.watch(Watch(informer, handler, when, resync_seconds))
        return self


T = TypeVar("T", bound=HasMetadata)


class ControllerRegistrar(Cluster):
    """A cluster with controllers. Methods are safe from any thread."""

    manager: Manager
    healthz: HealthChecks
    threads: Threads
    _parts: ProcessParts
    _flight_record: FlightRecord | None
    _process: ProcessEndpoints
    _tracing: Tracing | None
    _grace_seconds: float
    _asked: set[Informer]
    _controllers: dict[Controller, None]

    @overload
    def informer(
        self,
        resource: ApiResource | Informer,
        *,
        metadata_only: bool = False,
        label_selector: str | None = None,
        field_selector: str | None = None,
    ) -> Informer: ...
    @overload
    def informer(
        self,
        resource: type[T] | TypedInformer[T],
        *,
        label_selector: str | None = None,
        field_selector: str | None = None,
    ) -> TypedInformer[T]: ...
    def informer(
        self,
        resource: Any,
        *,
        metadata_only: bool = False,
        label_selector: str | None = None,
        field_selector: str | None = None,
    ) -> Any:
        """Like `Cluster.informer`. It also takes an informer that you created: the
        application then starts, stops and reports it with the others. The options apply
        to a resource only.
        """
        found = self._source_informer(
            resource,
            metadata_only=metadata_only,
            label_selector=label_selector,
            field_selector=field_selector,
        )
        untyped = found.untyped if isinstance(found, TypedInformer) else found
        self._asked.add(untyped)
        return found

    def _source_informer(self, resource: Any, **options: Any) -> Any:
        """Return the informer of a kind for a controller. It may end with the
        controller, unless it was asked for by `informer` too.
        """
        if isinstance(resource, TypedInformer):
            self._source_informer(resource.untyped)
            return resource
        if isinstance(resource, Informer):
            if self._process.informers.add(resource):
                self._asked.add(resource)
                self.manager.add(resource, group=RunnableGroup.CACHES)
            return resource
        return super().informer(resource, **options)

    def release(self, informer: Informer) -> None:
        """Forget an informer that you have stopped, with its check and metrics. The
        next request for its kind makes a new one.
        """
        self._informers.discard(informer)
        self._process.informers.remove(informer)
        self._asked.discard(informer)

    def remove(
        self,
        what: Controller | ControllerBuilder | Informer | TypedInformer[Any] | Cluster,
        *,
        timeout_seconds: float | None = None,
    ) -> list[str]:
        """Stop a controller, an informer or a cluster, and forget it, while the
        application runs on.

        A controller ends as at a stop: no reconcile begins, and those in flight have
        the timeout. Its workers, queue, check, metrics and name end, and its informers,
        unless another controller watches them or `informer` returned them. A cluster
        ends with the controllers that watch only its informers, its caches, threads,
        checks, metrics, connections and name; later calls of its clients raise
        StoppedError. Reads of an informer that ended raise NotCachedError.

        timeout_seconds: the longest wait; None is `grace_seconds`. Returns what still
        runs then, such as `controller namespace/name (12.3 s)`. Blocks: do not call it
        in a reconcile that it ends. Idempotent. Raises TypeError for anything else,
        ValueError for the application itself.
        """
        seconds = self._grace_seconds if timeout_seconds is None else timeout_seconds
        check_number("timeout_seconds", seconds, least=0)
        if isinstance(what, ControllerBuilder):
            what = what.controller
        if isinstance(what, TypedInformer):
            what = what.untyped
        if isinstance(what, Controller):
            return self._remove_controllers([what], seconds)
        if isinstance(what, Informer):
            self._asked.discard(what)
            return self._end_informer(what, seconds)
        if what is self:
            raise ValueError("an application does not remove itself: call stop")
        check_is("what", what, Controller, Informer, Cluster)
        return self._remove_cluster(what, seconds)

    @abstractmethod
    def _remove_cluster(self, cluster: Cluster, seconds: float) -> list[str]:
        """Stop a cluster that was connected, and forget it."""

    def _remove_controllers(
        self, controllers: Sequence[Controller], seconds: float
    ) -> list[str]:
        """Stop controllers together, and forget them."""
        deadline = self.clock.monotonic() + seconds
        for one in controllers:
            one.ask_to_stop(seconds)
        left: list[str] = []
        for one in controllers:
            self.manager.remove(one, 0.0)
            rest = max(0.0, deadline - self.clock.monotonic())
            left += one.wait_until_ended(rest)
            self.healthz.remove(one.name)
            self._process.debug.forget(one)
            self.metrics.forget_controller(one.name)
            self._controllers.pop(one, None)
            for source in one.sources:
                if isinstance(source, Informer) and self._is_unused(source):
                    self._end_informer(
                        source, max(0.0, deadline - self.clock.monotonic())
                    )
        return left

    def _is_unused(self, informer: Informer) -> bool:
        """Return whether an informer of this cluster was made for controllers, of which
        none is left.
        """
        return (
            informer in self._informers.all()
            and informer not in self._asked
            and not informer.has_handlers
            and not any(informer in one.sources for one in self._controllers)
        )

    def _end_informer(self, informer: Informer, seconds: float) -> list[str]:
        left = informer.stop(seconds)
        self.manager.remove(informer, 0.0)
        self.release(informer)
        return left

    @overload
    def reconcile(
        self,
        source: ApiResource | Informer | None,
        reconciler: Reconciler | Reconcile,
        *,
        name: str | None = None,
        when: Predicate | None = None,
        resync_seconds: float = 0.0,
        options: ControllerOptions | None = None,
    ) -> ControllerBuilder: ...
    @overload
    def reconcile(
        self,
        source: type[T] | TypedInformer[T],
        reconciler: TypedReconciler[T] | TypedReconcile[T] | Reconciler | Reconcile,
        *,
        name: str | None = None,
        when: Predicate | None = None,
        resync_seconds: float = 0.0,
        options: ControllerOptions | None = None,
        on_unreadable: ReconcileUnreadable | None = None,
    ) -> ControllerBuilder: ...
    def reconcile(
        self,
        source: Any,
        reconciler: Any,
        *,
        name: str | None = None,
        when: Predicate | None = None,
        resync_seconds: float = 0.0,
        options: ControllerOptions | None = None,
        on_unreadable: ReconcileUnreadable | None = None,
    ) -> ControllerBuilder:
        """Add a controller: its reconciler is called for an object whenever it changes.

        source: the kind; None for a reconciler of your own keys: give it a name, and
        call `.watches(...)` on the result with a handler that makes requests.
        reconciler: an object with a `reconcile` method, or a plain function. It takes a
        `Request`; for a resource class, it takes the cached object.

        name: the controller's, unique here; default the plural and the group.
        when, resync_seconds: the predicate and the resync period of the kind, as in
        `Watch`.
        options: workers, deadline, back-off and more.
        on_unreadable: function called, for a class, instead of the reconciler with an
        object that does not fit the class; see `reconcile_of_class`. Add other watches
        on the result: `.owns(...)`, `.watches(...)`.
        Raises ManagerError if the name is taken, TypeError if it is not a reconciler,
        ValueError without both a kind and a name.
        """
        options = ControllerOptions() if options is None else options
        check_is("options", options, ControllerOptions)
        informer = None if source is None else self._source_informer(source)
        if isinstance(informer, TypedInformer):
            reconciler = reconcile_of_class(
                informer.cls, informer, reconciler, on_unreadable
            )
            informer = informer.untyped
        elif on_unreadable is not None:
            raise TypeError("on_unreadable needs a class: a kind's objects are dicts")
        resource = None if informer is None else informer.resource
        name = name or (resource.full_name if resource else "")
        if not name:
            raise ValueError("a controller of no kind needs a name")
        kind = str(resource.group_kind) if resource else ""
        controller = self.controller(name, reconciler, options, kind=kind)
        builder = ControllerBuilder(controller, informer, self._untyped_informer)
        if informer is not None:
            builder.watches(informer, when=when, resync_seconds=resync_seconds)
        group = RunnableGroup.LEADER if options.needs_leader else RunnableGroup.OTHERS
        self.manager.add(controller, group=group)
        self._controllers[controller] = None
        self.healthz.add(controller.name, controller.liveness)
        return builder

    def controller(
        self,
        name: str,
        reconciler: Reconciler | Reconcile,
        options: ControllerOptions | None = None,
        *,
        kind: str = "",
    ) -> Controller:
        """Return a controller that you start and stop, with the application's clock,
        metrics
        and threads: for kinds that come and go while the process runs. The arguments
        are those of `Controller`.
        """
        controller = Controller(
            name,
            reconciler,
            options,
            clock=self.clock,
            kind=kind,
            metrics=self.metrics,
            threads=self.threads,
            tracing=self._tracing,
            shares=self._parts.shares,
            record=self._flight_record,
        )
        self._process.debug.watch(controller)
        return controller

    def install_crds(
        self,
        *classes: type,
        conversion: JsonObject | None = None,
        allow_data_loss: bool = False,
        timeout_seconds: float = 30.0,
    ) -> list[JsonObject]:
        """Install the CRDs of these classes; return the CRDs once they are served.

        Call it before `run`: informers of missing kinds wait for their CRDs. It needs
        no lease, as all replicas install the same. The arguments are those of
        `resources.installation.install_crds`. Blocks until all are Established. Raises
        ResourceError for a CRD that cannot be made or that would drop stored data,
        CrdNotEstablishedError, and the exceptions of `client`.
        """
        from asoreconcile.resources.installation import install_crds

        client = self._client(self._config, fenced=False)
        try:
            return install_crds(
                client,
                *classes,
                conversion=conversion,
                allow_data_loss=allow_data_loss,
                field_manager=self._options.client.field_manager or self.name,
                clock=self.clock,
                timeout_seconds=timeout_seconds,
            )
        finally:
            client.close()

    def _untyped_informer(self, source: Any) -> Informer:
        informer = self._source_informer(source)
        return informer.untyped if isinstance(informer, TypedInformer) else informer
