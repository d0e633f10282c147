"""The Kubernetes API by kind and name: plain dicts in, plain dicts out.

One request a call, but for the bounded retries of `retrying`, and one more with a
renewed credential where the old one was refused. Rules: CL-2, CL-3, CL-6, CL-9.
"""

import threading
import urllib.parse
from collections.abc import Mapping
from typing import Any, Literal, Protocol

import attrs
import orjson

from asoreconcile.clock import Clock, SystemClock
from asoreconcile.errors import StoppedError
from asoreconcile.kube.cluster import ClusterConfig
from asoreconcile.kube.errors import (
    ApiError,
    GarbledError,
    TransportError,
    UnauthorizedError,
    api_error,
)
from asoreconcile.kube.resources import ApiResource
from asoreconcile.kube.retrying import pause_seconds
from asoreconcile.kube.transport import Response, Stream, Transport
from asoreconcile.kube.watch import WatchStream
from asoreconcile.objects import JsonObject, ObjectKey

PatchKind = Literal["merge", "json", "apply"]

_JSON = "application/json"
_PATCH_TYPES: Mapping[PatchKind, str] = {
    "merge": "application/merge-patch+json",
    "json": "application/json-patch+json",
    "apply": "application/apply-patch+yaml",
}
_METADATA = "application/json;as={};g=meta.k8s.io;v=v1"
# A server may keep a watch open a little past its time before it says goodbye.
_WATCH_GRACE_SECONDS = 10.0


class RequestMetrics(Protocol):
    """Counts requests (`metrics.RuntimeMetrics`)."""

    def kube_request(self, code: str, method: str, host: str) -> None: ...


