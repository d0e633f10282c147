"""The connections to one API server: pooled, and cut by whoever closes them.

urllib3's pool closes only the connections that lie idle. A thread that waits for an
answer would wait on, so each socket is recorded when it opens and shut down at the end
(RF-13, TH-9: a plain close would not wake a blocked reader).
"""

import base64
import socket
import threading
import weakref
from collections.abc import Callable
from typing import Any
from urllib.parse import unquote_to_bytes, urlsplit

import attrs
import urllib3
from urllib3.connection import HTTPConnection

from asoreconcile.call_limit import LimitedConnection, LimitedTlsConnection, cut
from asoreconcile.fencing import Fence, FencedConnection
from asoreconcile.kube.cluster import ClusterConfig, KubeConfigError
from asoreconcile.redaction import know

# Workers of all controllers share it; connections beyond it are closed after use.
_POOL = 64

# A peer that vanished is noticed by the kernel, even on a quiet watch.
_KEEPALIVE = [
    *HTTPConnection.default_socket_options,
    (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),
    *(
        (socket.IPPROTO_TCP, getattr(socket, name), value)
        for name, value in (
            ("TCP_KEEPIDLE", 15),
            ("TCP_KEEPINTVL", 5),
            ("TCP_KEEPCNT", 3),
            ("TCP_USER_TIMEOUT", 30_000),  # of probes as of requests, in ms
        )
        if hasattr(socket, name)
    ),
]


class Connections:
    """A pool of connections, and the sockets that are open. Safe from any thread."""

    def __init__(self, config: ClusterConfig, *, before_write: Fence | None) -> None:
        """before_write: see `KubeClient`."""
        self._lock = threading.Lock()
        self._before_write = before_write
        self._open: weakref.WeakSet[socket.socket] = weakref.WeakSet()
        self._closed = False
        self._refresh = config.refresh_certificates
        self._of_certificates = config.generation
        self._renewals = 0
        self.pool = self._pool(config)

    def close(self) -> None:
        """Cut every connection, idle or not, and those about to open. Idempotent."""
        with self._lock:
            self._closed = True
            sockets = list(self._open)
        for one in sockets:
            cut(one)
        self.pool.close()

    def renew(self) -> None:
        """Use no connection of now for a further request; what is under way goes on."""
        with self._lock:
            self._renewals += 1

    def _generation(self) -> tuple[int, int]:
        return self._renewals, self._of_certificates()

    def _opened(self, connected: socket.socket) -> None:
        with self._lock:
            self._open.add(connected)
            closed = self._closed
        if closed:
            cut(connected)

    def _pool(self, config: ClusterConfig) -> urllib3.HTTPConnectionPool:
        options: dict[str, Any] = {
            "maxsize": _POOL,
            "socket_options": _KEEPALIVE,
        }
        if config.ssl_context is not None:
            options["ssl_context"] = config.ssl_context
            options["server_hostname"] = config.server_name
        pool = _manager(config, options).connection_from_url(config.url)
        secure = urlsplit(config.url).scheme == "https"
        if config.proxy_url and not secure:
            # It is the proxy's host, which gets the cluster's name in each request.
            pool.is_same_host = lambda url: True  # type: ignore[method-assign]  # noqa: ARG005 - its name is urllib3's
        pool.ConnectionCls = _TlsConnection if secure else _PlainConnection
        pool.conn_kw["hooks"] = _Hooks(
            self._refresh, self._generation, self._opened, self._before_write
        )
        return pool


@attrs.frozen
class _Hooks:
    """What is called before a connection opens, and after; what may hold a request
    back; and the number that a connection must have been opened under.
    """

    before: Callable[[], None]
    generation: Callable[[], object]
    after: Callable[[socket.socket], None]
    fence: Fence | None


class _Hooked(FencedConnection):
    """Tells of its socket, and keeps it in reach while an answer is read from it."""

    sock: socket.socket

    def __init__(self, *args: Any, hooks: _Hooks, **options: Any) -> None:
        super().__init__(*args, **options)
        self._hooks = hooks
        self._generation: object = None
        self.open_socket: socket.socket | None = None

    def connect(self) -> None:
        self._hooks.before()
        # Before the handshake: a certificate that changes during it makes this an old
        # one.
        self._generation = self._hooks.generation()
        super().connect()  # type: ignore[misc]  # the connection's, beside this class
        # urllib3 forgets `sock` once an answer is the connection's last: it must be in
        # reach for whoever closes.
        self.open_socket = self.sock
        self._hooks.after(self.sock)

    @property
    def is_connected(self) -> bool:
        """Asked of a connection from the pool; one that is not is opened again."""
        current = self._generation == self._hooks.generation()
        return current and super().is_connected  # type: ignore[misc]  # as above

    def fence(self, method: str) -> Fence | None:  # noqa: ARG002 - all writes are alike
        return self._hooks.fence


# urllib3 wants a class of its own for each.
class _PlainConnection(_Hooked, LimitedConnection): ...


class _TlsConnection(_Hooked, LimitedTlsConnection): ...


def socket_of(answer: urllib3.BaseHTTPResponse) -> socket.socket | None:
    """The socket an answer is read from, also when it is the connection's last."""
    found = getattr(answer.connection, "open_socket", None)
    return found if isinstance(found, socket.socket) else None


def _manager(config: ClusterConfig, options: dict[str, Any]) -> urllib3.PoolManager:
    if not config.proxy_url:
        return urllib3.PoolManager(**options)
    try:
        proxy = urllib3.util.parse_url(config.proxy_url)
        return urllib3.ProxyManager(
            proxy._replace(auth=None).url, proxy_headers=_login(proxy.auth), **options
        )
    except urllib3.exceptions.LocationParseError:
        # Whose text is the whole URL, with what it holds.
        raise KubeConfigError("the cluster's proxy-url is no URL") from None
    except urllib3.exceptions.HTTPError as error:
        raise KubeConfigError(f"the cluster's proxy-url: {error}") from error


def _login(auth: str | None) -> dict[str, str]:
    """The header for `user:password` of a URL."""
    if not auth:
        return {}
    login = base64.b64encode(unquote_to_bytes(auth)).decode()
    know(login)
    return {"Proxy-Authorization": f"Basic {login}"}
