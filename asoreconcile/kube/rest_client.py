"""REST requests to one API server, with retries, credentials, rate limit and metrics.

One request per call, plus the bounded retries of `retrying`, and one more with a
renewed credential after a 401. Rules: CL-6, CL-9.
"""

import urllib.parse
import weakref
from collections.abc import Callable, Mapping
from functools import cached_property, partial
from typing import Any, Protocol

import attrs

from asoreconcile.base import jsontext, reconcile_context
from asoreconcile.base.backoff import RateLimiter
from asoreconcile.base.call_limit import Call, limited
from asoreconcile.base.clock import Clock
from asoreconcile.base.coroutines import Coroutine
from asoreconcile.base.errors import StoppedError
from asoreconcile.base.log import Logger
from asoreconcile.base.lru import lru_cached
from asoreconcile.base.objects import JsonObject
from asoreconcile.base.stop_signal import StopSignal, wait_for_any
from asoreconcile.base.threads import Threads
from asoreconcile.kube.answer_stream import Stream
from asoreconcile.kube.api_warnings import ApiWarnings
from asoreconcile.kube.errors import (
    ApiError,
    DecodeError,
    TransportError,
    UnauthorizedError,
    api_error,
)
from asoreconcile.kube.retrying import pause_seconds
from asoreconcile.kube.selection import JSON
from asoreconcile.kube.transport import READ_SECONDS, ApiResponse, Transport
from asoreconcile.wire.loop import StreamLoop

_log = Logger(__name__)
# For a list that is read object by object.
_LIST_SECONDS = 600.0


class RequestMetrics(Protocol):
    """Counts requests and their time (`metrics.RuntimeMetrics`)."""

    def kube_request(self, code: str, method: str, host: str, seconds: float) -> None:
        """Count one request. code: the status, or `<error>` without a response."""


@attrs.frozen
class _Request:
    """One request to the API server.

    path: the API path. target: the path with its query, as sent.
    """

    method: str
    path: str
    target: str
    headers: Mapping[str, str]
    content: bytes | None = attrs.field(repr=False)


