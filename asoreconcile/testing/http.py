"""A small HTTP/1.1 server over TLS for the test servers: one thread a connection.

Requests are parsed by hand (the standard library's parser costs more than the rest of
a request), answers are whole or streamed in chunks. Only what our clients, kubectl and
the Azure libraries need: no pipelining, no compression.
"""

import socket
import socketserver
import ssl
import struct
import tempfile
import threading
import urllib.parse
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from http import HTTPStatus
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Self

import attrs

_MAX_LINE = 1 << 16
_REPEATED = "impersonate-group"  # a header that may be there more than once
_NO_REQUEST = (
    b"HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\n"
    b"Connection: close\r\n\r\n400 Bad Request"
)
# Far over what any API takes: tests of limits send too much on purpose.
_MAX_BODY = 64 << 20
# `serve_forever` looks for its end this often: each close of a test server waits for
# half of it on average.
_POLL_SECONDS = 0.05
_JOIN_SECONDS = 5.0
_PHRASES = {status.value: status.phrase for status in HTTPStatus}


@attrs.frozen
class HttpRequest:
    """One request. path: decoded. query: the last value of each name.
    headers: names in lower case.
    """

    method: str
    target: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: bytes = attrs.field(repr=False)


@attrs.frozen
class HttpResponse:
    """One answer; an iterable body is streamed, chunk by chunk, as it comes."""

    status: int
    body: bytes | Iterable[bytes] = b""
    headers: Mapping[str, str] = attrs.field(factory=dict)


class DropConnection(Exception):  # noqa: N818 - an instruction, not an error
    """Close the connection without an answer, as a broken network does."""


class ResetConnection(DropConnection):
    """Close it with a reset (RST): what was not yet delivered is lost as well."""


Handle = Callable[[HttpRequest], HttpResponse]


class Server(ABC):
    """What runs from `start()` to `close()`, or as long as a `with` block does."""

    @abstractmethod
    def start(self) -> None:
        """Begin to serve; must not block."""

    @abstractmethod
    def close(self) -> None:
        """Stop serving; blocks until nothing listens any more."""

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


class HttpServer(Server):
    """Serves one handler on 127.0.0.1 in the clear. `start`, then `close`."""

    scheme = "http"

    def __init__(
        self, handle: Handle, *, port: int = 0, context: ssl.SSLContext | None = None
    ) -> None:
        """handle: called on a connection's thread; may raise DropConnection.
        port: 0 is any free one. context: wraps each connection.
        """
        self._server = _Listener(("127.0.0.1", port), handle, context)
        self._thread = threading.Thread(
            target=self._server.serve_forever,
            kwargs={"poll_interval": _POLL_SECONDS},
            name="test server",
            daemon=True,
        )

    @property
    def port(self) -> int:
        """The port it listens on, taken from the system when none was asked for."""
        return int(self._server.server_address[1])

    @property
    def url(self) -> str:
        """`http://127.0.0.1:PORT`, or https where a subclass speaks TLS."""
        return f"{self.scheme}://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Accept connections from now on, on a thread of its own; those made earlier
        waited.
        """
        self._thread.start()

    def close(self) -> None:
        """Stop listening and cut every connection; waits for their threads."""
        if self._thread.is_alive():
            self._server.shutdown()
        self._server.server_close()
        self._server.cut_all()
        if self._thread.is_alive():
            self._thread.join(_JOIN_SECONDS)


class HttpsServer(HttpServer):
    """The same over TLS."""

    scheme = "https"

    def __init__(
        self, handle: Handle, *, certificate: tuple[bytes, bytes], port: int = 0
    ) -> None:
        """certificate: PEM of the chain and of its key."""
        super().__init__(handle, port=port, context=_context(certificate))


class _Listener(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True
    # `cut_all` waits for the threads, once it has cut what they read.
    block_on_close = False
    # Tests open hundreds of connections at once; the default of five has the kernel
    # drop what comes after, and clients wait a second for a retry.
    request_queue_size = 512

    def __init__(
        self, address: tuple[str, int], handle: Handle, context: ssl.SSLContext | None
    ) -> None:
        self.handle = handle
        self._context = context
        self._lock = threading.Lock()
        self._open: dict[socket.socket, threading.Thread] = {}
        super().__init__(address, socketserver.BaseRequestHandler)

    def get_request(self) -> Any:
        try:
            return super().get_request()
        except OSError:
            # The machine is short of something, and who asks still waits: to ask again
            # at once would only take a processor from those who could free it.
            threading.Event().wait(_POLL_SECONDS)
            raise

    def finish_request(self, request: Any, client_address: Any) -> None:  # noqa: ARG002
        # Chunks of a watch are small, and each is awaited: with Nagle's algorithm it
        # would lie 40 ms.
        request.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection = request
        if self._context is not None:
            try:
                connection = self._context.wrap_socket(request, server_side=True)
            except OSError:
                return  # the client does not trust us, or is gone: its own business
        with self._lock:
            self._open[connection] = threading.current_thread()
        try:
            _Connection(connection, self.handle).serve()
        finally:
            with self._lock:
                self._open.pop(connection, None)
            connection.close()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that broke off is no news."""

    def cut_all(self) -> None:
        with self._lock:
            connections = dict(self._open)
        for connection in connections:
            with suppress(OSError):
                # Not `close`: that would leave a thread in `recv` on a number that the
                # next socket gets.
                connection.shutdown(socket.SHUT_RDWR)
        for thread in connections.values():
            thread.join(_JOIN_SECONDS)


