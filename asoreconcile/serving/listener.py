"""A small HTTP/1.1 server for probes, scrapers, and the API server's webhook calls.

Each connection has a thread (`connection_handler`), which serves one request after the
other. Everything a client may use is limited. Rule: MG-9.
"""

import errno
import socket
import socketserver
import ssl
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from asoreconcile.base.backoff import Pauses
from asoreconcile.base.errors import AsoreconcileError
from asoreconcile.base.log import Logger
from asoreconcile.serving.connection_handler import (
    HEAD_BYTES,
    READ_SECONDS,
    ConnectionHandler,
    ServerLimits,
)
from asoreconcile.serving.connection_limiter import MEMORY_BYTES, ConnectionLimiter
from asoreconcile.serving.messages import HeadCheck, RequestHandler

_log = Logger(__name__)

OFF = ("", "0")
"""Addresses that disable a server."""

_HANDSHAKE_SECONDS = 10.0
_MAX_CONNECTIONS = 512
# For probes: slow clients that fill the port must not cause a restart of the pod.
_RESERVE = 16
# As Go's servers: while no descriptor or thread is to be had, each try costs next to
# nothing, and the first one often succeeds.
_FIRST_PAUSE_SECONDS = 0.005
_LAST_PAUSE_SECONDS = 1.0
# The listening socket itself is of no more use.
_GONE = (errno.EBADF, errno.EINVAL, errno.ENOTSOCK)


class ListenError(AsoreconcileError):
    """An address that is invalid, in use or not permitted; the message says which."""


class Listener:
    """Serves HTTP on one address, from `start` to `stop`. Safe from any thread."""

    def __init__(
        self,
        address: str,
        answer: RequestHandler,
        *,
        methods: tuple[str, ...] = ("GET", "HEAD"),
        tls: Callable[[], ssl.SSLContext] | None = None,
        max_body_bytes: Callable[[str], int] = lambda _: 0,
        read_seconds: float = READ_SECONDS,
        max_connections: int = _MAX_CONNECTIONS,
        memory_bytes: int = MEMORY_BYTES,
        is_urgent: Callable[[str], bool] = lambda _: False,
        head_bytes: int = HEAD_BYTES,
        check_head: HeadCheck = lambda _: None,
    ) -> None:
        """address: `:8081` (every address of the machine), `127.0.0.1:0` (any free
        port), `[::1]:8081`; "0" and "" never listen. Raises ListenError for any other
        address.

        tls: returns the context for the next TLS handshake; None for plain HTTP.
        max_body_bytes: limit of a request for a target.
        read_seconds: limit of a whole request, from its first byte.
        max_connections: a further one takes the place of one that has not asked
        anything yet, is idle, or is slow with its body or its answer, in this order; a
        further request is answered with a 503. One address gets three quarters of the
        places at most.
        memory_bytes: limit of all long bodies and their answers; a body without room is
        read only after others have ended. is_urgent: returns whether a target is served
        from a reserve if all places are taken.
        head_bytes: limit of a head. check_head: returns the answer to a request that is
        refused by its head; its body is not read.
        """
        self.address = address
        self.is_off = address in OFF
        self._host, self._port = ("", 0) if self.is_off else _parse(address)
        self._limits = ServerLimits(
            answer,
            methods,
            max_body_bytes,
            read_seconds,
            is_urgent,
            head_bytes,
            check_head,
        )
        self._tls = tls
        self._limiter = ConnectionLimiter(
            max_connections, reserve=_RESERVE, memory_bytes=memory_bytes
        )
        self._server: _Server | None = None

    @property
    def port(self) -> int:
        """The port it listens on; 0 while it does not listen."""
        return int(self._server.server_address[1]) if self._server else 0

    @property
    def reachable_at(self) -> tuple[str, int]:
        """The host and port for clients on this machine."""
        return (self._host or "localhost", self.port)

    def start(self) -> None:
        """Listen, and answer on threads. Raises ListenError if it cannot."""
        if self.is_off:
            return
        try:
            self._server = _Server(
                (self._host, self._port), self._limits, self._limiter, tls=self._tls
            )
            threading.Thread(
                target=self._server.serve, name=f"listener {self.address}", daemon=True
            ).start()
        except (OSError, RuntimeError) as error:
            if self._server is not None:
                self._server.close()
                self._server = None
            raise ListenError(f"cannot listen on {self.address}: {error}") from error

    def lost(self) -> str:
        """Return why listening ended without `stop`, or "". Does not block."""
        server = self._server
        return server.lost if server is not None else ""

    def drain(self) -> None:
        """Answer on, but close each connection after its response, so that clients
        connect again, and are led elsewhere. Does not block.
        """
        self._limiter.drain()

    def stop(self, timeout_seconds: float) -> int:
        """Stop listening, close idle connections, and wait for responses in progress.

        Returns the number of those that were not finished in time.
        """
        server, self._server = self._server, None
        if server is not None:
            server.close()
        return self._limiter.close(timeout_seconds)


