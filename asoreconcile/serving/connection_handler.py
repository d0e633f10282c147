"""Serves one connection: reads whole, bounded requests and writes the responses.

What a client may use is limited: time to read and write, sizes of heads and bodies.
Rule: MG-9.
"""

import io
import re
import socket
import socketserver
import time
from collections.abc import Callable
from contextlib import suppress
from http.server import BaseHTTPRequestHandler
from typing import Any

import attrs

from asoreconcile.base.log import Logger
from asoreconcile.serving.connection_limiter import (
    ConnectionLimiter,
    ConnectionLimitError,
)
from asoreconcile.serving.messages import RequestHandler, ServerRequest, ServerResponse

_log = Logger(__name__)

# This, the time of an idle connection and the length of a head are what
# controller-runtime's servers allow.
READ_SECONDS = 32.0
_IDLE_SECONDS = 90.0
# A client that sends for longer is not waiting for the response.
_LINGER_SECONDS = 2.0
_HEAD_BYTES = 1 << 20
_PIECE_BYTES = 1 << 14  # of TLS: one is sent, or waited for, as a whole
# As in Python's `http.client`.
_MOST_HEADERS = 100
_LINE_BYTES = 1 << 16
# Not `//`: the base class makes one slash of two, so that no path names a host.
_REQUEST_LINE = re.compile(rb"([A-Z]+) (/(?!/)[!-~]*) HTTP/1\.1\r\n")
_HEADER = re.compile(
    rb"^([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([^\r\n]*?)[ \t]*\r\n", re.MULTILINE
)
# Those that decide whether the connection is kept, and whether a body follows.
_RARE_HEADERS = frozenset({"connection", "expect"})


@attrs.frozen
class ServerLimits:
    """The limits of a server.

    max_body_bytes: of a request for a target. read_seconds: for a whole request, from
    its first byte, and as much again for its answer to be taken. is_urgent: whether a
    target is answered when all places but the reserve are taken.
    """

    answer: RequestHandler
    methods: tuple[str, ...] = ("GET", "HEAD")
    max_body_bytes: Callable[[str], int] = lambda _: 0
    read_seconds: float = READ_SECONDS
    is_urgent: Callable[[str], bool] = lambda _: False