@attrs.frozen
class Page:
    """One page of a list; continue_token is "" on the last."""

    items: list[JsonObject]
    resource_version: str
    continue_token: str = ""


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
    ) -> None:
        self._transport = Transport(config, user_agent=user_agent)
        self._clock = clock or SystemClock()
        self._metrics = metrics
        self._closed = threading.Event()

    def get(self, resource: ApiResource, key: ObjectKey) -> JsonObject:
        """One object, read from the server."""
        return self._document("GET", resource.path(key.namespace, key.name))

    def read(self, path: str, *, accept: str = _JSON) -> JsonObject:
        """Any document of the API: discovery, version."""
        return self._document("GET", path, accept=accept)

    def create(
        self, resource: ApiResource, obj: JsonObject, *, field_manager: str = ""
    ) -> JsonObject:
        """Create an object in the namespace it names."""
        namespace = obj["metadata"].get("namespace")
        return self._document(
            "POST",
            resource.path(namespace),
            query={"fieldManager": field_manager},
            body=obj,
        )

    def replace(
        self, resource: ApiResource, obj: JsonObject, *, subresource: str = ""
    ) -> JsonObject:
        """Replace an object, on the resource version it holds."""
        meta = obj["metadata"]
        path = resource.path(meta.get("namespace"), meta["name"], subresource)
        return self._document("PUT", path, body=obj)

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
    ) -> JsonObject:
        """Patch an object; `apply` creates it if it is not there.

        field_manager: required by `apply`. force: take fields over from other managers.
        """
        query = {"fieldManager": field_manager, "force": "true" if force else ""}
        return self._document(
            "PATCH",
            resource.path(key.namespace, key.name, subresource),
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
    ) -> JsonObject:
        """Delete an object, if it still has that uid and resource version.

        propagation: Background, Foreground or Orphan. Answers a Status, or the object
        while finalizers hold it.
        """
        preconditions = {"uid": uid, "resourceVersion": resource_version}
        options: JsonObject = {"apiVersion": "v1", "kind": "DeleteOptions"}
        if stated := {name: value for name, value in preconditions.items() if value}:
            options["preconditions"] = stated
        if propagation:
            options["propagationPolicy"] = propagation
        path = resource.path(key.namespace, key.name)
        return self._document("DELETE", path, body=options)

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
        at_least = resource_version not in (None, "", "0")
        query = {
            "labelSelector": label_selector,
            "fieldSelector": field_selector,
            "resourceVersion": resource_version or "",
            # Without it, a limit would ask for exactly that version.
            "resourceVersionMatch": "NotOlderThan" if at_least else "",
            "limit": str(limit or ""),
            "continue": continue_token,
        }
        accept = (
            _METADATA.format("PartialObjectMetadataList") if metadata_only else _JSON
        )
        document = self._document(
            "GET", resource.path(namespace), query=query, accept=accept
        )
        meta = document.get("metadata") or {}
        return Page(
            document.get("items") or [],
            str(meta.get("resourceVersion") or ""),
            str(meta.get("continue") or ""),
        )

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
        accept = _METADATA.format("PartialObjectMetadata") if metadata_only else _JSON
        target = _target(resource.path(namespace), query)
        read_seconds = timeout_seconds + _WATCH_GRACE_SECONDS
        stream = self._open(target, accept, read_seconds)
        if stream.status == 401 and self._transport.renew_credential():
            stream.close()
            stream = self._open(target, accept, read_seconds)
        if stream.status >= 300:
            try:
                raise api_error(stream.status, stream.headers, stream.read())
            finally:
                stream.close()
        return WatchStream(stream)

    def close(self) -> None:
        """End requests and watches, and refuse further ones. Idempotent."""
        self._closed.set()
        self._transport.close()

    def _document(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: Any = None,
        accept: str = _JSON,
        content_type: str = _JSON,
    ) -> JsonObject:
        headers = {"Accept": accept}
        content = None
        if body is not None:
            headers["Content-Type"] = content_type
            content = orjson.dumps(body)
        target = _target(path, query or {})
        retries, waited_seconds, renewed = 0, 0.0, False
        while True:
            failure: ApiError | TransportError
            try:
                answer = self._send(method, target, headers, content)
            except TransportError as error:
                failure = error
            else:
                if answer.status < 300:
                    return _parsed(answer)
                failure = api_error(answer.status, answer.headers, answer.body)
            if isinstance(failure, UnauthorizedError) and not renewed:
                renewed = True
                if self._transport.renew_credential():
                    continue
            pause = pause_seconds(
                method, failure, retries=retries, waited_seconds=waited_seconds
            )
            if pause is None or self._clock.wait(self._closed, pause):
                raise failure
            retries += 1
            waited_seconds += pause

    def _send(
        self, method: str, target: str, headers: Mapping[str, str], body: bytes | None
    ) -> Response:
        self._check_open()
        try:
            answer = self._transport.send(method, target, headers=headers, body=body)
        except TransportError:
            self._check_open()  # closing cuts the connection: not the server's doing
            self._count(method, "<error>")
            raise
        self._count(method, answer.status)
        return answer

    def _open(self, target: str, accept: str, read_seconds: float) -> Stream:
        self._check_open()
        try:
            stream = self._transport.stream(
                target, headers={"Accept": accept}, read_seconds=read_seconds
            )
        except TransportError:
            self._check_open()
            self._count("GET", "<error>")
            raise
        self._count("GET", stream.status)
        return stream

    def _check_open(self) -> None:
        if self._closed.is_set():
            raise StoppedError("the Kubernetes client is closed")

    def _count(self, method: str, code: int | str) -> None:
        if self._metrics is not None:
            self._metrics.kube_request(str(code), method, self._transport.host)


def _target(path: str, query: Mapping[str, str]) -> str:
    stated = {name: value for name, value in query.items() if value}
    path = urllib.parse.quote(path, safe="/:")
    return f"{path}?{urllib.parse.urlencode(stated)}" if stated else path


def _parsed(answer: Response) -> JsonObject:
    try:
        document = orjson.loads(answer.body)
    except orjson.JSONDecodeError as error:
        raise GarbledError(f"the answer is no JSON: {error}") from error
    if not isinstance(document, dict):
        raise GarbledError("the answer is no JSON object")
    return document
