"""The transport under azure-identity: requests, with safe settings.

One TLS context for all connections, always verifying; proxies and CA bundle are read
from the environment once; no cookies, no retries, no redirects. Imported for the first
sign-in.
"""

import ssl
import urllib.request
from contextlib import nullcontext
from http.cookiejar import DefaultCookiePolicy
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import requests
from azure.core.exceptions import AzureError
from azure.core.pipeline.transport import HttpRequest, RequestsTransport
from requests.adapters import HTTPAdapter
from requests.utils import should_bypass_proxies
from urllib3.connectionpool import HTTPSConnectionPool

from asoreconcile.azure.arm.ca_bundle import CertificateBundleError, ca_bundle
from asoreconcile.azure.arm.limited_connection import LimitedTlsConnection
from asoreconcile.azure.arm.response import PERHAPS_A_PROXY
from asoreconcile.azure.arm.transport import CONNECT_TIMEOUT_SECONDS, limited_call
from asoreconcile.base import call_limit, reconcile_context
from asoreconcile.base.errors import StoppedError
from asoreconcile.base.fencing import READS
from asoreconcile.base.tls import client_context

# Answers have some kB.
_MAX_BODY_BYTES = 4 * 1024 * 1024
_CHUNK_BYTES = 65_536


class AuthorityTransport(RequestsTransport):  # type: ignore[misc]  # exported lazily, untyped
    """azure-core's transport over a session that connects to an authority only."""

    def __init__(self, *, url: str, connections: int, read_seconds: float) -> None:
        """Raises CertificateBundleError."""
        super().__init__(
            session=_session(url, connections),
            connection_timeout=CONNECT_TIMEOUT_SECONDS,
            read_timeout=read_seconds,
            use_env_settings=False,
        )

    def send(self, request: HttpRequest, **kwargs: Any) -> Any:
        """Send as azure-core does. Raises StoppedError once closed: the caller is being
        stopped.
        """
        trace = reconcile_context.trace()
        if trace is None:
            return self._send(request, **kwargs)
        parts = urlsplit(request.url)
        host = parts.netloc.rpartition("@")[2]
        with trace.request(request.method, host, parts.path) as span:
            answer = self._send(request, **kwargs)
            span.answered(answer.status_code or 0)
            return answer

    def _send(self, request: HttpRequest, **kwargs: Any) -> Any:
        self._check_open()
        is_read = request.method in READS
        # A sign-in has no limit of its own.
        limit = nullcontext() if call_limit.current() else limited_call(is_read=is_read)
        try:
            with limit:
                return super().send(request, **kwargs)
        except (ValueError, AzureError):
            self._check_open()
            raise

    def open(self) -> None:
        """Do nothing; azure-core would make a session with unsafe settings."""
        self._check_open()

    def _check_open(self) -> None:
        if self.session is None:
            raise StoppedError("the connections to Azure are closed") from None


class _Pool(HTTPSConnectionPool):
    ConnectionCls = LimitedTlsConnection


class _Adapter(HTTPAdapter):
    """Uses one TLS context for every connection, whatever a caller says about
    verifying.
    """

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

    def send(self, *args: Any, **kwargs: Any) -> requests.Response:
        """As requests', but reads the body up to a limit, which requests lacks."""
        response = super().send(*args, **kwargs)
        pieces = bytearray()
        for piece in response.iter_content(_CHUNK_BYTES):
            pieces += piece
            if len(pieces) > _MAX_BODY_BYTES:
                response.close()
                megabytes = _MAX_BODY_BYTES >> 20
                message = f"an answer of over {megabytes} MB{PERHAPS_A_PROXY}"
                raise requests.ConnectionError(message)
        response._content = bytes(pieces)  # noqa: SLF001 - requests has no other way
        return response

    def cert_verify(self, conn: Any, url: Any, verify: Any, cert: Any) -> None:
        """Do nothing: the context verifies."""


def _session(url: str, connections: int) -> requests.Session:
    session = requests.Session()
    # Read once here; requests would read files and the environment on every call.
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
