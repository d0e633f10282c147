"""The clients, caches and event recorder of one API server.

An `Application` is the `Cluster` it runs in; `Application.cluster` adds others. Rules:
CA-1, CA-2, CL-3, CL-7.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from functools import cached_property
from typing import Any, TypeVar, overload

import attrs

from asoreconcile.base.fencing import Fence
from asoreconcile.base.objects import JsonObject, copy_json, document_of, gvk_of, key_of
from asoreconcile.base.signatures import check_takes
from asoreconcile.cache.informer import Informer
from asoreconcile.cache.informers import Informers
from asoreconcile.cache.scope import CacheOptions
from asoreconcile.cache.server_probe import ServerProbe, server_probe
from asoreconcile.cache.unreadable import ReportUnreadable, unreadable_events
from asoreconcile.kube.cluster import ClusterConfig
from asoreconcile.kube.config import load
from asoreconcile.kube.discovery import Discovery
from asoreconcile.kube.events import EventApi, EventRecorder
from asoreconcile.kube.impersonation import impersonating
from asoreconcile.kube.resources import ApiResource
from asoreconcile.kube.selection import check_selector
from asoreconcile.resources.client import TypedCachedClient, TypedClient
from asoreconcile.resources.informer import TypedInformer
from asoreconcile.resources.typed_kind import (
    HasMetadata,
    TypedKind,
    kind_of,
    resource_of,
)
from asoreconcile.runtime.health import ApiServerAnswers
from asoreconcile.runtime.options import ClientOptions
from asoreconcile.runtime.process_parts import ProcessParts

T = TypeVar("T", bound=HasMetadata)


@attrs.frozen(kw_only=True)
class ClusterOptions:
    """The access to a cluster. The fields are arguments of `Application`."""

    client: ClientOptions = attrs.field(factory=ClientOptions)
    cache: CacheOptions | None = None
    on_unreadable: ReportUnreadable | None = None
    event_api: EventApi = "v1"


def config_of(cluster: ClusterConfig | str | os.PathLike[str] | None) -> ClusterConfig:
    """Return a configuration, or the one at a kubeconfig's path; None looks where
    kubectl does, then for the pod's service account. Raises KubeConfigError if there is
    none.
    """
    if isinstance(cluster, ClusterConfig):
        return cluster
    if not isinstance(cluster, str | os.PathLike | None):
        raise TypeError(
            f"cluster is {cluster!r:.80}: give the path of a kubeconfig, or a "
            "ClusterConfig"
        )
    return load(None if cluster is None else os.fspath(cluster))


class Cluster:
    """Clients, informers and an event recorder for one API server. Safe from any
    thread.
    """

    def __init__(
        self,
        name: str,
        config: ClusterConfig,
        options: ClusterOptions,
        parts: ProcessParts,
        *,
        fence: Fence | None = None,
        show: Callable[[Informer], bool] | None = None,
    ) -> None:
        """name: the user agent, the source of events, and the field manager of `apply`.
        fence: `client` calls it before it sends each part of a write. show: function
        called with each requested informer.

        `Application` creates them; the constructor sends no request.
        """
        self.name = name
        clock, threads = parts.clock, parts.threads
        self.clock = clock
        self.metrics = parts.metrics
        self._config = config
        self._show = show
        self._options = options
        self._fence = fence
        self._user_agent = options.client.user_agent_of(name)
        self.client = self._client(config)
        """Reads from the server and writes to it."""
        # Through the fenced client: recording an event is a write too, and a process
        # that lost the lease must not do it.
        self.recorder = EventRecorder(
            self.client, name, clock=clock, api=options.event_api, threads=threads
        )
        self._informers = Informers(
            self.client,
            options.cache,
            clock=clock,
            report=options.on_unreadable or unreadable_events(self.recorder),
            threads=threads,
        )
        self.cached = TypedCachedClient(self.client, self._informers)
        """Reads from the requested informers and writes to the server; it never returns
        a state older than its own writes.
        """
        self._probe = server_probe(
            config,
            self.client,
            self._informers,
            user_agent=self._user_agent,
            clock=clock,
            threads=threads,
        )
        self.answers = ApiServerAnswers(self._probe, self._informers.held_up)
        """A readiness check that never fails and reports when the server last answered.
        """
        self._made_in = os.getpid()
        self._closing: list[Callable[[], object]] = [self.client.close]

    @cached_property
    def discovery(self) -> Discovery:
        """The kinds and resources of the server, cached."""
        return Discovery(self.client)

    @property
    def informers(self) -> Informers:
        """The informers, as a service for a manager to run."""
        return self._informers

    @property
    def probe(self) -> ServerProbe:
        """The probe of whether the server answers, as a service for a manager to
        run.
        """
        return self._probe

    @overload
    def informer(
        self,
        resource: ApiResource,
        *,
        metadata_only: bool = False,
        label_selector: str | None = None,
        field_selector: str | None = None,
    ) -> Informer: ...
    @overload
    def informer(
        self,
        resource: type[T],
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
        """Return the informer of a kind; equal requests share one.

        metadata_only: leave out spec, status and data. label_selector, field_selector:
        override the kind's selectors; the informer then has its own cache.
        For a resource class, it returns objects of the class. Raises TypeError if the
        argument is not a kind, and for metadata_only with a class; ResourceError if the
        class is not a resource.
        """
        check_selector("label_selector", label_selector)
        check_selector("field_selector", field_selector)
        if isinstance(resource, type):
            if metadata_only:
                raise TypeError(
                    f"objects of {resource.__name__} are whole: give "
                    f"resource_of({resource.__name__}) for metadata_only"
                )
            untyped = self.informer(
                resource_of(resource),
                label_selector=label_selector,
                field_selector=field_selector,
            )
            return TypedInformer(resource, untyped)
        if not isinstance(resource, ApiResource):
            raise TypeError(
                f"{resource!r:.80} is no kind: give an ApiResource, such as "
                "CONFIG_MAPS, a class of @resource, or an informer"
            )
        informer = self._informers.of(
            resource,
            metadata_only=metadata_only,
            label_selector=label_selector,
            field_selector=field_selector,
        )
        if self._show is not None:
            self._show(informer)
        return informer

    @overload
    def apply(
        self,
        owner: JsonObject | HasMetadata | None,
        child: JsonObject,
        *,
        resource: ApiResource | None = None,
        controller: bool = True,
        force: bool = True,
    ) -> JsonObject: ...
    @overload
    def apply(
        self,
        owner: JsonObject | HasMetadata | None,
        child: T,
        *,
        resource: ApiResource | None = None,
        controller: bool = True,
        force: bool = True,
    ) -> T: ...
    def apply(
        self,
        owner: Any,
        child: Any,
        *,
        resource: ApiResource | None = None,
        controller: bool = True,
        force: bool = True,
    ) -> Any:
        """Server-side apply `child`; return the server's response.

        Fields that `child` never set are not touched; fields it stopped setting since
        the last apply are removed. The object is created if it does not exist, and the
        server stores nothing if nothing differs.
        `owner`: the object to set as owner (`set_owner`), as read from the server; None
        sets none. child: with apiVersion and kind; it is not changed. Both may be
        instances of resource classes; the result has the child's class.
        resource: the kind's resource; None asks discovery, once per kind.
        controller: set the owner as the controller, which triggers `owns()`. force:
        take over fields that others manage, as a controller must; False raises
        ConflictError instead.

        Blocks for one response. Raises UnknownKindError, AlreadyOwnedError, ValueError
        for an owner in another namespace or a child without apiVersion or kind, and the
        exceptions of `client`.
        """
        typed: TypedKind[Any] | None = None
        if not isinstance(child, dict):
            typed = kind_of(type(child))
            child, resource = typed.encode(child), resource or typed.resource
        if owner is not None and not isinstance(owner, dict):
            owner = document_of(owner)
        if resource is None:
            gvk = gvk_of(child)
            if not (gvk.version and gvk.kind):
                raise ValueError(
                    f"the child {str(key_of(child)) or child} needs apiVersion and kind"
                )
            resource = self.discovery.resource(gvk)
        answer = self.cached.apply(
            resource,
            child,
            owner=owner,
            controller=controller,
            field_manager=self._options.client.field_manager or self.name,
            force=force,
        )
        return answer if typed is None else typed.decode(copy_json(answer))

    def client_as(
        self,
        user: str,
        *,
        groups: Sequence[str] = (),
        uid: str = "",
        extra: Mapping[str, Sequence[str]] | None = None,
    ) -> TypedClient:
        """Return a client that impersonates another user, over separate connections.

        The process needs the `impersonate` permission. Each call makes a new client,
        which is closed with the application: keep it, or close it yourself.
        """
        config = impersonating(
            self._config, user, groups=groups, uid=uid, extra=extra or {}
        )
        made = self._client(config)
        self.on_close(made.close)
        return made

    def close(self) -> None:
        """Close the clients, and call the functions given to `on_close`. An application
        calls it at its end. Idempotent; does nothing in a forked child process.
        """
        # A forked child shares connections and listeners with its parent: closing them
        # here would end them there.
        if self._made_in != os.getpid():
            return
        closing, self._closing = self._closing, []
        with ExitStack() as stack:
            # In reverse order, and all of them, even if one raises.
            for close in closing:
                stack.callback(close)

    def on_close(self, close: Callable[[], object]) -> None:
        """Register a function that `close` calls before it closes the clients."""
        check_takes(close, what="function to close with")
        self._closing.append(close)

    def not_on_close(self, close: Callable[[], object]) -> None:
        """Take a function back that was given to `on_close`. Does nothing if it was
        not, or was called.
        """
        with suppress(ValueError):
            self._closing.remove(close)

    def _client(self, config: ClusterConfig, *, fenced: bool = True) -> TypedClient:
        return self._options.client.client(
            config,
            user_agent=self._user_agent,
            clock=self.clock,
            metrics=self.metrics,
            before_write=self._fence if fenced else None,
        )
