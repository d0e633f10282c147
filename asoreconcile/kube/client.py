"""The Kubernetes API by kind and name: plain dicts in, plain dicts out.

Reads go to the server; `cache.client.CachedClient` answers them from informers. Rules:
CL-2, CL-3, CL-4, CL-6, CL-9.
"""

import copy
from collections.abc import Iterator
from typing import Literal, Self

import attrs

from asoreconcile.backoff import RateLimiter
from asoreconcile.clock import Clock, SystemClock
from asoreconcile.fencing import Fence
from asoreconcile.kube.cluster import ClusterConfig
from asoreconcile.kube.errors import DecodeError, NotFoundError
from asoreconcile.kube.listing import Listing, Pages, items_of, place_of
from asoreconcile.kube.resources import ApiResource
from asoreconcile.kube.rest_client import RequestMetrics, RestClient
from asoreconcile.kube.retrying import MAX_RETRIES
from asoreconcile.kube.selection import (
    JSON,
    NEWEST,
    ListOptions,
    Selection,
    selection_of,
)
from asoreconcile.kube.streams import WATCH_GRACE_SECONDS, KubeStreams, watch_query
from asoreconcile.kube.transport import READ_SECONDS, Transport
from asoreconcile.kube.watch import WatchStream
from asoreconcile.kube.writes import Write, Writes, delete_options
from asoreconcile.objects import JsonObject, ObjectKey, metadata
from asoreconcile.threads import Threads

FieldValidation = Literal["", "Ignore", "Warn", "Strict"]

# client-go's size of a page.
_PAGE = 500


@attrs.frozen
class Page:
    """One page of a list; continue_token is "" on the last."""

    items: list[JsonObject]
    resource_version: str
    continue_token: str = ""


@attrs.frozen
class _Defaults:
    """What every write says unless it says otherwise."""

    field_manager: str = ""
    dry_run: bool = False
    field_validation: FieldValidation = ""
    namespace: str = ""