class ConnectionHandler(BaseHTTPRequestHandler):
    """One connection: serves one request after another, within the limits."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server_version = "asoreconcile"
    sys_version = ""

    def __init__(
        self,
        connection: socket.socket,
        client: Any,
        server: socketserver.BaseServer,
        *,
        counted: socket.socket,
        limiter: ConnectionLimiter,
        limits: ServerLimits,
    ) -> None:
        """Serves the connection to its end. counted: the one that has the place, the
        raw socket below `connection`.
        """
        self._counted = counted
        self._unread = False
        self._limiter = limiter
        self._limits = limits
        super().__init__(connection, client, server)

    def setup(self) -> None:
        """Replace the library's readers and writers by ones with our limits."""
        super().setup()
        self._input = _Limited(self.connection)
        self.rfile = self._reader = io.BufferedReader(self._input)
        self.wfile = self._output = _Timed(self.connection)

    def handle_one_request(self) -> None:
        """Wait for a request, read it whole, answer it."""
        self._input.allow(_IDLE_SECONDS, _HEAD_BYTES)
        self.close_connection = True
        if not self._comes_another():
            return
        self._limiter.request_started(self._counted)
        self._input.allow(self._limits.read_seconds, _HEAD_BYTES)
        self._output.allow(self._limits.read_seconds)
        self.raw_requestline = self.rfile.readline(_HEAD_BYTES)
        headers = self._head()
        if headers is None:
            return
        self._limiter.head_received(self._counted)
        request = self._request(headers)
        if request is not None:
            self._answer(request)

    def _head(self) -> dict[str, str] | None:
        """The headers, names in lower case; None if the head was refused.

        What every client sends is read here, in a tenth of the time that the base class
        takes for the rest.
        """
        lines: list[bytes] = []
        while len(lines) <= _MOST_HEADERS:
            line = self.rfile.readline(_HEAD_BYTES)
            lines.append(line)
            if line in {b"\r\n", b"\n", b""}:
                break
        request = _REQUEST_LINE.fullmatch(self.raw_requestline)
        found = _HEADER.findall(b"".join(lines[:-1]))
        usual = lines[-1] == b"\r\n" and len(max(lines, key=len)) <= _LINE_BYTES
        if request and usual and len(found) == len(lines) - 1:
            headers = {n.decode().lower(): v.decode("latin-1") for n, v in found}
            if headers.keys().isdisjoint(_RARE_HEADERS):
                self.requestline = request[0].decode().rstrip()
                self.request_version = self.protocol_version
                self.command, self.path = (word.decode() for word in request.groups())
                self.close_connection = False
                return headers
        reader, self.rfile = self.rfile, io.BytesIO(b"".join(lines))
        try:
            accepted = self.parse_request()
        finally:
            self.rfile = reader
        if not accepted:
            return None
        return {name.lower(): value for name, value in self.headers.items()}

    def _answer(self, request: ServerRequest) -> None:
        urgent = self._limits.is_urgent(request.target)
        try:
            with self._limiter.answering(self._counted, urgent=urgent):
                self._respond(_answered(self._limits.answer, request))
        except ConnectionLimitError:
            self._refuse(503)

    def _comes_another(self) -> bool:
        try:
            return bool(self._reader.peek(1))
        except TimeoutError:
            return False

    def _request(self, headers: dict[str, str]) -> ServerRequest | None:
        """The request; None if it was refused."""
        if self.command not in self._limits.methods:
            self._refuse(405)
            return None
        # No client of ours sends chunks, and a length that is known first is what
        # bounds a body before it is read.
        if "transfer-encoding" in headers:
            self._refuse(411)
            return None
        length = headers.get("content-length", "0")
        if not length.isdecimal():
            self._refuse(400)
            return None
        size_bytes = int(length)
        if size_bytes > self._limits.max_body_bytes(self.path):
            self._leave_unread()
            return ServerRequest(self.command, self.path, headers, too_long=True)
        self._input.admit(size_bytes)
        body = self.rfile.read(size_bytes)
        if len(body) < size_bytes:
            self.close_connection = True
            return None
        return ServerRequest(self.command, self.path, headers, body)

    def _respond(self, response: ServerResponse) -> None:
        self._output.allow(self._limits.read_seconds)
        if self._limiter.closing:
            self.close_connection = True
        self.send_response(response.status)
        self.send_header("Content-Type", response.content_type)
        self.send_header("Content-Length", str(len(response.body)))
        self.send_header("X-Content-Type-Options", "nosniff")
        if self.close_connection:
            self.send_header("Connection", "close")
        # The head goes out with the body: each piece costs both sides a system call.
        self.wfile = head = io.BytesIO()
        self.end_headers()
        self.wfile = self._output
        body = b"" if self.command == "HEAD" else response.body
        if len(body) < _PIECE_BYTES:
            self._output.write(head.getvalue() + body)
        else:
            self._output.write(head.getvalue())
            self._output.write(body)

    def _leave_unread(self) -> None:
        """Close after this response, as unread data is not a next request."""
        self.close_connection = self._unread = True

    def finish(self) -> None:
        """End the connection so that the peer can still read the answer.

        Closing with unread bytes resets it, and the answer would be lost with them.
        """
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
        self._respond(ServerResponse(status, f"{phrase}\n".encode()))

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class's
        """Log at debug: the library would write each request to stderr."""
        _log.debug("Request answered", request=format % args)


class _Limited(io.RawIOBase):
    """A connection's bytes, up to a number of them and a moment."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._deadline = 0.0
        self._left = 0

    def allow(self, seconds: float, size_bytes: int) -> None:
        """Allow this many bytes, within this time, from now on."""
        self._deadline = time.monotonic() + seconds
        self._left = size_bytes

    def admit(self, size_bytes: int) -> None:
        """Allow this many bytes more, within the same time."""
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


class _Timed(io.BufferedIOBase):
    """What is written to a connection, up to a moment.

    A time-out of the socket would count again with each piece that a slow reader takes.
    """

    def __init__(
        self,
        connection: socket.socket,
        *,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._connection = connection
        self._monotonic = monotonic
        self._deadline = 0.0

    def allow(self, seconds: float) -> None:
        """Allow writes for this time, from now on."""
        self._deadline = self._monotonic() + seconds

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        """Write all of the data. Raises TimeoutError, OSError."""
        view = memoryview(data)
        for start in range(0, len(view), _PIECE_BYTES):
            remaining = self._deadline - self._monotonic()
            if remaining <= 0:
                raise TimeoutError("the answer is read too slowly")
            self._connection.settimeout(remaining)
            self._connection.sendall(view[start : start + _PIECE_BYTES])
        return len(view)


def _answered(answer: RequestHandler, request: ServerRequest) -> ServerResponse:
    try:
        return answer(request)
    except Exception:  # noqa: BLE001 - one request's failure stays its own
        _log.exception("Request failed", method=request.method)
        return ServerResponse(500, b"internal error\n")
