"""Serves one connection: reads whole, bounded requests and writes the responses.

Each client has limits: time to read and write, sizes of heads and bodies.
Rule: MG-9.
"""

import io
import socket
import ssl
import time
from collections.abc import Callable
from contextlib import suppress
from email.utils import formatdate
from http import HTTPStatus
from typing import Any

import attrs

from asoreconcile.base.log import Logger
from asoreconcile.serving.connection_limiter import (
    FREE_BODY_BYTES,
    ConnectionLimiter,
    ConnectionLimitError,
)
from asoreconcile.serving.messages import (
    HeadCheck,
    RequestHandler,
    ServerRequest,
    ServerResponse,
)
from asoreconcile.serving.request_head import (
    LINE_BYTES,
    MOST_HEADERS,
    BadHeadError,
    RequestHead,
    parse_head,
)

_log = Logger(__name__)

# This limit, and the limit of a head, are those of controller-runtime's servers.
READ_SECONDS = 32.0
# Longer than API servers keep idle connections: a server that closes first may do so
# while a request is on its way.
_IDLE_SECONDS = 120.0
# A client that sends for longer is not waiting for the response.
_LINGER_SECONDS = 2.0
HEAD_BYTES = 1 << 20
_CLOSE = "Connection: close\r\n"
_PIECE_BYTES = 1 << 14  # of TLS: one is sent, or waited for, as a whole


@attrs.frozen
class ServerLimits:
    """The limits of a server.

    max_body_bytes: limit of a request for a target. read_seconds: limit of a whole
    request, from its first byte, and as much again for its answer to be taken.
    is_urgent: whether a target is answered when all places but the reserve are taken.
    head_bytes: limit of a head. check_head: refuses requests by their heads.
    The limiter reserves the memory of long bodies before they are read.
    """

    answer: RequestHandler
    methods: tuple[str, ...] = ("GET", "HEAD")
    max_body_bytes: Callable[[str], int] = lambda _: 0
    read_seconds: float = READ_SECONDS
    is_urgent: Callable[[str], bool] = lambda _: False
    head_bytes: int = HEAD_BYTES
    check_head: HeadCheck = lambda _: None


