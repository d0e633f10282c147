"""Bytes to and from one API server: a pool of connections, and streams to cut off.

urllib3 over one SSLContext, HTTP/1.1, no retries and no redirects of its own. Every
wait has a deadline; a stream that another thread closes ends at once, because its
socket is shut down under it (RF-13: a plain close would leave the reader blocked).
"""

import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import suppress
from urllib.parse import urlsplit

import attrs
import urllib3
from urllib3.connection import HTTPConnection

from asoreconcile.kube.config import ClusterConfig
from asoreconcile.kube.errors import TransportError

CONNECT_SECONDS = 10.0
READ_SECONDS = 60.0
_POOL = 64
_CHUNK_BYTES = 1 << 16
_MAX_LINE_BYTES = 16 << 20

# A peer that vanished is noticed by the kernel, even on a quiet watch.
_KEEPALIVE = [
    *HTTPConnection.default_socket_options,
    (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),
    *(
        (socket.IPPROTO_TCP, getattr(socket, name), value)
        for name, value in (
            ("TCP_KEEPIDLE", 30),
            ("TCP_KEEPINTVL", 15),
            ("TCP_KEEPCNT", 4),
        )
        if hasattr(socket, name)
    ),
]


@attrs.frozen
class Response:
    """A whole answer; header names in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes = attrs.field(repr=False)


class Transport:
    """Requests to one API server. Safe from any thread; share it."""

    def __init__(self, config: ClusterConfig, *, user_agent: str) -> None:
        parts = urlsplit(config.url)
        self.host = parts.netloc
        self._prefix = parts.path.rstrip("/")
        self._authorization = config.authorization
        self._user_agent = user_agent
        self._pool = _pool(config)

    def send(
        self,
        method: str,
        target: str,
        *,
        headers: Mapping[str, str],
        body: bytes | None = None,
        read_seconds: float = READ_SECONDS,
    ) -> Response:
        """One request, one answer. Blocks, with deadlines. Raises TransportError.

        target: path and query.
        """
        try:
            answer = self._pool.request(
                method,
                self._prefix + target,
                body=body,
                headers=self._headers(headers),
                timeout=urllib3.Timeout(connect=CONNECT_SECONDS, read=read_seconds),
                retries=False,
                redirect=False,
            )
        except (urllib3.exceptions.HTTPError, OSError) as error:
            raise TransportError(f"{method} {self.host}: {error}") from error
        return Response(answer.status, _lower(answer.headers), answer.data)

    def stream(
        self, target: str, *, headers: Mapping[str, str], read_seconds: float
    ) -> "Stream":
        """Open an answer to be read line by line. Raises TransportError.

        read_seconds: the longest silence between two pieces of the answer.
        """
        try:
            answer = self._pool.request(
                "GET",
                self._prefix + target,
                headers=self._headers(headers),
                timeout=urllib3.Timeout(connect=CONNECT_SECONDS, read=read_seconds),
                retries=False,
                redirect=False,
                preload_content=False,
            )
        except (urllib3.exceptions.HTTPError, OSError) as error:
            raise TransportError(f"GET {self.host}: {error}") from error
        return Stream(answer)

    def close(self) -> None:
        """Close idle connections; those in use close with their answers."""
        self._pool.close()

    def _headers(self, headers: Mapping[str, str]) -> dict[str, str]:
        sent = {"User-Agent": self._user_agent, **headers}
        if authorization := self._authorization():
            sent["Authorization"] = authorization
        return sent


class Stream:
    """An answer being read. One thread iterates; any thread may close."""

    def __init__(self, answer: urllib3.BaseHTTPResponse) -> None:
        self.status = answer.status
        self.headers = _lower(answer.headers)
        self._answer = answer
        self._lock = threading.Lock()
        self._closed = threading.Event()
        self._reading = False
        self._socket = _socket_of(answer)

    def lines(self) -> Iterator[bytes]:
        """The answer's lines. Ends with the answer, or when closed.

        Raises TransportError when the connection breaks, falls silent or stops inside
        a line.
        """
        with self._lock:
            if self._closed.is_set():
                return
            self._reading = True
        try:
            yield from self._lines()
        finally:
            with self._lock:
                self._reading = False
            self.close()

    def _lines(self) -> Iterator[bytes]:
        rest = b""
        try:
            for chunk in self._answer.stream(_CHUNK_BYTES, decode_content=False):
                *whole, rest = (rest + chunk).split(b"\n")
                yield from whole
                if len(rest) > _MAX_LINE_BYTES:
                    raise TransportError("a line of the answer is too long")
        except (urllib3.exceptions.HTTPError, OSError, ValueError) as error:
            if self._closed.is_set():
                return
            raise TransportError(f"the stream broke: {error}") from error
        if rest and not self._closed.is_set():
            raise TransportError("the stream ended inside a line")

    def read(self) -> bytes:
        """The whole rest, for an answer that refuses."""
        try:
            return self._answer.read(_MAX_LINE_BYTES, decode_content=False)
        except (urllib3.exceptions.HTTPError, OSError) as error:
            raise TransportError(f"the answer broke: {error}") from error

    def close(self) -> None:
        """End the stream; a reader blocked in it wakes up. Idempotent."""
        with self._lock:
            self._closed.set()
            if self._socket is not None:
                with suppress(OSError):
                    self._socket.shutdown(socket.SHUT_RDWR)
            if not self._reading:
                # Not under a reader: urllib3's answers are for one thread.
                with suppress(OSError, ValueError, urllib3.exceptions.HTTPError):
                    self._answer.close()


def _pool(config: ClusterConfig) -> urllib3.HTTPConnectionPool:
    parts = urlsplit(config.url)
    host, port = parts.hostname or "", parts.port
    if config.ssl_context is None:
        return urllib3.HTTPConnectionPool(
            host, port or 80, maxsize=_POOL, socket_options=_KEEPALIVE
        )
    return urllib3.HTTPSConnectionPool(
        host,
        port or 443,
        maxsize=_POOL,
        socket_options=_KEEPALIVE,
        ssl_context=config.ssl_context,
        server_hostname=config.server_name,
    )


def _socket_of(answer: urllib3.BaseHTTPResponse) -> socket.socket | None:
    connection = answer.connection
    found = getattr(connection, "sock", None)
    return found if isinstance(found, socket.socket) else None


def _lower(headers: Mapping[str, str]) -> dict[str, str]:
    return {name.lower(): value for name, value in headers.items()}
