"""A client for the Kubernetes API, by kind and name, with plain dicts.

Reads go to the server; `cache.client.CachedClient` reads from informers. Rules: CL-2,
CL-3, CL-4, CL-6, CL-9.
"""

import copy
from collections.abc import Iterator
from functools import partial
from typing import Literal, Self

import attrs

from asoreconcile.base.backoff import RateLimiter
from asoreconcile.base.clock import Clock, SystemClock
from asoreconcile.base.coroutines import run_to_completion
from asoreconcile.base.errors import check_is, check_seconds
from asoreconcile.base.fencing import Fence
from asoreconcile.base.json_problems import EncodeError
from asoreconcile.base.objects import JsonObject, ObjectKey, key_of, metadata
from asoreconcile.base.stop_signal import StopSignal
from asoreconcile.base.threads import Threads
from asoreconcile.kube.cluster import ClusterConfig
from asoreconcile.kube.errors import DecodeError, ExpiredError, NotFoundError
from asoreconcile.kube.listing import Pages, items_of, place_of
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
from asoreconcile.kube.streams import KubeStreams
from asoreconcile.kube.transport import READ_SECONDS, Transport
from asoreconcile.kube.watch import WatchStream
from asoreconcile.kube.writes import Write, Writes, delete_options
from asoreconcile.wire.loop import StreamLoop

FieldValidation = Literal["", "Ignore", "Warn", "Strict"]

# client-go's page size.
_PAGE = 500


@attrs.frozen
class Page:
    """One page of a list; continue_token is "" on the last."""

    items: list[JsonObject]
    resource_version: str
    continue_token: str = ""


@attrs.frozen
class _Defaults:
    """The default options of every write."""

    field_manager: str = ""
    dry_run: bool = False
    field_validation: FieldValidation = ""
    namespace: str = ""