class ConnectionHandler:
    """One connection: serves one request after another, within the limits."""

    def __init__(
        self,
        connection: socket.socket,
        *,
        counted: socket.socket,
        limiter: ConnectionLimiter,
        limits: ServerLimits,
        caller: str,
    ) -> None:
        """counted: the raw socket below `connection`, which the limiter knows. caller:
        the client's address.
        """
        self._counted = counted
        self._caller = caller
        # TLS asks a client for its certificate only if an authority of clients is set.
        self._is_certified = isinstance(connection, ssl.SSLSocket) and bool(
            connection.getpeercert(binary_form=True)
        )
        self._limiter = limiter
        self._limits = limits
        self._input = _Limited(connection)
        self._reader = io.BufferedReader(self._input)
        self._output = _Timed(connection)
        self._keeps = True
        self._unread = False

    def serve(self) -> None:
        """Serve the connection to its end. Raises OSError if the connection breaks."""
        while self._keeps:
            self._serve_one()
        if self._unread:
            self._linger()

    def _serve_one(self) -> None:
        """Wait for a request, read it whole, answer it."""
        self._input.allow(_IDLE_SECONDS, self._limits.head_bytes)
        self._keeps = False
        if not self._comes_another():
            return
        self._limiter.request_started(self._counted)
        self._input.allow(self._limits.read_seconds, self._limits.head_bytes)
        self._output.allow(self._limits.read_seconds)
        try:
            read = self._head()
            if not read:
                return
            head = parse_head(read)
        except BadHeadError as error:
            self._refuse(error.status, str(error))
            return
        self._limiter.head_received(self._counted)
        self._keeps = head.keeps
        request = self._request(head)
        if request is not None:
            self._answer(request)

    def _comes_another(self) -> bool:
        try:
            return bool(self._reader.peek(1))
        except TimeoutError:
            return False

    def _head(self) -> bytes:
        """Return the bytes of the head with the empty line at its end; none if the
        client has gone. Raises BadHeadError if a line is too long, or if there are too
        many.
        """
        lines: list[bytes] = []
        # An empty line of older clients, the request line, the headers, the empty line.
        for number in range(MOST_HEADERS + 3):
            line = self._reader.readline(LINE_BYTES + 1)
            if number == 0 and line == b"\r\n":
                continue
            if len(line) > LINE_BYTES:
                raise BadHeadError(431 if lines else 414, "a line is too long")
            if not line.endswith(b"\n"):
                return b""
            lines.append(line)
            if line in {b"\r\n", b"\n"}:
                return b"".join(lines)
        raise BadHeadError(431, f"there are more than {MOST_HEADERS} headers")

    def _request(self, head: RequestHead) -> ServerRequest | None:
        """Return the request; None if it was refused or did not arrive completely."""
        if head.method not in self._limits.methods:
            self._refuse(405)
            return None
        refusal = self._limits.check_head(self._made(head))
        if refusal is not None:
            if head.body_bytes:
                self._leave_unread()
            self._respond(refusal)
            return None
        if head.body_bytes > self._limits.max_body_bytes(head.target):
            self._leave_unread()
            return self._made(head, too_long=True)
        if head.body_bytes > FREE_BODY_BYTES and not self._reserves(head.body_bytes):
            return None
        if head.awaits_go:
            self._output.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        self._input.admit(head.body_bytes)
        body = self._reader.read(head.body_bytes)
        if len(body) < head.body_bytes:
            self._keeps = False
            return None
        return self._made(head, body)

    def _reserves(self, body_bytes: int) -> bool:
        """Reserve memory for a long body. Return False if there was none, after
        refusing the request.
        """
        seconds = self._limits.read_seconds
        try:
            self._limiter.reserve(self._counted, body_bytes, seconds)
        except ConnectionLimitError:
            self._refuse(503)
            return False
        # The client did not cause the wait.
        self._input.allow(seconds, self._limits.head_bytes)
        return True

    def _made(
        self, head: RequestHead, body: bytes = b"", *, too_long: bool = False
    ) -> ServerRequest:
        return ServerRequest(
            head.method,
            head.target,
            head.headers,
            body,
            too_long=too_long,
            caller=self._caller,
            is_certified=self._is_certified,
        )

    def _answer(self, request: ServerRequest) -> None:
        urgent = self._limits.is_urgent(request.target)
        try:
            with self._limiter.answering(self._counted, urgent=urgent):
                response = _answered(self._limits.answer, request)
                self._limiter.sending(self._counted)
                self._respond(response, with_body=request.method != "HEAD")
        except ConnectionLimitError:
            self._refuse(503)
        _log.debug("Request answered", method=request.method, target=request.target)

    def _respond(self, response: ServerResponse, *, with_body: bool = True) -> None:
        self._output.allow(self._limits.read_seconds)
        if self._limiter.closing:
            self._keeps = False
        more = "".join(f"{name}: {v}\r\n" for name, v in response.headers.items())
        head = (
            f"HTTP/1.1 {response.status} {HTTPStatus(response.status).phrase}\r\n"
            "Server: asoreconcile\r\n"
            f"Date: {formatdate(usegmt=True)}\r\n"
            f"Content-Type: {response.content_type}\r\n"
            f"Content-Length: {response.size_bytes}\r\n"
            "X-Content-Type-Options: nosniff\r\n"
            f"{more}{'' if self._keeps else _CLOSE}\r\n"
        ).encode("latin-1")
        pieces = response.pieces if with_body else ()
        # A small body goes out with the head: a piece costs both sides a system call.
        if len(pieces) == 1 and len(pieces[0]) < _PIECE_BYTES:
            self._output.write(head + pieces[0])
            return
        for piece in (head, *pieces):
            self._output.write(piece)

    def _leave_unread(self) -> None:
        """Close after this response, as unread data is not a next request."""
        self._keeps = False
        self._unread = True

    def _linger(self) -> None:
        """Read the rest of the client's data, because a close would cut the answer off,
        too.
        """
        deadline = time.monotonic() + _LINGER_SECONDS
        with suppress(OSError):
            self._counted.shutdown(socket.SHUT_WR)
            self._counted.settimeout(_LINGER_SECONDS)
            while self._counted.recv(1 << 16) and time.monotonic() < deadline:
                pass

    def _refuse(self, status: int, reason: str = "") -> None:
        self._leave_unread()
        text = reason or HTTPStatus(status).phrase
        self._respond(ServerResponse(status, f"{text}\n".encode()))


class _Limited(io.RawIOBase):
    """A reader of a connection with limits: a number of bytes, and a deadline."""

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
    """A writer to a connection, with a deadline.

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
    except BaseException:  # noqa: BLE001 - one request's failure stays its own
        _log.exception("Request failed", method=request.method)
        return ServerResponse(500, b"internal error\n")
