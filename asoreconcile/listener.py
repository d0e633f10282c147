"""A small HTTP/1.1 server: for probes, for scrapers, and for the API server's webhooks.

A thread for each connection, which serves one request after the other. Everything a
client may take of us is bounded: connections, time, headers, bodies. Rule: MG-9.
"""

import io
import socket
import socketserver
import ssl
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler
from typing import Any

import attrs

from asoreconcile.errors import AsoError
from asoreconcile.log import Logger

_log = Logger(__name__)

READ_SECONDS = 32.0
_IDLE_SECONDS = 90.0
_HANDSHAKE_SECONDS = 10.0
_LINGER_SECONDS = 2.0
_HEAD_BYTES = 1 << 20
_MAX_CONNECTIONS = 512

PLAIN = "text/plain; charset=utf-8"


class ListenError(AsoError):
    """The address cannot be used."""


@attrs.frozen
class Request:
    """One request. target: path and query. headers: names in lower case.

    body: whole, or empty where `too_long` says that it is longer than is taken here.
    """

    method: str
    target: str
    headers: Mapping[str, str] = attrs.field(repr=False)
    body: bytes = attrs.field(default=b"", repr=False)
    too_long: bool = False


@attrs.frozen
class Response:
    """One answer."""

    status: int
    body: bytes = attrs.field(default=b"", repr=False)
    content_type: str = PLAIN


Answer = Callable[[Request], Response]
"""Called on a connection's thread; what it raises is logged and answered as a 500."""


class Listener:
    """Answers on one address, from `start` to `stop`. Safe from any thread."""

    def __init__(
        self,
        address: str,
        answer: Answer,
        *,
        methods: tuple[str, ...] = ("GET", "HEAD"),
        tls: Callable[[], ssl.SSLContext] | None = None,
        max_body_bytes: Callable[[str], int] = lambda _: 0,
        read_seconds: float = READ_SECONDS,
        max_connections: int = _MAX_CONNECTIONS,
    ) -> None:
        """address: `:8081` (every address of the machine), `127.0.0.1:0` (any free
        port), `[::1]:8081`. Raises ListenError if it is none of these.

        tls: the context to greet the next connection with; None is plain HTTP.
        max_body_bytes: of a request for a target.
        read_seconds: for a whole request, from its first byte.
        max_connections: a further one takes the place of one that is idle, or is
        closed at once.
        """
        self.address = address
        self._host, self._port = _parse(address)
        self.answer = answer
        self.methods = methods
        self.tls = tls
        self.max_body_bytes = max_body_bytes
        self.read_seconds = read_seconds
        self.connections = _Connections(max_connections)
        self._server: _Server | None = None

    @property
    def port(self) -> int:
        """Where it listens; 0 while it does not."""
        return int(self._server.server_address[1]) if self._server else 0

    @property
    def reachable_at(self) -> tuple[str, int]:
        """Where this machine's own clients reach it while it listens."""
        return (self._host or "localhost", self.port)

    def start(self) -> None:
        """Listen, and answer on threads. Raises ListenError if it cannot."""
        try:
            self._server = _Server(self._host, self._port, self)
        except OSError as error:
            raise ListenError(f"cannot listen on {self.address}: {error}") from error
        threading.Thread(
            target=self._server.serve, name=f"listener {self.address}", daemon=True
        ).start()

    def stop(self, timeout_seconds: float) -> int:
        """Stop listening, end idle connections, and wait for answers under way.

        Returns the number of those that were not finished in time.
        """
        server, self._server = self._server, None
        if server is not None:
            server.close()
        return self.connections.close(timeout_seconds)