class KubeClient(Writes):
    """Reads and writes of one API server. Safe from any thread; share it.

    Every method but `watch` blocks for one response. Raises ApiError (a subclass by
    status) for an error response, TransportError without a response, StoppedError once
    closed.

    Within a reconcile no call takes longer than the reconcile's deadline
    (`reconcile_context`): it raises TransportError, or DeadlineError if nothing was
    sent. When the controller stops, waits and hanging reads raise StoppedError; writes
    may take until the end of the stop.
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
        """limiter: limits the request rate, `TokenBucket(qps, burst)`; None leaves
        fairness to the server.
        read_seconds: the longest a call may take, with its retries and the whole
        response, but without the wait for the limiter; for a watch and a list in
        steps, until the response begins.
        max_retries: limit of retries of one call (CL-6).
        before_write: called right before a write request is sent
        on its connection, and again before each further part of it. If it raises, the
        call raises that error, and the server gets no complete request (`fencing`).
        """
        self._read_seconds = read_seconds
        self._exchange = RestClient(
            Transport(
                config,
                user_agent=user_agent,
                read_seconds=read_seconds,
                before_write=before_write,
                clock=clock,
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
        """Return the same client, over the same connections, with these defaults for
        writes.

        dry_run: its writes change nothing. field_validation: how the server treats
        unknown fields. namespace: refuse every other namespace (ValueError);
        cluster-scoped kinds stay allowed. Rule: CL-4.
        """
        defaults = _Defaults(field_manager, dry_run, field_validation, namespace)
        other = copy.copy(self)
        other._defaults = defaults  # noqa: SLF001 - one of us
        return other

    @property
    def host(self) -> str:
        """The host and port of the server, as metrics show it."""
        return self._exchange.host

    @property
    def is_dry_run(self) -> bool:
        """Return whether all writes of this client are dry runs."""
        return self._defaults.dry_run

    def send(self, write: Write) -> JsonObject:
        """Send a write; return the server's response.

        Raises EncodeError, with nothing sent, for a body that is not JSON (CL-10).
        """
        defaults = self._defaults
        body, dry_run = write.body, write.dry_run or defaults.dry_run
        query = {}
        if write.method == "DELETE":
            # A deletion says it in its body: the server ignores the query if there is a
            # body.
            body = {**body, "dryRun": ["All"]} if dry_run else body
        else:
            query = {
                "fieldManager": write.field_manager or defaults.field_manager,
                "force": "true" if write.force else "",
                "dryRun": "All" if dry_run else "",
                "fieldValidation": defaults.field_validation,
            }
        path = self._path(
            write.resource,
            write.key,
            write.subresource,
            names_one=write.method != "POST",
        )
        try:
            answer = self._exchange.document(
                write.method,
                path,
                query=query,
                body=body,
                content_type=write.content_type,
            )
        except EncodeError as error:
            # A patch does not say which object it is for.
            if isinstance(body, dict) and body.get("kind"):
                raise
            raise error.within(f"{write.resource.kind} {write.key}") from None
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
        """Delete the selected objects, in one namespace if the kind is namespaced.
        Returns the deleted objects in their last state, or in their present state if
        something holds them.

        Raises ValueError without a namespace: the server deletes in one at a time.
        """
        selection = selection_of(what)
        path = self._path_all(selection)
        # The server would respond with 405, without a reason.
        if path == selection.resource.path() and selection.resource.namespaced:
            raise ValueError(f"say of which namespace to delete all {path}")
        options = delete_options(propagation)
        if dry_run or self._defaults.dry_run:
            options["dryRun"] = ["All"]
        answer = self._exchange.document(
            "DELETE", path, query=selection.selectors, body=options
        )
        # The deletion is done, even if the response cannot be read.
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
        """Return an object, or a subresource of it, read from the server."""
        answer = self._exchange.document(
            "GET",
            self._path(resource, key, subresource),
            accept=Selection(resource, metadata_only=metadata_only).accepts(),
        )
        _check_named(answer, key)
        return answer

    def read(self, path: str, *, accept: str = JSON) -> JsonObject:
        """Read any document of the API, such as discovery or the version."""
        return self._exchange.document("GET", path, accept=accept)

    def list_page(
        self, what: ApiResource | Selection, place: ListOptions = NEWEST
    ) -> Page:
        """Return one page of a list; pass its continue token to get the next one.

        what: a kind, or a selection of it; also in the methods below.
        """
        selection = selection_of(what)
        document = self._exchange.document(
            "GET",
            self._path_all(selection),
            query={**selection.selectors, **place.query},
            accept=selection.accepts(listed=True),
        )
        return Page(items_of(document), *place_of(document))

    def list_all(
        self, what: ApiResource | Selection, *, page_size: int = _PAGE
    ) -> Iterator[JsonObject]:
        """Iterate over a list, reading page by page. apiVersion and kind are set.

        All pages have one resource version, unless the server forgets it between two of
        them, as after some minutes: the rest of the list is then as it is now. An
        object that exists all the time is in the result once.
        """
        resource, pages = selection_of(what).resource, Pages()
        kind = {"apiVersion": resource.api_version, "kind": resource.kind}
        seen = set[ObjectKey]()
        place = ListOptions(limit=page_size)
        while True:
            try:
                page = self.list_page(what, place)
            except ExpiredError as error:
                if not place.continue_token:
                    raise
                if token := error.continue_token:
                    pages.check_next(token)
                    place = ListOptions(limit=page_size, continue_token=token)
                else:
                    place = NEWEST  # begin again, without pages
                continue
            for obj in page.items:
                key = key_of(obj)
                if key not in seen:
                    seen.add(key)
                    yield {**obj, **kind}  # list items come without them
            if not page.continue_token:
                return
            pages.check_next(page.continue_token)
            place = ListOptions(limit=page_size, continue_token=page.continue_token)

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

        timeout_seconds: time after which the server ends the watch; 10 s more without
        data count as a broken connection. initial_events: whether the watch starts with
        the state, not older than resource_version, and a bookmark annotated
        `k8s.io/initial-events-end`.
        """
        check_seconds("timeout_seconds", timeout_seconds)
        news = StopSignal()
        wait = partial(self._exchange.await_news, news)
        opening = self._streams(self._exchange.own_loop).watch(
            selection_of(what),
            resource_version=resource_version,
            timeout_seconds=timeout_seconds,
            initial_events=initial_events,
            wake=news.set,
            allow_bookmarks=allow_bookmarks,
        )
        return WatchStream(run_to_completion(opening, wait).stream, wait)

    def in_steps(self, threads: Threads) -> KubeStreams:
        """Return lists and watches in steps, which one thread receives, however many
        there are.

        The thread starts with the first of them.
        """
        return self._streams(self._exchange.loop(threads))

    def _streams(self, loop: StreamLoop) -> KubeStreams:
        return KubeStreams(
            self._exchange, self._path_all, loop, read_seconds=self._read_seconds
        )

    def renew_connections(self) -> None:
        """Send no further requests over the connections open now, as they may be dead
        without looking so. Requests in progress go on.
        """
        self._exchange.renew_connections()

    def close(self) -> None:
        """End requests and watches, and refuse new ones. Idempotent."""
        self._exchange.close()

    def _path(
        self,
        resource: ApiResource,
        key: ObjectKey,
        subresource: str = "",
        *,
        names_one: bool = True,
    ) -> str:
        given: object = key
        if not isinstance(given, ObjectKey):
            check_is("key", given, ObjectKey)
        # Without a name the path is the collection's: DELETE would delete all of it.
        if names_one and not key.name:
            place = f" in {key.namespace}" if key.namespace else ""
            raise ValueError(
                f"a {resource.kind}{place} needs a name: set metadata.name, or give "
                "ObjectKey(namespace, name)"
            )
        bound = self._defaults.namespace
        if bound and resource.namespaced and key.namespace != bound:
            raise ValueError(f"{key} is not in the client's namespace {bound}")
        if not _are_segments(key):
            # Names come from users' objects. A proxy could read this one as the path of
            # another object.
            message = f"no {resource.kind} can have the name {str(key)!r:.300}"
            raise NotFoundError(message, status=404, reason="NotFound")
        return resource.path(key.namespace, key.name, subresource)

    def _path_all(self, selection: Selection) -> str:
        namespace = selection.namespace or self._defaults.namespace
        key = ObjectKey(namespace, "")
        return self._path(selection.resource, key, names_one=False)


def _check_named(answer: JsonObject, key: ObjectKey) -> None:
    """Check that a response is the requested object.

    Raises DecodeError for another response, such as a Status or a proxy's `{}`, which
    would look like an object without finalizers.
    """
    if metadata(answer).get("name") != key.name:
        raise DecodeError(f"the answer is not the object {key}")


def _are_segments(key: ObjectKey) -> bool:
    """Return whether both are valid path segments, or empty."""
    for name in (key.namespace, key.name):
        if "/" in name or "%" in name or name in (".", ".."):
            return False
    return True
