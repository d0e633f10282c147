"""The transport to one API server: whole responses, and streams that can be closed.

It uses libcurl (`asoreconcile.wire`), without retries or redirects; HTTP/1.1, and
HTTP/2 for streams that a loop receives.
Every wait has a deadline, and ends at once when another thread closes (RF-13, TH-9).
"""

import socket
import threading
from collections.abc import Callable, Mapping
from urllib.parse import urlsplit

from asoreconcile.base.call_limit import Call, limited
from asoreconcile.base.clock import Clock
from asoreconcile.base.fencing import Fence
from asoreconcile.base.threads import Threads
from asoreconcile.kube.answer_stream import PLAIN, Stream, check_plain, wire_failure
from asoreconcile.kube.cluster import ClusterConfig, KubeConfigError
from asoreconcile.kube.errors import TransportError
from asoreconcile.redaction import register
from asoreconcile.wire.destination import Destination, Proxy
from asoreconcile.wire.errors import WireError
from asoreconcile.wire.handle import Patience
from asoreconcile.wire.loop import StreamLoop
from asoreconcile.wire.loop_stream import StreamLimits
from asoreconcile.wire.pool import HandlePool
from asoreconcile.wire.request import WireAnswer, WireRequest
from asoreconcile.wire.trust import TlsTrust

CONNECT_SECONDS = 10.0
READ_SECONDS = 60.0
# Servers send the head of a watch at once: after this time the server hangs.
HEAD_SECONDS = 30.0
# Enough for a page of a list, or all CRDs at once; more would not fit in memory.
MAX_BODY_BYTES = 256 << 20