@attrs.define(eq=False, repr=False)
class RestClient:
    """Sends requests to one API server until closed. Safe from any thread.

    read_seconds: limit for one document with its retries. The other arguments are those
    of `KubeClient`.
    """

    _transport: Transport
    _clock: Clock
    _limiter: RateLimiter | None
    _metrics: RequestMetrics | None
    _max_retries: int
    _read_seconds: float = READ_SECONDS
    _closed: StopSignal = attrs.field(init=False, factory=StopSignal)
    _warnings: ApiWarnings = attrs.field(init=False, factory=ApiWarnings)

    def __attrs_post_init__(self) -> None:
        # Its threads end also if the last user drops it without `close`.
        weakref.finalize(self, self._transport.close).atexit = False

    @property
    def host(self) -> str:
        """The host and port of the server."""
        return self._transport.host

    def close(self) -> None:
        """End requests and streams, and refuse new ones. Idempotent."""
        self._closed.set()
        self._transport.close()

    def renew_connections(self) -> None:
        """Send no further requests over the connections open now."""
        self._transport.renew_connections()

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
        """Request a document, within `read_seconds` and the reconcile's deadline.

        Raises ApiError, TransportError; DeadlineError, with nothing sent, if the
        reconcile has no time left; StoppedError once closed, or if the controller stops
        during a wait.
        """
        headers = {"Accept": accept}
        content = None
        if body is not None:
            headers["Content-Type"] = content_type
            content = jsontext.dumps(body)
        target = _target(path, query or {})
        request = _Request(method, path, target, headers, content)
        self._await_turn(method)
        with limited(self._read_seconds, is_read=method == "GET") as call:
            return self._answered(request, call)

    def _answered(self, request: _Request, call: Call) -> JsonObject:
        retries, waited_seconds, renewed = 0, 0.0, False
        while True:
            failure: ApiError | TransportError
            try:
                answer = self._send(request, call)
            except TransportError as error:
                failure = error
            else:
                if answer.status < 300:
                    return _parsed(answer)
                failure = api_error(
                    answer.status,
                    answer.headers,
                    answer.body,
                    namespace=_namespace_in(request.path),
                )
            # Only once: if a new credential is refused too, retrying would never end.
            if isinstance(failure, UnauthorizedError) and not renewed:
                renewed = True
                if self._transport.renew_credential():
                    self._await_turn(request.method)
                    continue
            pause = pause_seconds(
                request.method, failure, retries=retries, waited_seconds=waited_seconds
            )
            if pause is None or retries >= self._max_retries:
                raise failure
            # No time is left for the next try: raise the error now.
            if call.left is not None and pause >= call.left:
                raise failure
            if self._wait(request.method, pause):
                raise failure
            retries += 1
            waited_seconds += pause
            self._await_turn(request.method)

    @cached_property
    def own_loop(self) -> StreamLoop:
        """The loop whose thread receives the streams of blocking readers."""
        return self.loop(Threads(self._clock))

    def await_news(self, news: StopSignal, pause: float | None) -> None:
        """Block until there is news, or for a pause that the limiter asks for.

        Raises StoppedError once closed; StoppedError or DeadlineError if the reconcile
        ends.
        """
        if pause is None:
            reconcile_context.wait(news)
            news.clear()
        elif self._wait("GET", pause):
            self._check_open()
            reconcile_context.check()

    def loop(self, threads: Threads) -> StreamLoop:
        """Return a loop whose thread receives streams. The thread starts with the first
        stream, and `close` ends it.
        """
        return self._transport.loop(threads)

    def streaming(
        self,
        loop: StreamLoop,
        path: str,
        *,
        query: Mapping[str, str],
        accept: str,
        read_seconds: float,
        on_news: Callable[[], None],
    ) -> Coroutine[Stream]:
        """Return a response that is read as it arrives, once the server has accepted
        the request.

        read_seconds: longest silence of the server. on_news: function called, on any
        thread, when there may be more to read. Raises ApiError, TransportError;
        StoppedError once closed.
        """
        begin = partial(
            self._transport.begin,
            loop,
            _target(path, query),
            headers={"Accept": accept},
            read_seconds=read_seconds,
            # A list comes to an end, also from a server that drips; a watch need not.
            whole_seconds=None if "watch" in query else _LIST_SECONDS,
            on_news=on_news,
        )
        stream = yield from self._started(path, begin)
        # Once: a credential that is new and refused is not for another try.
        if stream.status == 401 and self._transport.renew_credential(stream.asked_as):
            stream.close()
            stream = yield from self._started(path, begin)
        if stream.status >= 300:
            try:
                said = yield from stream.rest()
                raise api_error(stream.status, stream.headers, said)
            finally:
                stream.close()
        return stream

    def _send(self, request: _Request, call: Call) -> ApiResponse:
        trace = reconcile_context.trace()
        if trace is None:
            return self._exchange(request, call)
        with trace.request(request.method, self._transport.host, request.path) as span:
            headers = {**request.headers, **span.headers}
            answer = self._exchange(attrs.evolve(request, headers=headers), call)
            span.answered(answer.status)
            return answer

    def _exchange(self, request: _Request, call: Call) -> ApiResponse:
        began = self._clock.monotonic()
        try:
            answer = self._transport.send(
                request.method,
                request.target,
                headers=request.headers,
                body=request.content,
                call=call,
            )
        except TransportError:
            self._check_open()  # closing cuts the connection: not the server's doing
            self._count(request.method, request.path, "<error>", began)
            raise
        self._count(request.method, request.path, answer.status, began)
        self._warnings.log(request.method, request.path, answer.headers)
        return answer

    def _started(self, path: str, begin: Callable[[], Stream]) -> Coroutine[Stream]:
        self._check_open()
        pause = self._limiter.delay(None) if self._limiter is not None else 0.0
        if pause > 0:
            yield pause
            self._check_open()
        began = self._clock.monotonic()
        stream = None
        try:
            stream = begin()
            while not stream.is_answered():
                yield None
        except BaseException as error:
            if stream is not None:
                stream.close()
            if isinstance(error, TransportError):
                self._check_open()
                self._count("GET", path, "<error>", began)
            raise
        self._count("GET", path, stream.status, began)
        self._warnings.log("GET", path, stream.headers)
        return stream

    def _await_turn(self, method: str) -> None:
        """Wait for the rate limiter.

        Raises StoppedError; raises TransportError at once if the wait is longer than
        the time left for the reconcile.
        """
        self._check_open()
        pause = self._limiter.delay(None) if self._limiter is not None else 0.0
        if pause <= 0:
            return
        left = reconcile_context.seconds_left()
        if left is not None and pause > left:
            raise TransportError(
                f"not sent: the client's rate limit (qps) allows it in {pause:.1f} s, "
                f"and the reconcile has {left:.1f} s left"
            )
        if self._wait(method, pause):
            self._check_open()
            reconcile_context.check()

    def _wait(self, method: str, seconds: float) -> bool:
        """Wait; return whether the client was closed or a stop was requested meanwhile.

        A stop does not interrupt a write, which may record results, if the wait ends
        before the stop does.
        """
        context = reconcile_context.current()
        stop = context.stop if context else None
        until = self._clock.monotonic() + seconds
        if not wait_for_any(self._clock, self._closed, stop, timeout_seconds=seconds):
            return False
        if self._closed.is_set() or method == "GET":
            return True
        rest = until - self._clock.monotonic()
        left = reconcile_context.seconds_left()
        if left is not None and rest > left:
            return True
        return wait_for_any(self._clock, self._closed, timeout_seconds=rest)

    def _check_open(self) -> None:
        if self._closed.is_set():
            raise StoppedError("the Kubernetes client is closed")

    def _count(self, method: str, path: str, code: int | str, began: float) -> None:
        """Count a request.

        began: start of the request, by the clock. For a stream the time until its first
        bytes is counted.
        """
        seconds = self._clock.monotonic() - began
        _log.debug(
            "Kubernetes request",
            method=method,
            path=path,
            code=code,
            seconds=round(seconds, 4),
        )
        if self._metrics is not None:
            host = self._transport.host
            self._metrics.kube_request(str(code), method, host, seconds)


def _namespace_in(path: str) -> str:
    _, _, rest = path.partition("/namespaces/")
    return rest.partition("/")[0]


def _target(path: str, query: Mapping[str, str]) -> str:
    stated = [
        f"{_encoded(name)}={_encoded(value)}" for name, value in query.items() if value
    ]
    return f"{_quoted(path)}?{'&'.join(stated)}" if stated else _quoted(path)


# A reconcile asks for one object a dozen times, in two or three ways.
@lru_cached
def _quoted(path: str) -> str:
    return urllib.parse.quote(path, safe="/:")


@lru_cached
def _encoded(text: str) -> str:
    return urllib.parse.quote_plus(text)


def _parsed(answer: ApiResponse) -> JsonObject:
    try:
        document = jsontext.loads(answer.body)
    except jsontext.JSONDecodeError as error:
        raise DecodeError(f"the answer is no JSON: {error}") from error
    if not isinstance(document, dict):
        raise DecodeError("the answer is no JSON object")
    return document
