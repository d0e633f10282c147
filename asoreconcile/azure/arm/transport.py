"""The transport under the ARM client: azure-core's interface, implemented with libcurl.

Certificates are always verified; proxies and CA bundle are read from the environment
once; no cookies, no retries, no redirects; the request target is sent byte for byte;
bodies are read to a size and a time limit. Rules: L19, V8, V10, T10.
"""

import os
import threading
import urllib.request
import weakref
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import SplitResult, urlencode, urlsplit

from azure.core.exceptions import AzureError, ServiceRequestError, ServiceResponseError
from azure.core.pipeline.transport import HttpRequest, HttpResponse, HttpTransport

from asoreconcile.azure.arm.ca_bundle import (
    CertificateBundleError,
    ProxyVariableError,
    ca_bundle,
)
from asoreconcile.azure.arm.errors import Sent
from asoreconcile.azure.arm.response import PERHAPS_A_PROXY
from asoreconcile.azure.arm.text_bounds import ANSWER_VALUE_BYTES
from asoreconcile.base import call_limit, reconcile_context
from asoreconcile.base.call_limit import Call
from asoreconcile.base.clock import Clock
from asoreconcile.base.errors import StoppedError
from asoreconcile.base.fencing import READS, Fence
from asoreconcile.base.json_size import JsonSizeError, check_if_large
from asoreconcile.base.tls import client_context
from asoreconcile.wire.destination import Destination, Proxy
from asoreconcile.wire.errors import WireError
from asoreconcile.wire.handle import Patience
from asoreconcile.wire.pool import HandlePool
from asoreconcile.wire.request import WireAnswer, WireRequest
from asoreconcile.wire.trust import TlsTrust

CONNECT_TIMEOUT_SECONDS = 10
READ_TIMEOUT_SECONDS = 90
# Silence before the first byte, and then the longest body (`MAX_BODY_SECONDS`).
MAX_CALL_SECONDS = 210.0
# ARM turns answers beyond 8 MB into a 500 (V8); decompressed and in tests, some more.
MAX_BODY_BYTES = 32 * 1024 * 1024
MAX_BODY_SECONDS = 120.0

_PROXY_VARIABLES = ("https_proxy", "all_proxy")


class _Headers(dict[str, str]):
    """Response headers: names in lower case, found in any letter case."""

    __slots__ = ()

    def __getitem__(self, name: str) -> str:
        return super().__getitem__(name.lower())

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and super().__contains__(name.lower())

    def get(self, name: str, default: Any = None) -> Any:
        """Return the value of a header, else `default`."""
        return super().get(name.lower(), default)


class ArmHttpResponse(HttpResponse):
    """A response in azure-core's form, read to its end."""

    def __init__(self, request: HttpRequest, answer: WireAnswer) -> None:
        super().__init__(request, answer)
        self.status_code = answer.status
        self.headers = _Headers(answer.headers)
        self.content_type = answer.headers.get("content-type")
        self._content = answer.body

    def body(self) -> bytes:
        """Return the decompressed body, which is in memory: the call does not block."""
        return self._content


class ArmTransport(HttpTransport[HttpRequest, HttpResponse]):
    """Sends a pipeline's requests, each over a TLS connection to its URL's host.
    Thread-safe.

    The pipeline decides which hosts are allowed (`bearer.BearerPolicy`).
    """

    def __init__(
        self,
        *,
        url: str,
        connections: int = 32,
        before_write: Fence | None = None,
        read_seconds: float = READ_TIMEOUT_SECONDS,
        max_bytes: int | None = None,
        clock: Clock | None = None,
    ) -> None:
        """url: URL of the host that most requests go to.
        connections: number of idle connections to keep; as many as there are workers
        (T10).
        before_write: called before a request that may change something is sent, and
        before each further piece of it; if it raises, its exception is raised and ARM
        has nothing to act on (LE-5, `fencing`).
        read_seconds: longest silence of the server.
        max_bytes: the longest response body, after decompression; 32 MiB by default.
        clock: the clock of the connections, by default the system clock.

        Raises CertificateBundleError, ProxyVariableError.
        """
        self._connections = connections
        self._fence = before_write
        self._read_seconds = read_seconds
        self._max_bytes = max_bytes
        self._clock = clock
        trust = _trust(ca_bundle())
        # Without a reference to this transport, which `finalize` would keep alive.
        self._trusted = lambda: trust
        self._proxies = urllib.request.getproxies()
        self._lock = threading.Lock()
        self._pools: dict[str, HandlePool] = {}
        self._is_closed = False
        # A credential that is dropped closes its transport, too.
        weakref.finalize(self, _close, self._pools).atexit = False
        self._pool(url)

    def send(self, request: HttpRequest, **_: Any) -> HttpResponse:
        """Return one complete response; the URL's path and query are sent unchanged
        (L19).

        Raises ServiceRequestError if nothing was sent, else ServiceResponseError,
        around a WireError. Raises StoppedError once closed, because the caller is being
        stopped.
        """
        trace = reconcile_context.trace()
        parts = urlsplit(request.url)
        if trace is None:
            return self._send(request, parts)
        host = parts.netloc.rpartition("@")[2]
        with trace.request(request.method, host, parts.path) as span:
            answer = self._send(request, parts)
            span.answered(answer.status_code or 0)
            return answer

    def _send(self, request: HttpRequest, parts: SplitResult) -> HttpResponse:
        self._check_open()
        target = f"{parts.path or '/'}{'?' + parts.query if parts.query else ''}"
        is_read = request.method in READS
        outer = call_limit.current()
        limit = nullcontext(outer) if outer else limited_call(is_read=is_read)
        try:
            sent = WireRequest(
                request.method, target, tuple(request.headers.items()), _body(request)
            )
            with limit as call:
                answer = self._pool(request.url).exchange(
                    sent,
                    call=call,
                    patience=Patience(
                        connect=CONNECT_TIMEOUT_SECONDS,
                        silence=self._read_seconds,
                        body=MAX_BODY_SECONDS,
                    ),
                    max_bytes=self._max_bytes or MAX_BODY_BYTES,
                )
                _check_values(answer)
        except WireError as error:
            self._check_open()
            kind = ServiceResponseError if error.is_sent else ServiceRequestError
            raise kind(f"{error}{advice(error)}", error=error) from error
        except (ValueError, ProxyVariableError) as error:
            raise ServiceRequestError(f"not sent: {error}", error=error) from error
        return ArmHttpResponse(request, answer)

    def open(self) -> None:
        """Do nothing: connections open when they are needed."""
        self._check_open()

    def close(self) -> None:
        """Close all connections; threads that wait for a response get StoppedError."""
        with self._lock:
            self._is_closed = True
            pools = dict(self._pools)
        _close(pools)

    def __enter__(self) -> Self:
        self.open()
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None = None,
        exc_value: BaseException | None = None,
        traceback: TracebackType | None = None,
    ) -> None:
        self.close()

    def _check_open(self) -> None:
        if self._is_closed:
            raise StoppedError("the connections to Azure are closed") from None

    def _pool(self, url: str) -> HandlePool:
        """Return the connections to a URL's host. Raises ValueError."""
        parts = urlsplit(url)
        authority = parts.netloc.rpartition("@")[2].lower()
        with self._lock:
            self._check_open()
            pool = self._pools.get(authority)
            if pool is None:
                if parts.scheme.lower() != "https":
                    raise ValueError(
                        "a token must not travel in the clear: use https://"
                    )
                destination = Destination.of(
                    f"https://{authority}", proxy=_proxy(url, self._proxies)
                )
                pool = self._pools[authority] = HandlePool(
                    destination,
                    trust=self._trusted,
                    max_idle=self._connections,
                    fence=self._fence,
                    clock=self._clock,
                )
            return pool