# TCP keepalive: the kernel detects a vanished peer, even on a quiet watch.
_KEEPALIVE = [
    (socket.IPPROTO_TCP, socket.TCP_NODELAY, 1),
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

ApiResponse = WireAnswer
"""A whole response; header names in lower case."""


class Transport:
    """Requests to one API server. Safe from any thread; share it."""

    def __init__(
        self,
        config: ClusterConfig,
        *,
        user_agent: str,
        read_seconds: float = READ_SECONDS,
        before_write: Fence | None = None,
        clock: Clock | None = None,
    ) -> None:
        """read_seconds, before_write: arguments of `KubeClient`. clock: argument of
        `HandlePool`.

        Raises KubeConfigError.
        """
        parts = urlsplit(config.url)
        self.host = parts.netloc.rpartition("@")[2]
        self._prefix = parts.path.rstrip("/")
        self._authorization = config.authorization
        self._renew = config.renew
        self._generation = config.generation
        self._impersonation = config.impersonation
        self._asked_as = threading.local()  # the credential of a thread's last request
        self._user_agent = user_agent
        self._read_seconds = read_seconds
        self._patience = Patience(connect=CONNECT_SECONDS, silence=read_seconds)
        self._destination = _destination(config)
        self._trust: Callable[[], TlsTrust | None] = config.trust or (lambda: None)
        self._loops_lock = threading.Lock()
        self._loops: list[StreamLoop] = []
        self._is_closed = False
        self._pool = HandlePool(
            self._destination,
            trust=self._trust,
            generation=config.generation,
            socket_options=_KEEPALIVE,
            accept_encoding="",
            fence=before_write,
            clock=clock,
        )

    def send(
        self,
        method: str,
        target: str,
        *,
        headers: Mapping[str, str],
        body: bytes | None = None,
        call: Call | None = None,
    ) -> ApiResponse:
        """Send one request and read its response. Blocks, with a limit. Raises
        TransportError.

        target: path and query. call: the caller's limit, shared by its retries
        (`limited`); None makes one from the transport's own timeout. The reconcile's
        deadline shortens it: raises DeadlineError, with nothing sent, if no time is
        left, and StoppedError if a stop cancelled it or the transport is closed.
        """
        if call is not None:
            request, _ = self._request(method, target, headers, body)
            answer = self._exchange(request, call)
        else:
            with limited(self._read_seconds, is_read=method == "GET") as own:
                request, _ = self._request(method, target, headers, body)
                answer = self._exchange(request, own)
        check_plain(f"{method} {self.host}", answer.headers)
        return answer

    def _exchange(self, request: WireRequest, call: Call) -> WireAnswer:
        try:
            return self._pool.exchange(
                request, call=call, patience=self._patience, max_bytes=MAX_BODY_BYTES
            )
        except WireError as error:
            raise wire_failure(f"{request.method} {self.host}", error) from error

    def loop(self, threads: Threads) -> StreamLoop:
        """Return the thread that receives streams; started with the first stream, ended
        by `close`.

        Raises StoppedError once closed.
        """
        loop = StreamLoop(
            self._destination,
            trust=self._trust,
            generation=self._generation,
            socket_options=_KEEPALIVE,
            threads=threads,
            name="watches",
        )
        with self._loops_lock:
            self._loops.append(loop)
            is_closed = self._is_closed
        if is_closed:
            loop.close()
        return loop

    def begin(
        self,
        loop: StreamLoop,
        target: str,
        *,
        headers: Mapping[str, str],
        read_seconds: float,
        whole_seconds: float | None,
        on_news: Callable[[], None],
    ) -> Stream:
        """Send a request, and return its response without waiting for the head
        (`Stream.is_answered`).

        on_news: function called, on any thread, when there may be more to read.
        """
        request, asked_as = self._request("GET", target, headers, None)
        limits = StreamLimits(
            connect=CONNECT_SECONDS,
            head=self._head_seconds(read_seconds, whole_seconds),
            silence=read_seconds,
            body=whole_seconds,
        )
        try:
            opened = loop.open(request, limits, on_news=on_news)
        except WireError as error:
            raise wire_failure(f"GET {self.host}", error) from error
        return Stream(opened, asked_as, host=self.host)

    def renew_credential(self, refused: object = None) -> bool:
        """Renew a refused credential, by default that of this thread's last request;
        returns whether there is a new one. Another thread may have renewed it already.
        Raises KubeCredentialError.
        """
        if refused is None:
            refused = getattr(self._asked_as, "credential", None)
        if self._credential() != refused:
            return True
        self._renew()
        return self._credential() != refused

    def renew_connections(self) -> None:
        """Send no further requests over the connections open now."""
        self._pool.renew()
        with self._loops_lock:
            loops = list(self._loops)
        for loop in loops:
            loop.renew()

    def close(self) -> None:
        """Close all connections: pending calls raise TransportError, later ones
        StoppedError.
        """
        with self._loops_lock:
            self._is_closed = True
            loops = list(self._loops)
        self._pool.close()
        for loop in loops:
            loop.close()

    def _head_seconds(self, read_seconds: float, whole_seconds: float | None) -> float:
        head_seconds = HEAD_SECONDS if whole_seconds is None else self._read_seconds
        return min(read_seconds, self._read_seconds, head_seconds)

    def _credential(self) -> tuple[str, int]:
        """Return the Authorization header, and the certificate's generation."""
        return self._authorization(), self._generation()

    def _request(
        self, method: str, target: str, headers: Mapping[str, str], body: bytes | None
    ) -> tuple[WireRequest, object]:
        """Return the request and its credential. Raises TransportError for an invalid
        request.
        """
        credential = authorization, _ = self._credential()
        self._asked_as.credential = credential
        # The server is near: decompression would cost more than the bytes it saves.
        sent = [
            ("User-Agent", self._user_agent),
            ("Accept-Encoding", PLAIN),
            *headers.items(),
        ]
        if authorization:
            register(authorization.rpartition(" ")[2])
            sent.append(("Authorization", authorization))
        sent += self._impersonation
        try:
            path = self._prefix + target
            return WireRequest(method, path, tuple(sent), body), credential
        except ValueError as error:
            raise TransportError(f"{method} {self.host}: not sent: {error}") from error


def _destination(config: ClusterConfig) -> Destination:
    """Return the address of the API server. Raises KubeConfigError, which does not
    quote the URL, because it may contain a password.
    """
    what = "proxy-url"
    try:
        proxy = Proxy.of(config.proxy_url) if config.proxy_url else None
        what = "server"
        return Destination.of(
            config.url, server_name=config.server_name or "", proxy=proxy
        )
    except ValueError as error:
        raise KubeConfigError(f"the cluster's {what}: {error}") from None
