"""The wire under the ARM client: requests, by way of azure-core, with its traps closed.

One TLS context for all connections, always verifying; proxies and CA bundle read from
the environment once; no cookies, no retries, no redirects; the request target goes out
byte for byte; bodies are read to a size and a time limit.
Rules: L19, V8, V10, T10.
"""

import re
import ssl
import urllib.request
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from contextvars import ContextVar
from http.cookiejar import DefaultCookiePolicy
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import requests
from azure.core.exceptions import AzureError
from azure.core.pipeline.transport import HttpRequest, RequestsTransport
from requests.adapters import HTTPAdapter
from requests.structures import CaseInsensitiveDict
from requests.utils import default_headers, should_bypass_proxies
from urllib3 import HTTPResponse
from urllib3.connectionpool import HTTPSConnectionPool
from urllib3.exceptions import ConnectTimeoutError, NewConnectionError, ProxyError

from asoreconcile import call_limit
from asoreconcile.arm.ca_bundle import CertificateBundleError, ca_bundle
from asoreconcile.arm.errors import Sent
from asoreconcile.call_limit import Call, LimitedTlsConnection
from asoreconcile.clock import Clock
from asoreconcile.errors import AsoreconcileError, StoppedError
from asoreconcile.fencing import READS, Fence, FencedConnection
from asoreconcile.tls import client_context

CONNECT_TIMEOUT_SECONDS = 10
READ_TIMEOUT_SECONDS = 90
# Silence before the first byte, and then the longest body (`MAX_BODY_SECONDS`).
MAX_CALL_SECONDS = 210.0
# ARM turns answers beyond 8 MB into a 500 (V8); decompressed and in tests, some more.
MAX_BODY_BYTES = 32 * 1024 * 1024
MAX_BODY_SECONDS = 120.0
_CHUNK_BYTES = 65_536
_DECODABLE = default_headers()["Accept-Encoding"]
_MAX_WRAPPERS = 5
# How urllib3 begins its messages: the repr of a connection or a pool.
_OWN_OBJECT = re.compile(r"^(?:<[^>]*>|\w+\([^)]*\)): ")
_BEFORE_SENDING = (
    NewConnectionError,
    ConnectTimeoutError,
    ProxyError,
    ssl.SSLCertVerificationError,
)

_Sending = tuple[str, Fence | None]
"""The target of the request that this thread sends, and what to ask before a write."""

_SENDING: ContextVar[_Sending | None] = ContextVar("asoreconcile_arm", default=None)


class BodyLimitError(AsoreconcileError):
    """An answer too long or too slow to be read."""


class ArmTransport(RequestsTransport):  # type: ignore[misc]  # exported lazily, untyped
    """azure-core's transport over a session that only ever talks to ARM.

    connections: kept open at most; as many as there are workers (T10).
    before_write: called when a request that may change something is about to go out on
    its connection, whole, and before each further piece of it; what it raises is raised
    instead, and ARM has nothing to act on (LE-5, `fencing`).
    """

    def __init__(
        self,
        *,
        url: str,
        connections: int = 32,
        before_write: Fence | None = None,
    ) -> None:
        self._before_write = before_write
        super().__init__(
            session=_session(url, connections),
            connection_timeout=CONNECT_TIMEOUT_SECONDS,
            read_timeout=READ_TIMEOUT_SECONDS,
            use_env_settings=False,
        )

    def send(self, request: HttpRequest, **kwargs: Any) -> Any:
        """As azure-core's, with the URL's path and query sent as they are (L19).

        Raises StoppedError once closed: whoever asks then is being stopped, and has
        nothing to report.
        """
        self._check_open()
        parts = urlsplit(request.url)
        target = f"{parts.path or '/'}{'?' + parts.query if parts.query else ''}"
        reset = _SENDING.set((target, self._before_write))
        is_read = request.method in READS
        # A sign-in comes without a limit of its own.
        limit = nullcontext() if call_limit.current() else limited_call(is_read=is_read)
        try:
            with limit:
                return super().send(request, **kwargs)
        except (ValueError, AzureError):
            self._check_open()
            raise
        finally:
            _SENDING.reset(reset)

    def open(self) -> None:
        """Nothing to do; azure-core would make a session that trusts what it likes."""
        self._check_open()

    def _check_open(self) -> None:
        if self.session is None:
            raise StoppedError("the connections to Azure are closed") from None


def limited_call(*, is_read: bool) -> AbstractContextManager[Call]:
    """The longest that a call may take, connecting and reading included."""
    return call_limit.limited(MAX_CALL_SECONDS, is_read=is_read)


def advice(error: BaseException) -> str:
    """What to look at when a request failed so; "" when there is nothing to say."""
    if any(isinstance(c, ssl.SSLCertVerificationError) for c in _causes(error)):
        return (
            "; the server's certificate does not hold: check this machine's clock, the "
            "endpoint's host, and the CA bundle in REQUESTS_CA_BUNDLE or SSL_CERT_FILE"
        )
    return ""


def plainly(error: BaseException) -> str:
    """What went wrong at the bottom, in its own words, for people to read.

    azure-core, requests and urllib3 each wrap it in the names of their own objects.
    """
    *_, cause = error, *_causes(error)
    parts = [str(a) for a in cause.args if isinstance(a, str | BaseException)]
    texts = (_OWN_OBJECT.sub("", text).rstrip(".") for text in parts or [str(cause)])
    return ": ".join(text for text in texts if text) or type(cause).__name__