def _check_values(answer: WireAnswer) -> None:
    """Check the memory that the values of an answer would take, whoever reads it: ARM's
    client, Graph's or a library's sign-in. Raises WireError.
    """
    try:
        check_if_large(answer.body, most_bytes=ANSWER_VALUE_BYTES)
    except JsonSizeError as error:
        text = f"the answer of {len(answer.body)} bytes is not read: {error}"
        raise WireError(text, is_sent=True, is_too_long=True) from error


def _close(pools: Mapping[str, HandlePool]) -> None:
    for pool in pools.values():
        pool.close()


def limited_call(*, is_read: bool) -> AbstractContextManager[Call]:
    """Limit the whole duration of a call, including connecting and reading."""
    return call_limit.limited(MAX_CALL_SECONDS, is_read=is_read)


def advice(error: BaseException) -> str:
    """Return what to check after such a failure; "" if there is no advice."""
    if not isinstance(error, WireError):
        return ""
    if error.is_untrusted:
        return (
            "; the server's certificate does not hold: check this machine's clock, the "
            "endpoint's host, and the CA bundle in REQUESTS_CA_BUNDLE or SSL_CERT_FILE"
        )
    return PERHAPS_A_PROXY if error.is_too_long else ""


def cause(error: AzureError) -> BaseException:
    """Return the error that azure-core has wrapped, or the error itself."""
    inner: BaseException | None = error.inner_exception
    return inner or error


def sent(error: AzureError) -> Sent:
    """Return whether a request that failed in the transport may have been executed.

    "no" if the transport knows that it was not. azure-core's own distinction is wrong
    for a TLS connection that broke while the response was awaited.
    """
    inner = cause(error)
    return "no" if isinstance(inner, WireError) and not inner.is_sent else "maybe"


def _body(request: HttpRequest) -> bytes | None:
    data: object = request.data
    if isinstance(data, dict):
        return urlencode(data).encode()  # the form of a sign-in
    if isinstance(data, str):
        return data.encode()
    if data is None or isinstance(data, bytes):
        return data
    raise ValueError(f"the body is neither text nor bytes but {type(data).__name__}")


def _trust(bundle: str) -> TlsTrust:
    """Return the bundle as trust settings. Raises CertificateBundleError for an invalid
    one.

    libcurl would report it only at the first request.
    """
    path = Path(bundle)
    try:
        if not path.is_dir():
            client_context(cafile=bundle)
    except OSError as error:
        raise CertificateBundleError(f"not a CA bundle: {bundle}: {error}") from error
    return TlsTrust(path)


def _proxy(url: str, proxies: Mapping[str, str]) -> Proxy | None:
    """Return the environment's proxy unless NO_PROXY excludes the host. Raises
    ProxyVariableError.
    """
    address = proxies.get("https") or proxies.get("all")
    if not address:
        return None
    from requests.utils import should_bypass_proxies

    if should_bypass_proxies(url, no_proxy=None):
        return None
    try:
        return Proxy.of(address)
    except ValueError as error:
        named = [name for name, value in os.environ.items() if value == address]
        variable = next(
            (one for one in named if one.lower() in _PROXY_VARIABLES), "HTTPS_PROXY"
        )
        raise ProxyVariableError(f"{variable} is not a proxy: {error}") from None
