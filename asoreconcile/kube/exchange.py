"""Documents to and from one API server: with retries, credentials, a rate, a count.

One request a call, but for the bounded retries of `retrying`, and one more with a
renewed credential where the old one was refused. Rules: CL-6, CL-9.
"""

import threading
import urllib.parse
from collections.abc import Mapping
from typing import Any, Protocol

from asoreconcile import jsontext
from asoreconcile.backoff import RateLimiter
from asoreconcile.clock import Clock
from asoreconcile.errors import StoppedError
from asoreconcile.kube.errors import (
    ApiError,
    GarbledError,
    TransportError,
    UnauthorizedError,
    api_error,
)
from asoreconcile.kube.retrying import pause_seconds
from asoreconcile.kube.selection import JSON
from asoreconcile.kube.transport import Response, Stream, Transport
from asoreconcile.objects import JsonObject


class RequestMetrics(Protocol):
    """Counts requests (`metrics.RuntimeMetrics`)."""

    def kube_request(self, code: str, method: str, host: str) -> None: ...


class Exchange:
    """Requests to one API server, until closed. Safe from any thread."""

    def __init__(
        self,
        transport: Transport,
        *,
        clock: Clock,
        limiter: RateLimiter | None,
        metrics: RequestMetrics | None,
        max_retries: int,
    ) -> None:
        self._transport = transport
        self._clock = clock
        self._limiter = limiter
        self._metrics = metrics
        self._max_retries = max_retries
        self._closed = threading.Event()

    def close(self) -> None:
        """End requests and streams, and refuse further ones. Idempotent."""
        self._closed.set()
        self._transport.close()

    def document(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: Any = None,
        accept: str = JSON,
        content_type: str = JSON,
    ) -> JsonObject:
        """One answer. Raises ApiError, TransportError, or StoppedError once closed."""
        headers = {"Accept": accept}
        content = None
        if body is not None:
            headers["Content-Type"] = content_type
            content = jsontext.dumps(body)
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
                failure = api_error(
                    answer.status,
                    answer.headers,
                    answer.body,
                    namespace=_namespace_in(path),
                )
            if isinstance(failure, UnauthorizedError) and not renewed:
                renewed = True
                if self._transport.renew_credential():
                    continue
            pause = pause_seconds(
                method, failure, retries=retries, waited_seconds=waited_seconds
            )
            if pause is None or retries >= self._max_retries:
                raise failure
            if self._clock.wait(self._closed, pause):
                raise failure
            retries += 1
            waited_seconds += pause

    def stream(
        self, path: str, *, query: Mapping[str, str], accept: str, read_seconds: float
    ) -> Stream:
        """An answer to be read line by line, once the server has accepted.

        read_seconds: the longest silence. Raises as `document`.
        """
        target = _target(path, query)
        stream = self._open(target, accept, read_seconds)
        if stream.status == 401 and self._transport.renew_credential():
            stream.close()
            stream = self._open(target, accept, read_seconds)
        if stream.status >= 300:
            try:
                raise api_error(stream.status, stream.headers, stream.read())
            finally:
                stream.close()
        return stream

    def _send(
        self, method: str, target: str, headers: Mapping[str, str], body: bytes | None
    ) -> Response:
        self._await_turn()
        try:
            answer = self._transport.send(method, target, headers=headers, body=body)
        except TransportError:
            self._check_open()  # closing cuts the connection: not the server's doing
            self._count(method, "<error>")
            raise
        self._count(method, answer.status)
        return answer

    def _open(self, target: str, accept: str, read_seconds: float) -> Stream:
        self._await_turn()
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

    def _await_turn(self) -> None:
        """Wait as long as the limiter says. Raises StoppedError."""
        self._check_open()
        if self._limiter is None:
            return
        pause = self._limiter.delay(None)
        if pause > 0:
            self._clock.wait(self._closed, pause)
            self._check_open()

    def _check_open(self) -> None:
        if self._closed.is_set():
            raise StoppedError("the Kubernetes client is closed")

    def _count(self, method: str, code: int | str) -> None:
        if self._metrics is not None:
            self._metrics.kube_request(str(code), method, self._transport.host)


def _namespace_in(path: str) -> str:
    _, _, rest = path.partition("/namespaces/")
    return rest.partition("/")[0]


def _target(path: str, query: Mapping[str, str]) -> str:
    stated = {name: value for name, value in query.items() if value}
    path = urllib.parse.quote(path, safe="/:")
    return f"{path}?{urllib.parse.urlencode(stated)}" if stated else path


def _parsed(answer: Response) -> JsonObject:
    try:
        document = jsontext.loads(answer.body)
    except jsontext.JSONDecodeError as error:
        raise GarbledError(f"the answer is no JSON: {error}") from error
    if not isinstance(document, dict):
        raise GarbledError("the answer is no JSON object")
    return document
