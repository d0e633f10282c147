"""The Kubernetes API by kind and name: plain dicts in, plain dicts out.

Reads go to the server; `cache.client.CachedClient` answers them from informers. Rules:
CL-2, CL-3, CL-4, CL-6, CL-9.
"""

import copy
from collections.abc import Callable, Iterator, Mapping
from typing import Literal, Self

import attrs

from asoreconcile.backoff import RateLimiter
from asoreconcile.clock import Clock, SystemClock
from asoreconcile.kube.cluster import ClusterConfig
from asoreconcile.kube.exchange import JSON, Exchange, RequestMetrics
from asoreconcile.kube.listing import Listing
from asoreconcile.kube.resources import ApiResource
from asoreconcile.kube.retrying import MAX_RETRIES
from asoreconcile.kube.transport import READ_SECONDS, Transport
from asoreconcile.kube.watch import WatchStream
from asoreconcile.objects import JsonObject, ObjectKey

PatchKind = Literal["merge", "json", "apply", "strategic"]
FieldValidation = Literal["", "Ignore", "Warn", "Strict"]

_PATCH_TYPES: Mapping[PatchKind, str] = {
    "merge": "application/merge-patch+json",
    "json": "application/json-patch+json",
    "apply": "application/apply-patch+yaml",
    "strategic": "application/strategic-merge-patch+json",
}
_METADATA = "application/json;as={};g=meta.k8s.io;v=v1"
_PAGE = 500
# A server may keep a watch open a little past its time before it says goodbye.
_WATCH_GRACE_SECONDS = 10.0


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