class _Connections:
    """The open connections, and which of them stand in a request."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._changed = threading.Condition()
        self._busy: dict[socket.socket, bool] = {}
        self._closing = False

    def add(self, connection: socket.socket) -> bool:
        """Count one in; False if there is no place, not even that of an idle one."""
        with self._changed:
            if self._closing:
                return False
            if len(self._busy) >= self._most and not self._drop_idle():
                return False
            self._busy[connection] = False
            return True

    def remove(self, connection: socket.socket) -> None:
        with self._changed:
            self._busy.pop(connection, None)
            self._changed.notify_all()

    @contextmanager
    def answering(self, connection: socket.socket) -> Iterator[None]:
        """Raises ConnectionError if it was dropped meanwhile."""
        with self._changed:
            if connection not in self._busy:
                raise ConnectionError("dropped for another")
            self._busy[connection] = True
        try:
            yield
        finally:
            with self._changed:
                self._busy[connection] = False
                self._changed.notify_all()

    @property
    def closing(self) -> bool:
        return self._closing

    def close(self, timeout_seconds: float) -> int:
        with self._changed:
            self._closing = True
            for connection, busy in self._busy.items():
                if not busy:
                    with suppress(OSError):
                        connection.shutdown(socket.SHUT_RDWR)
            self._changed.wait_for(self._none_busy, timeout_seconds)
            return sum(self._busy.values())

    def _drop_idle(self) -> bool:
        """The oldest of those that ask nothing: who only holds places keeps none."""
        for connection, busy in self._busy.items():
            if not busy:
                with suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)
                del self._busy[connection]
                return True
        return False

    def _none_busy(self) -> bool:
        return not any(self._busy.values())


class _Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True
    block_on_close = False
    request_queue_size = 128

    def __init__(self, host: str, port: int, listener: Listener) -> None:
        # Without a host, at the addresses of both families: pods may have only one.
        self._both = not host and socket.has_dualstack_ipv6()
        six = self._both or ":" in host
        self.address_family = socket.AF_INET6 if six else socket.AF_INET
        self.listener = listener
        super().__init__((host, port), socketserver.BaseRequestHandler)

    def server_bind(self) -> None:
        if self._both:
            self.socket.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        super().server_bind()

    def serve(self) -> None:
        """Accept until the socket is closed; `serve_forever` would poll."""
        while True:
            try:
                connection, client = self.socket.accept()
            except OSError:
                return
            if self.listener.connections.add(connection):
                self.process_request(connection, client)
            else:
                connection.close()

    def close(self) -> None:
        """Stop accepting: a plain close would not wake the thread in `accept`."""
        with suppress(OSError):
            self.socket.shutdown(socket.SHUT_RDWR)
        self.server_close()

    def finish_request(self, request: Any, client_address: Any) -> None:
        """On the connection's thread."""
        try:
            served = self._greeted(request)
            # The counted socket is the raw one: it can be shut down from anywhere.
            with served:
                _Handler(served, client_address, self, request)
        finally:
            self.listener.connections.remove(request)

    def _greeted(self, connection: socket.socket) -> socket.socket:
        """The connection itself, or TLS on a duplicate of it."""
        if self.listener.tls is None:
            return connection.dup()
        connection.settimeout(_HANDSHAKE_SECONDS)
        return self.listener.tls().wrap_socket(connection.dup(), server_side=True)

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ARG002 - the base class's
        _log.info("Connection broke", error=repr(sys.exc_info()[1]))


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server_version = "asoreconcile"
    sys_version = ""
    server: _Server

    def __init__(
        self, connection: Any, client: Any, server: _Server, counted: socket.socket
    ) -> None:
        self._counted = counted
        self._unread = False
        self._listener = server.listener
        super().__init__(connection, client, server)

    def setup(self) -> None:
        super().setup()
        self._input = _Limited(self.connection)
        self.rfile = self._reader = io.BufferedReader(self._input)

    def handle_one_request(self) -> None:
        """Wait for a request, read it whole, answer it."""
        self._input.allow(_IDLE_SECONDS, _HEAD_BYTES)
        self.close_connection = True
        if not self._comes_another():
            return
        with self._listener.connections.answering(self._counted):
            listener = self._listener
            self._input.allow(listener.read_seconds, _HEAD_BYTES)
            self.raw_requestline = self.rfile.readline(_HEAD_BYTES)
            if not self.parse_request():
                return
            request = self._request()
            if request is not None:
                self._respond(_answered(listener.answer, request))

    def _comes_another(self) -> bool:
        try:
            return bool(self._reader.peek(1))
        except TimeoutError:
            return False

    def _request(self) -> Request | None:
        """The request; None if it was refused."""
        headers = {name.lower(): value for name, value in self.headers.items()}
        if self.command not in self._listener.methods:
            self._refuse(405)
            return None
        if "transfer-encoding" in headers:
            self._refuse(411)
            return None
        length = headers.get("content-length", "0")
        if not length.isdecimal():
            self._refuse(400)
            return None
        size_bytes = int(length)
        if size_bytes > self._listener.max_body_bytes(self.path):
            self._leave_unread()
            return Request(self.command, self.path, headers, too_long=True)
        self._input.admit(size_bytes)
        body = self.rfile.read(size_bytes)
        if len(body) < size_bytes:
            self.close_connection = True
            return None
        return Request(self.command, self.path, headers, body)

    def _respond(self, response: Response) -> None:
        if self._listener.connections.closing:
            self.close_connection = True
        self.send_response(response.status)
        self.send_header("Content-Type", response.content_type)
        self.send_header("Content-Length", str(len(response.body)))
        self.send_header("X-Content-Type-Options", "nosniff")
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(response.body)

    def _leave_unread(self) -> None:
        """What follows is no head of a next request."""
        self.close_connection = self._unread = True

    def finish(self) -> None:
        super().finish()
        if self._unread:
            self._linger()

    def _linger(self) -> None:
        """Take what a client still sends: a close would cut the answer off, too."""
        deadline = time.monotonic() + _LINGER_SECONDS
        with suppress(OSError):
            self._counted.shutdown(socket.SHUT_WR)
            self._counted.settimeout(_LINGER_SECONDS)
            while self._counted.recv(1 << 16) and time.monotonic() < deadline:
                pass

    def _refuse(self, status: int) -> None:
        self._leave_unread()
        phrase = self.responses[status][0]
        self._respond(Response(status, f"{phrase}\n".encode()))

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class's
        _log.debug("Request answered", request=format % args)


class _Limited(io.RawIOBase):
    """A connection's bytes, up to a number of them and a moment."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._deadline = 0.0
        self._left = 0

    def allow(self, seconds: float, size_bytes: int) -> None:
        """From now on so much, for so long."""
        self._deadline = time.monotonic() + seconds
        self._left = size_bytes

    def admit(self, size_bytes: int) -> None:
        """So much more, in the time there is."""
        self._left += size_bytes

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        remaining = self._deadline - time.monotonic()
        if remaining <= 0 or self._left <= 0:
            raise TimeoutError("request is too slow or too long")
        self._connection.settimeout(remaining)
        count = self._connection.recv_into(buffer)
        self._left -= count
        return count


def _answered(answer: Answer, request: Request) -> Response:
    try:
        return answer(request)
    except Exception:  # noqa: BLE001 - one request's failure stays its own
        _log.exception("Request failed", method=request.method)
        return Response(500, b"internal error\n")


def _parse(address: str) -> tuple[str, int]:
    host, colon, port = address.rpartition(":")
    if not colon or not port.isdecimal() or int(port) > 65535:
        raise ListenError(f"{address!r} is no address: write host:port or :port")
    return host.strip("[]"), int(port)