class _Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True
    # The limiter waits for answers, and within a time; this would wait for all threads.
    block_on_close = False
    # The library's 5 would refuse an API server that opens many at once.
    request_queue_size = 128

    def __init__(
        self,
        address: tuple[str, int],
        limits: ServerLimits,
        limiter: ConnectionLimiter,
        *,
        tls: Callable[[], ssl.SSLContext] | None,
    ) -> None:
        host, _ = address
        # Without a host, at the addresses of both families: pods may have only one.
        self._both = not host and socket.has_dualstack_ipv6()
        six = self._both or ":" in host
        self.address_family = socket.AF_INET6 if six else socket.AF_INET
        self._limits = limits
        self._limiter = limiter
        self._tls = tls
        self._closed = threading.Event()
        self.lost = ""
        super().__init__(address, socketserver.BaseRequestHandler)

    def server_bind(self) -> None:
        if self._both:
            self.socket.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        super().server_bind()

    def serve(self) -> None:
        """Accept until closed; `serve_forever` would poll.

        If the machine is short of descriptors, memory or threads, it pauses and then
        goes on.
        """
        pauses, is_failing = Pauses(_FIRST_PAUSE_SECONDS, _LAST_PAUSE_SECONDS), False
        while not self._closed.is_set():
            try:
                self._accept_one()
            except Exception as error:  # noqa: BLE001 - nobody else would accept again
                if self._closed.is_set():
                    return
                if isinstance(error, OSError) and error.errno in _GONE:
                    _log.exception("Listener is gone", address=self.server_address)
                    self.lost = f"{type(error).__name__}: {error}"
                    return
                if not is_failing:
                    _log.warning("Connection not accepted", error=repr(error))
                is_failing = True
                # Its descriptor and thread may be what is missing.
                self._limiter.drop()
                self._closed.wait(pauses.next())
            else:
                is_failing = False
                pauses.reset()

    def _accept_one(self) -> None:
        """Accept one connection, and close it again if it cannot be served.

        Raises the error that prevented serving.
        """
        connection, client = self.socket.accept()
        if not self._limiter.add(connection, str(client[0])):
            connection.close()
            return
        try:
            self.process_request(connection, client)
        except BaseException:
            self._limiter.remove(connection)
            connection.close()
            raise

    def close(self) -> None:
        """Stop accepting: a plain close would not wake the thread in `accept`."""
        self._closed.set()
        with suppress(OSError):
            self.socket.shutdown(socket.SHUT_RDWR)
        self.server_close()

    def finish_request(self, request: Any, client_address: Any) -> None:
        """Serve a connection on its thread."""
        try:
            served = self._handshaken(request)
            # The counted socket is the raw one: it can be shut down from anywhere.
            with served:
                ConnectionHandler(
                    served,
                    counted=request,
                    limiter=self._limiter,
                    limits=self._limits,
                    caller=str(client_address[0]),
                ).serve()
        finally:
            self._limiter.remove(request)

    def _handshaken(self, connection: socket.socket) -> socket.socket:
        """Return the connection itself, or TLS on a duplicate of it."""
        if self._tls is None:
            return connection.dup()
        # On its own thread: a silent client delays no other.
        connection.settimeout(_HANDSHAKE_SECONDS)
        return self._tls().wrap_socket(connection.dup(), server_side=True)

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ARG002 - the base class's
        _log.info("Connection broke", error=repr(sys.exc_info()[1]))


def _parse(address: object) -> tuple[str, int]:
    # A developer's, too: a port alone is easily written as a number.
    host, colon, port = str(address).rpartition(":")
    if not colon or not port.isdecimal() or int(port) > 65535:
        raise ListenError(f"{address!r} is no address: write host:port or :port")
    return host.strip("[]"), int(port)