class KubeClient:
    """Reads and writes of one API server. Safe from any thread; share it.

    Every method but `watch` blocks for one answer. Raises ApiError (typed by status)
    for a refusal, TransportError when there is no answer, StoppedError once closed.
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
        before_write: Callable[[], None] = lambda: None,
    ) -> None:
        """limiter: how fast requests may go, `TokenBucket(qps, burst)`; None leaves
        fairness to the server.
        read_seconds: the longest silence of a request that is no watch.
        max_retries: of one call (CL-6).
        before_write: called when a request that changes something is about to go out
        on its connection; what it raises is raised instead, with nothing sent.
        """
        self._read_seconds = read_seconds
        self._exchange = Exchange(
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

    def get(
        self,
        resource: ApiResource,
        key: ObjectKey,
        *,
        subresource: str = "",
        metadata_only: bool = False,
    ) -> JsonObject:
        """One object, or a subresource of it, read from the server."""
        accept = _METADATA.format("PartialObjectMetadata") if metadata_only else JSON
        return self._exchange.document(
            "GET", self._path(resource, key, subresource), accept=accept
        )

    def read(self, path: str, *, accept: str = JSON) -> JsonObject:
        """Any document of the API: discovery, version."""
        return self._exchange.document("GET", path, accept=accept)

    def create(
        self,
        resource: ApiResource,
        obj: JsonObject,
        *,
        subresource: str = "",
        field_manager: str = "",
        dry_run: bool = False,
    ) -> JsonObject:
        """Create an object in the namespace it names, or a subresource of that object
        (an eviction, a token request).
        """
        meta = obj["metadata"]
        name = meta["name"] if subresource else ""
        key = ObjectKey(meta.get("namespace") or "", name)
        return self._exchange.document(
            "POST",
            self._path(resource, key, subresource),
            query=self._query(field_manager, dry_run=dry_run),
            body=obj,
        )

    def replace(
        self,
        resource: ApiResource,
        obj: JsonObject,
        *,
        subresource: str = "",
        field_manager: str = "",
        dry_run: bool = False,
    ) -> JsonObject:
        """Replace an object, on the resource version it holds."""
        meta = obj["metadata"]
        key = ObjectKey(meta.get("namespace") or "", meta["name"])
        return self._exchange.document(
            "PUT",
            self._path(resource, key, subresource),
            query=self._query(field_manager, dry_run=dry_run),
            body=obj,
        )

    def patch(
        self,
        resource: ApiResource,
        key: ObjectKey,
        body: JsonObject | list[JsonObject],
        *,
        kind: PatchKind = "merge",
        subresource: str = "",
        field_manager: str = "",
        force: bool = False,
        dry_run: bool = False,
    ) -> JsonObject:
        """Patch an object; `apply` creates it if it is not there.

        field_manager: required by `apply`. force: take fields over from other managers.
        `strategic` is for the server's own kinds only.
        """
        query = self._query(field_manager, dry_run=dry_run)
        if force:
            query["force"] = "true"
        return self._exchange.document(
            "PATCH",
            self._path(resource, key, subresource),
            query=query,
            body=body,
            content_type=_PATCH_TYPES[kind],
        )

    def delete(
        self,
        resource: ApiResource,
        key: ObjectKey,
        *,
        uid: str = "",
        resource_version: str = "",
        propagation: str = "",
        grace_seconds: int | None = None,
        dry_run: bool = False,
    ) -> JsonObject:
        """Delete an object, if it still has that uid and resource version.

        propagation: Background, Foreground or Orphan. grace_seconds: before a pod is
        killed. Answers a Status, or the object while something holds it.
        """
        preconditions = {"uid": uid, "resourceVersion": resource_version}
        options = self._delete_options(propagation, dry_run=dry_run)
        if stated := {name: value for name, value in preconditions.items() if value}:
            options["preconditions"] = stated
        if grace_seconds is not None:
            options["gracePeriodSeconds"] = grace_seconds
        return self._exchange.document(
            "DELETE", self._path(resource, key), body=options
        )

    def delete_all(
        self,
        resource: ApiResource,
        *,
        namespace: str,
        label_selector: str = "",
        field_selector: str = "",
        propagation: str = "",
        dry_run: bool = False,
    ) -> None:
        """Delete what is selected in a namespace ("" for cluster-scoped kinds)."""
        self._exchange.document(
            "DELETE",
            self._path(resource, ObjectKey(namespace, "")),
            query={"labelSelector": label_selector, "fieldSelector": field_selector},
            body=self._delete_options(propagation, dry_run=dry_run),
        )

    def list_page(
        self,
        resource: ApiResource,
        *,
        namespace: str | None = None,
        label_selector: str = "",
        field_selector: str = "",
        resource_version: str | None = None,
        limit: int | None = None,
        continue_token: str = "",
        metadata_only: bool = False,
    ) -> Page:
        """One page of a list; the next one is asked for by its continue token.

        resource_version: None is the most recent, "0" whatever the server has at hand,
        any other a state no older than that.
        """
        document = self._exchange.document(
            "GET",
            self._path_all(resource, namespace),
            query=_list_query(
                label_selector=label_selector,
                field_selector=field_selector,
                resource_version=resource_version,
                limit=limit,
                continue_token=continue_token,
            ),
            accept=_metadata_list(metadata_only=metadata_only),
        )
        meta = document.get("metadata") or {}
        return Page(
            document.get("items") or [],
            str(meta.get("resourceVersion") or ""),
            str(meta.get("continue") or ""),
        )

    def listing(
        self,
        resource: ApiResource,
        *,
        namespace: str | None = None,
        label_selector: str = "",
        field_selector: str = "",
        resource_version: str | None = None,
        limit: int | None = None,
        continue_token: str = "",
        metadata_only: bool = False,
    ) -> Listing:
        """As `list_page`, but to be read object by object as they arrive.

        For lists that may be long: servers ignore the limit where they answer from
        memory. Blocks until the answer begins; not tried again where it breaks.
        """
        stream = self._exchange.stream(
            self._path_all(resource, namespace),
            query=_list_query(
                label_selector=label_selector,
                field_selector=field_selector,
                resource_version=resource_version,
                limit=limit,
                continue_token=continue_token,
            ),
            accept=_metadata_list(metadata_only=metadata_only),
            read_seconds=self._read_seconds,
        )
        return Listing(stream)

    def list_all(
        self,
        resource: ApiResource,
        *,
        namespace: str | None = None,
        label_selector: str = "",
        field_selector: str = "",
        page_size: int = _PAGE,
        metadata_only: bool = False,
    ) -> Iterator[JsonObject]:
        """The objects of a list, read page by page as the iteration goes on.

        All pages are of one moment. Raises ExpiredError when the server has forgotten
        that moment, some minutes after the first page. apiVersion and kind are set.
        """
        token = ""
        while True:
            page = self.list_page(
                resource,
                namespace=namespace,
                label_selector=label_selector,
                field_selector=field_selector,
                limit=page_size,
                continue_token=token,
                metadata_only=metadata_only,
            )
            for obj in page.items:
                # Lists leave it to the reader.
                yield {
                    **obj,
                    "apiVersion": resource.api_version,
                    "kind": resource.kind,
                }
            token = page.continue_token
            if not token:
                return

    def watch(
        self,
        resource: ApiResource,
        *,
        namespace: str | None = None,
        label_selector: str = "",
        field_selector: str = "",
        resource_version: str = "",
        timeout_seconds: float,
        allow_bookmarks: bool = True,
        initial_events: bool = False,
        metadata_only: bool = False,
    ) -> WatchStream:
        """Open a watch; blocks until the server accepts or refuses it.

        timeout_seconds: when the server is to end it; silence for 10 s longer is a
        broken connection. initial_events: begin with the state, no older than
        resource_version, then a bookmark annotated `k8s.io/initial-events-end`.
        """
        query = {
            "watch": "true",
            "labelSelector": label_selector,
            "fieldSelector": field_selector,
            "resourceVersion": resource_version,
            "timeoutSeconds": str(int(timeout_seconds)),
            "allowWatchBookmarks": "true" if allow_bookmarks else "",
            "sendInitialEvents": "true" if initial_events else "",
            "resourceVersionMatch": "NotOlderThan" if initial_events else "",
        }
        stream = self._exchange.stream(
            self._path_all(resource, namespace),
            query=query,
            accept=_METADATA.format("PartialObjectMetadata") if metadata_only else JSON,
            read_seconds=timeout_seconds + _WATCH_GRACE_SECONDS,
        )
        return WatchStream(stream)

    def close(self) -> None:
        """End requests and watches, and refuse further ones. Idempotent."""
        self._exchange.close()

    def _path(
        self, resource: ApiResource, key: ObjectKey, subresource: str = ""
    ) -> str:
        bound = self._defaults.namespace
        if bound and resource.namespaced and key.namespace != bound:
            raise ValueError(f"{key} is not in the client's namespace {bound}")
        return resource.path(key.namespace, key.name, subresource)

    def _path_all(self, resource: ApiResource, namespace: str | None) -> str:
        return self._path(
            resource, ObjectKey(namespace or self._defaults.namespace, "")
        )

    def _query(self, field_manager: str, *, dry_run: bool) -> dict[str, str]:
        return {
            "fieldManager": field_manager or self._defaults.field_manager,
            "dryRun": "All" if dry_run or self._defaults.dry_run else "",
            "fieldValidation": self._defaults.field_validation,
        }

    def _delete_options(self, propagation: str, *, dry_run: bool) -> JsonObject:
        options: JsonObject = {"apiVersion": "v1", "kind": "DeleteOptions"}
        if propagation:
            options["propagationPolicy"] = propagation
        if dry_run or self._defaults.dry_run:
            options["dryRun"] = ["All"]
        return options


def _list_query(
    *,
    label_selector: str,
    field_selector: str,
    resource_version: str | None,
    limit: int | None,
    continue_token: str,
) -> dict[str, str]:
    at_least = resource_version not in (None, "", "0")
    return {
        "labelSelector": label_selector,
        "fieldSelector": field_selector,
        "resourceVersion": resource_version or "",
        # Without it, a limit would ask for exactly that version.
        "resourceVersionMatch": "NotOlderThan" if at_least else "",
        "limit": str(limit or ""),
        "continue": continue_token,
    }


def _metadata_list(*, metadata_only: bool) -> str:
    return _METADATA.format("PartialObjectMetadataList") if metadata_only else JSON