def sent(error: AzureError) -> Sent:
    """Whether a request that failed in the transport may have been executed.

    Only failures before its first byte are "no"; azure-core's own split takes a TLS
    connection that broke while the answer was awaited for one of these.
    """
    return (
        "no" if any(isinstance(c, _BEFORE_SENDING) for c in _causes(error)) else "maybe"
    )


def read_body(raw: HTTPResponse, clock: Clock) -> bytes:
    """The decoded body; the connection goes back to the pool, or is closed on failure.

    Raises BodyLimitError beyond MAX_BODY_BYTES or MAX_BODY_SECONDS, and what urllib3
    raises when the answer breaks off. Blocks for READ_TIMEOUT_SECONDS without a byte.
    """
    deadline = clock.monotonic() + MAX_BODY_SECONDS
    chunks: list[bytes] = []
    size = 0
    try:
        while chunk := raw.read1(_CHUNK_BYTES, decode_content=True):
            chunks.append(chunk)
            size += len(chunk)
            if size > MAX_BODY_BYTES:
                raise BodyLimitError(f"the answer is over {MAX_BODY_BYTES} bytes long")
            if clock.monotonic() > deadline:
                raise BodyLimitError(
                    f"the answer took over {MAX_BODY_SECONDS:.0f} s to arrive"
                )
    except BaseException:
        raw.close()
        raise
    raw.release_conn()
    return b"".join(chunks)


class _Session(requests.Session):
    """Sends what it is given, and what says which answers can be read."""

    def prepare_request(self, request: requests.Request) -> requests.PreparedRequest:
        """The request as it is: nothing of a session's own is to be merged into it, and
        the URL goes out as it came (L19). That would take a fifth of a request's CPU.
        """
        prepared = requests.PreparedRequest()
        prepared.method, prepared.url = request.method, request.url
        prepared.headers = CaseInsensitiveDict(
            {"Accept-Encoding": _DECODABLE, **request.headers}
        )
        prepared.prepare_body(request.data, request.files, request.json)
        prepared.hooks = request.hooks
        prepared.prepare_cookies({})
        return prepared


class _Connection(FencedConnection, LimitedTlsConnection):
    """Sends the target as it is given: urllib3 would turn `%3a` into `%3A`."""

    def fence(self, method: str) -> Fence | None:  # noqa: ARG002 - all writes are alike
        sending = _SENDING.get()
        return sending[1] if sending is not None else None

    def putrequest(self, method: str, url: str, *args: Any, **kwargs: Any) -> None:
        sending = _SENDING.get()
        target = sending[0] if sending is not None else url
        super().putrequest(method, target, *args, **kwargs)


class _Pool(HTTPSConnectionPool):
    ConnectionCls = _Connection


class _Adapter(HTTPAdapter):
    """One TLS context for every connection, whatever a caller says about verifying."""

    def __init__(self, context: ssl.SSLContext, connections: int) -> None:
        self._context = context
        super().__init__(pool_connections=2, pool_maxsize=connections)

    def init_poolmanager(self, *args: Any, **kwargs: Any) -> None:
        super().init_poolmanager(*args, **kwargs, ssl_context=self._context)
        self.poolmanager.pool_classes_by_scheme = {"https": _Pool}

    def proxy_manager_for(self, proxy: str, **kwargs: Any) -> Any:
        manager = super().proxy_manager_for(proxy, **kwargs, ssl_context=self._context)
        manager.pool_classes_by_scheme = {
            **manager.pool_classes_by_scheme,
            "https": _Pool,
        }
        return manager

    def build_connection_pool_key_attributes(
        self, request: requests.PreparedRequest, *_: Any, **__: Any
    ) -> Any:
        host, _tls = super().build_connection_pool_key_attributes(request, verify=True)
        return host, {}

    def cert_verify(self, conn: Any, url: Any, verify: Any, cert: Any) -> None:
        """Nothing to add: the context verifies."""


def _causes(error: BaseException) -> Iterator[BaseException]:
    """What azure-core, requests and urllib3 have wrapped, the outermost first."""
    cause: Any = getattr(error, "inner_exception", None)
    for _ in range(_MAX_WRAPPERS):
        if cause is None:
            return
        yield cause
        cause = _inner(cause)


def _inner(error: BaseException) -> BaseException | None:
    reason = getattr(error, "reason", None)
    if isinstance(reason, BaseException):
        return reason
    first = error.args[0] if error.args else None
    return first if isinstance(first, BaseException) else None


def _session(url: str, connections: int) -> requests.Session:
    session = _Session()
    # Read here once; requests would read files and the environment on every call.
    session.trust_env = False
    session.cookies.set_policy(DefaultCookiePolicy(allowed_domains=[]))
    session.proxies.update(_proxies(url))
    session.adapters.clear()
    session.mount("https://", _Adapter(_context(ca_bundle()), connections))
    return session


def _context(bundle: str) -> ssl.SSLContext:
    try:
        if Path(bundle).is_dir():
            return client_context(capath=bundle)
        return client_context(cafile=bundle)
    except OSError as error:
        raise CertificateBundleError(f"not a CA bundle: {bundle}: {error}") from error


def _proxies(url: str) -> dict[str, str]:
    if should_bypass_proxies(url, no_proxy=None):
        return {}
    return urllib.request.getproxies()