class KubeClient(Writes):
    """Reads and writes of one API server. Safe from any thread; share it.

    Every method but `watch` blocks for one answer. Raises ApiError (typed by status)
    for a refusal, TransportError when there is no answer, StoppedError once closed.

    Within a reconcile no call takes longer than that has left (`reconcile_context`):
    TransportError, or DeadlineError when nothing was sent. When its controller stops,
    waits and reads that hang end with StoppedError; writes have until the stop's end.
    """

    def __init__(
        self,
        config: ClusterConfig,
        *,
        user_agent: str,
        clock: Clock | None = None,
        metrics: RequestMetrics | None = None,
        limiter: RateLimiter | None = None,
        read_seconds: float = READ_SECONDS,
        max_retries: int = MAX_RETRIES,
        before_write: Fence | None = None,
    ) -> None:
        """limiter: how fast requests may go, `TokenBucket(qps, burst)`; None leaves
        fairness to the server.
        read_seconds: the longest that a call may take, its retries and the whole answer
        included, but not its turn by the limiter; of a watch and a `listing`, until
        the answer begins.
        max_retries: of one call (CL-6).
        before_write: called when a request that changes something is about to go out
        on its connection, whole, and again before each further piece of it; what it
        raises is raised instead, and the server has nothing to act on (`fencing`).
        """
        self._read_seconds = read_seconds
        self._exchange = RestClient(
            Transport(
                config,
                user_agent=user_agent,
                read_seconds=read_seconds,
                before_write=before_write,
            ),
            clock=clock or SystemClock(),
            limiter=limiter,
            metrics=metrics,
            max_retries=max_retries,
            read_seconds=read_seconds,
        )
        self._defaults = _Defaults()

    def with_defaults(
        self,
        *,
        field_manager: str = "",
        dry_run: bool = False,
        field_validation: FieldValidation = "",
        namespace: str = "",
    ) -> Self:
        """The same client, over the same connections, whose writes say this.

        dry_run: no write of it changes anything. field_validation: what the server does
        about fields it does not know. namespace: refuse every other (ValueError);
        cluster-scoped kinds stay in reach. Rule: CL-4.
        """
        defaults = _Defaults(field_manager, dry_run, field_validation, namespace)
        other = copy.copy(self)
        other._defaults = defaults  # noqa: SLF001 - one of us
        return other

    @property
    def is_dry_run(self) -> bool:
        """Whether no write of this client changes anything."""
        return self._defaults.dry_run

    def send(self, write: Write) -> JsonObject:
        """Make a change; the server's answer."""
        defaults = self._defaults
        body, dry_run = write.body, write.dry_run or defaults.dry_run
        query = {}
        if write.method == "DELETE":
            # Of a deletion the body says it: its query is ignored where there is a
            # body.
            body = {**body, "dryRun": ["All"]} if dry_run else body
        else:
            query = {
                "fieldManager": write.field_manager or defaults.field_manager,
                "force": "true" if write.force else "",
                "dryRun": "All" if dry_run else "",
                "fieldValidation": defaults.field_validation,
            }
        answer = self._exchange.document(
            write.method,
            self._path(write.resource, write.key, write.subresource),
            query=query,
            body=body,
            content_type=write.content_type,
        )
        if write.method in ("PATCH", "PUT"):
            _check_named(answer, write.key)
        return answer

    def delete_all(
        self,
        what: ApiResource | Selection,
        *,
        propagation: str = "",
        dry_run: bool = False,
    ) -> list[JsonObject]:
        """Delete what is selected, in one namespace if the kind has any; what the
        server chose, as it was before, or as it is where something holds it.

        Raises ValueError without a namespace: the server deletes in one at a time.
        """
        selection = selection_of(what)
        path = self._path_all(selection)
        # The server would answer 405, which does not say why.
        if path == selection.resource.path() and selection.resource.namespaced:
            raise ValueError(f"say of which namespace to delete all {path}")
        options = delete_options(propagation)
        if dry_run or self._defaults.dry_run:
            options["dryRun"] = ["All"]
        answer = self._exchange.document(
            "DELETE", path, query=selection.selectors, body=options
        )
        # It is done, whatever the answer looks like.
        items = answer.get("items")
        found = items if isinstance(items, list) else []
        return [obj for obj in found if isinstance(obj, dict)]

    def get(
        self,
        resource: ApiResource,
        key: ObjectKey,
        *,
        subresource: str = "",
        metadata_only: bool = False,
    ) -> JsonObject:
        """One object, or a subresource of it, read from the server."""
        # The path without a name is the list's, and a list is no object.
        if not key.name:
            raise ValueError("an object has a name; `list_page` reads all")
        answer = self._exchange.document(
            "GET",
            self._path(resource, key, subresource),
            accept=Selection(resource, metadata_only=metadata_only).accepts(),
        )
        _check_named(answer, key)
        return answer

    def read(self, path: str, *, accept: str = JSON) -> JsonObject:
        """Any document of the API: discovery, version."""
        return self._exchange.document("GET", path, accept=accept)

    def list_page(
        self, what: ApiResource | Selection, place: ListOptions = NEWEST
    ) -> Page:
        """One page of a list; the next one is asked for by its continue token.

        what: a kind, or a selection of it; so in all that follow.
        """
        selection = selection_of(what)
        document = self._exchange.document(
            "GET",
            self._path_all(selection),
            query={**selection.selectors, **place.query},
            accept=selection.accepts(listed=True),
        )
        return Page(items_of(document), *place_of(document))

    def listing(
        self, what: ApiResource | Selection, place: ListOptions = NEWEST
    ) -> Listing:
        """As `list_page`, but to be read object by object as they arrive.

        For lists that may be long: servers ignore the limit where they answer from
        memory. Blocks until the answer begins; not tried again where it breaks.
        """
        selection = selection_of(what)
        stream = self._exchange.stream(
            self._path_all(selection),
            query={**selection.selectors, **place.query},
            accept=selection.accepts(listed=True),
            read_seconds=self._read_seconds,
        )
        return Listing(stream)

    def list_all(
        self, what: ApiResource | Selection, *, page_size: int = _PAGE
    ) -> Iterator[JsonObject]:
        """The objects of a list, read page by page as the iteration goes on.

        All pages are of one moment. Raises ExpiredError when the server has forgotten
        that moment, some minutes after the first page. apiVersion and kind are set.
        """
        resource, token, pages = selection_of(what).resource, "", Pages()
        kind = {"apiVersion": resource.api_version, "kind": resource.kind}
        while True:
            page = self.list_page(
                what, ListOptions(limit=page_size, continue_token=token)
            )
            for obj in page.items:
                yield {**obj, **kind}  # lists leave it to the reader
            token = page.continue_token
            if not token:
                return
            pages.check_next(token)

    def watch(
        self,
        what: ApiResource | Selection,
        *,
        resource_version: str = "",
        timeout_seconds: float,
        allow_bookmarks: bool = True,
        initial_events: bool = False,
    ) -> WatchStream:
        """Open a watch; blocks until the server accepts or refuses it.

        timeout_seconds: when the server is to end it; silence for 10 s longer is a
        broken connection. initial_events: begin with the state, no older than
        resource_version, then a bookmark annotated `k8s.io/initial-events-end`.
        """
        selection = selection_of(what)
        stream = self._exchange.stream(
            self._path_all(selection),
            query=watch_query(
                selection,
                resource_version=resource_version,
                timeout_seconds=timeout_seconds,
                allow_bookmarks=allow_bookmarks,
                initial_events=initial_events,
            ),
            accept=selection.accepts(),
            read_seconds=timeout_seconds + WATCH_GRACE_SECONDS,
        )
        return WatchStream(stream)

    def in_steps(self, threads: Threads) -> KubeStreams:
        """Lists and watches that one thread receives, however many they are; it begins
        with the first of them.
        """
        return KubeStreams(
            self._exchange,
            self._path_all,
            self._exchange.loop(threads),
            read_seconds=self._read_seconds,
        )

    def renew_connections(self) -> None:
        """Send no further request over a connection that is open now: it may be dead,
        and look alive. What is under way goes on.
        """
        self._exchange.renew_connections()

    def close(self) -> None:
        """End requests and watches, and refuse further ones. Idempotent."""
        self._exchange.close()

    def _path(
        self, resource: ApiResource, key: ObjectKey, subresource: str = ""
    ) -> str:
        bound = self._defaults.namespace
        if bound and resource.namespaced and key.namespace != bound:
            raise ValueError(f"{key} is not in the client's namespace {bound}")
        if not _are_segments(key):
            # Names are read from what people write. Something between us and the server
            # might take this one for the path of another object.
            message = f"no {resource.kind} can have the name {str(key)!r:.300}"
            raise NotFoundError(message, status=404, reason="NotFound")
        return resource.path(key.namespace, key.name, subresource)

    def _path_all(self, selection: Selection) -> str:
        namespace = selection.namespace or self._defaults.namespace
        return self._path(selection.resource, ObjectKey(namespace, ""))


def _check_named(answer: JsonObject, key: ObjectKey) -> None:
    """Raises DecodeError for another than the object that was asked for, as a Status
    or a proxy's `{}`: its finalizers, say, would be none.
    """
    if metadata(answer).get("name") != key.name:
        raise DecodeError(f"the answer is not the object {key}")


def _are_segments(key: ObjectKey) -> bool:
    """Whether the server would take both for names, or for none."""
    for name in (key.namespace, key.name):
        if "/" in name or "%" in name or name in (".", ".."):
            return False
    return True
