"""One API server as a process of controllers uses it: clients, caches, events.

An `Application` is one, of the cluster that it lives in; `Application.cluster` makes
more. Rules: CA-1, CA-2, CL-3, CL-7.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from functools import cached_property
from typing import Any, TypeVar, overload

import attrs

from asoreconcile.cache.informer import Informer
from asoreconcile.cache.informers import Informers
from asoreconcile.cache.scope import CacheOptions
from asoreconcile.cache.server_probe import ServerProbe, server_probe
from asoreconcile.cache.unreadable import ReportUnreadable, unreadable_events
from asoreconcile.fencing import Fence
from asoreconcile.kube.cluster import ClusterConfig
from asoreconcile.kube.config import load
from asoreconcile.kube.discovery import Discovery
from asoreconcile.kube.events import EventApi, EventRecorder
from asoreconcile.kube.impersonation import impersonating
from asoreconcile.kube.resources import ApiResource
from asoreconcile.objects import JsonObject, copy_json, gvk_of
from asoreconcile.resources.client import TypedCachedClient, TypedClient
from asoreconcile.resources.informer import TypedInformer
from asoreconcile.resources.typed_kind import (
    HasMetadata,
    TypedKind,
    kind_of,
    resource_of,
    to_dict,
)
from asoreconcile.runtime.health import ApiServerAnswers
from asoreconcile.runtime.options import ClientOptions
from asoreconcile.runtime.process_parts import ProcessParts

T = TypeVar("T", bound=HasMetadata)


@attrs.frozen(kw_only=True)
class ClusterOptions:
    """How a cluster is asked, watched and told. The fields are as of `Application`."""

    client: ClientOptions = attrs.field(factory=ClientOptions)
    cache: CacheOptions | None = None
    on_unreadable: ReportUnreadable | None = None
    event_api: EventApi = "v1"


def config_of(cluster: ClusterConfig | str | None) -> ClusterConfig:
    """A configuration, or that of a kubeconfig's path; None looks where kubectl does,
    and into the pod. Raises KubeConfigError if there is none.
    """
    return cluster if isinstance(cluster, ClusterConfig) else load(cluster)


class Cluster:
    """Clients, informers and a recorder of one API server. Safe from any thread."""

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
        """name: of who asks: the user agent, the source of events, and the manager of
        the fields that `apply` writes. fence: what `client` asks before each piece of a
        write. show: called with each informer that is asked for.

        `Application` makes them; making one sends nothing.
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
        """Asks the server, and writes."""
        # By the client that is fenced: an event of a process that lost the lease is a
        # write.
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
        """Reads from the informers that were asked for, writes to the server, and never
        reads anything older than it wrote."""
        self._probe = server_probe(
            config,
            self.client,
            self._informers,
            user_agent=self._user_agent,
            clock=clock,
            threads=threads,
        )
        self.answers = ApiServerAnswers(self._probe, self._informers.held_up)
        """A readiness check that reports and never fails: when the server last
        answered."""
        self._made_in = os.getpid()
        self._closing: list[Callable[[], None]] = [self.client.close]

    @cached_property
    def discovery(self) -> Discovery:
        """Where the server keeps its kinds; what it said is kept."""
        return Discovery(self.client)

    @property
    def informers(self) -> Informers:
        """What watches, for a manager to run."""
        return self._informers

    @property
    def probe(self) -> ServerProbe:
        """Whether the server is still there, for a manager to run."""
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
        """The cached, watched objects of a kind; one for all who ask for the same.

        metadata_only: leave out spec, status and data. label_selector, field_selector:
        other ones than the cluster's for the kind, in a cache of their own.
        Of a class, it answers objects of the class.
        """
        if isinstance(resource, type):
            untyped = self.informer(
                resource_of(resource),
                label_selector=label_selector,
                field_selector=field_selector,
            )
            return TypedInformer(resource, untyped)
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
        """Have an object be as `child` says, by server-side apply; the server's answer.

        What `child` leaves out is not touched; what it left out since the last apply is
        taken away. It is made where it is not there, and the server stores nothing
        where nothing differs. `owner`: whose it becomes (`set_owner`), the object as
        the server answered it; None for none. child: with apiVersion and kind; it is
        not changed. Both may be of classes; the answer is of the child's.
        resource: where the kind is; None asks discovery, once a kind.
        controller: as the owner's own, which wakes `owns()`. force: take over fields
        that others manage, as a controller must; False raises ConflictError there.

        Blocks for one answer. Raises UnknownKindError, AlreadyOwnedError, ValueError
        for an owner of another namespace, and what `client` raises.
        """
        typed: TypedKind[Any] | None = None
        if not isinstance(child, dict):
            typed = kind_of(type(child))
            child, resource = typed.encode(child), resource or typed.resource
        if owner is not None and not isinstance(owner, dict):
            owner = to_dict(owner)
        answer = self.cached.apply(
            resource or self.discovery.resource(gvk_of(child)),
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
        """A client that acts as another user, over connections of its own.

        The process needs the right to `impersonate` it. Made anew at each call, and
        closed with the application: keep it, or close it yourself.
        """
        config = impersonating(
            self._config, user, groups=groups, uid=uid, extra=extra or {}
        )
        made = self._client(config)
        self.on_close(made.close)
        return made

    def close(self) -> None:
        """Close the clients, and call what `on_close` was given. An application does so
        at its end. Idempotent; does nothing in a process that was forked since.
        """
        # Connections and listeners are shared with the process that was forked: to say
        # goodbye here would end them there.
        if self._made_in != os.getpid():
            return
        closing, self._closing = self._closing, []
        with ExitStack() as stack:
            # The last first, and all of them, whatever one of them raises.
            for close in closing:
                stack.callback(close)

    def on_close(self, close: Callable[[], None]) -> None:
        """Have `close` call a function, before it closes the clients."""
        self._closing.append(close)

    def _client(self, config: ClusterConfig, *, fenced: bool = True) -> TypedClient:
        return self._options.client.client(
            config,
            user_agent=self._user_agent,
            clock=self.clock,
            metrics=self.metrics,
            before_write=self._fence if fenced else None,
        )
