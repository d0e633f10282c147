"""The connections to one API server: pooled, and cut by whoever closes them.

urllib3's pool closes only the connections that lie idle. A thread that waits for an
answer would wait on, so each socket is noted when it opens and shut down at the end
(RF-13, TH-9: a plain close would not wake a blocked reader).
"""

import socket
import threading
import weakref
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

import urllib3
from urllib3.connection import HTTPConnection

from asoreconcile.call_limit import LimitedConnection, LimitedTlsConnection, cut
from asoreconcile.fencing import Fence, FencedConnection
from asoreconcile.kube.cluster import ClusterConfig, KubeConfigError

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
        self.pool = self._pool(config)

    def close(self) -> None:
        """Cut every connection, idle or not, and those about to open. Idempotent."""
        with self._lock:
            self._closed = True
            sockets = list(self._open)
        for one in sockets:
            cut(one)
        self.pool.close()

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
        pool.ConnectionCls = _TlsConnection if secure else _PlainConnection
        pool.conn_kw["hooks"] = (self._refresh, self._opened, self._before_write)
        return pool


# Before a connection opens, after, and what may hold a request back.
_Hooks = tuple[Callable[[], None], Callable[[socket.socket], None], Fence | None]


class _Hooked(FencedConnection):
    """Tells of its socket, and keeps it in reach while an answer is read from it."""

    sock: socket.socket

    def __init__(self, *args: Any, hooks: _Hooks, **options: Any) -> None:
        super().__init__(*args, **options)
        self._before, self._after, self._fence = hooks
        self.open_socket: socket.socket | None = None

    def connect(self) -> None:
        self._before()
        super().connect()  # type: ignore[misc]  # the connection's, beside this class
        self.open_socket = self.sock
        self._after(self.sock)

    def fence(self, method: str) -> Fence | None:  # noqa: ARG002 - all writes are alike
        return self._fence


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
        return urllib3.ProxyManager(config.proxy_url, **options)
    except urllib3.exceptions.HTTPError as error:
        raise KubeConfigError(f"the cluster's proxy-url: {error}") from error