class _Connection:
    """One client's requests, one after the other."""

    def __init__(self, connection: socket.socket, handle: Handle) -> None:
        self._connection = connection
        self._handle = handle

    def serve(self) -> None:
        with self._connection.makefile("rb") as reader, suppress(OSError, ValueError):
            while (request := self._next(reader)) is not None:
                try:
                    response = self._handle(request)
                except DropConnection as how:
                    self._drop(how)
                    return
                if not self._answer(request, response):
                    return

    def _next(self, reader: BinaryIO) -> HttpRequest | None:
        try:
            return _read(reader)
        except ValueError:
            self._connection.sendall(_NO_REQUEST)
            return None

    def _answer(self, request: HttpRequest, response: HttpResponse) -> bool:
        """Send; False when the connection is over."""
        phrase = _PHRASES.get(response.status, "Unknown")
        lines = [f"HTTP/1.1 {response.status} {phrase}"]
        lines += [f"{name}: {_plain(v)}" for name, v in response.headers.items()]
        body = response.body
        if isinstance(body, bytes):
            lines.append(f"Content-Length: {len(body)}")
            head = ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")
            self._connection.sendall(head if request.method == "HEAD" else head + body)
            return request.headers.get("connection", "").lower() != "close"
        lines.append("Transfer-Encoding: chunked")
        self._connection.sendall(("\r\n".join(lines) + "\r\n\r\n").encode("latin-1"))
        try:
            for chunk in body:
                self._connection.sendall(b"%x\r\n%s\r\n" % (len(chunk), chunk))
        except DropConnection as how:
            self._drop(how)
            return False
        self._connection.sendall(b"0\r\n\r\n")
        return True

    def _drop(self, how: DropConnection) -> None:
        if isinstance(how, ResetConnection):
            # Lingering for no time at all: closing sends a reset.
            linger = struct.pack("ii", 1, 0)
            self._connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)


def _plain(value: str) -> str:
    """A header's value with nothing in it that would end it, or that it cannot hold."""
    if value.isascii() and value.isprintable():
        return value
    shown = value.encode("latin-1", errors="replace").decode("latin-1")
    return "".join(c if c.isprintable() else " " for c in shown)


def _read(reader: BinaryIO) -> HttpRequest | None:
    """The next request; None at the end. Raises ValueError for what is none."""
    line = reader.readline(_MAX_LINE)
    if not line.strip():
        return None
    method, target, _ = line.decode("latin-1").split(" ", 2)
    headers: dict[str, str] = {}
    while (line := reader.readline(_MAX_LINE)) not in (b"\r\n", b"\n", b""):
        # Bytes as latin-1, as HTTP has them: nothing is lost, whatever a client sends.
        name, _, value = line.decode("latin-1").partition(":")
        name, value = name.strip().lower(), value.strip()
        if name == _REPEATED and name in headers:
            value = f"{headers[name]},{value}"
        headers[name] = value
    parts = urllib.parse.urlsplit(target)
    query = urllib.parse.parse_qs(parts.query, keep_blank_values=True)
    return HttpRequest(
        method=method,
        target=target,
        path=urllib.parse.unquote(parts.path),
        query={name: values[-1] for name, values in query.items()},
        headers=headers,
        body=_read_body(reader, headers),
    )


def _read_body(reader: BinaryIO, headers: Mapping[str, str]) -> bytes:
    if headers.get("transfer-encoding", "").lower() == "chunked":
        pieces, left = [], _MAX_BODY
        while size := int(reader.readline(_MAX_LINE).split(b";")[0], 16):
            left -= _sized(size, left)
            pieces.append(reader.read(size))
            reader.readline(_MAX_LINE)
        reader.readline(_MAX_LINE)
        return b"".join(pieces)
    length = _sized(int(headers.get("content-length") or 0), _MAX_BODY)
    return reader.read(length) if length else b""


def _sized(size: int, most: int) -> int:
    """A length that can be read. Raises ValueError."""
    if not 0 <= size <= most:
        message = f"a body of {size} bytes"
        raise ValueError(message)
    return size


def _context(certificate: tuple[bytes, bytes]) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with tempfile.TemporaryDirectory() as folder:
        chain, key = Path(folder, "chain.pem"), Path(folder, "key.pem")
        chain.write_bytes(certificate[0])
        # The mode before the content: another user of the machine must not be able to
        # read it for a moment.
        key.touch(mode=0o600)
        key.write_bytes(certificate[1])
        context.load_cert_chain(chain, key)
    return context
