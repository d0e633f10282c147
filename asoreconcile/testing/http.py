"""A small HTTP/1.1 server over TLS for the test servers: a thread per connection.

Requests are parsed by hand, because the parser of the standard library costs more than
the rest of a request. Answers are sent whole or in chunks. The server supports what our
clients, kubectl and the Azure libraries need: there is no pipelining and no
compression.
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
from functools import lru_cache
from http import HTTPStatus
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Self

import attrs

_MAX_LINE = 1 << 16
_REPEATED = "impersonate-group"  # These headers may occur more than once.
_NO_REQUEST = (
    b"HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\n"
    b"Connection: close\r\n\r\n400 Bad Request"
)
# This is far more than any API accepts, because tests of limits send too much on
# purpose.
_MAX_BODY = 64 << 20
# `serve_forever` checks this often whether it must end if nothing wakes it; a listener
# also waits for so long if the machine has no descriptor left.
_POLL_SECONDS = 0.05
_JOIN_SECONDS = 5.0
_PHRASES = {status.value: status.phrase for status in HTTPStatus}


@attrs.frozen
class HttpRequest:
    """One request.

    path: decoded path.
    query: the last value of each name.
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
    """One answer. If the body is an iterable, each chunk is sent as it comes.

    afterwards: called when the answer is sent, on the connection's thread.
    """

    status: int
    body: bytes | Iterable[bytes] = b""
    headers: Mapping[str, str] = attrs.field(factory=dict)
    afterwards: Callable[[], None] = lambda: None


class DropConnection(Exception):  # noqa: N818 - an instruction, not an error
    """Close the connection without an answer, as a broken network does."""


class ResetConnection(DropConnection):
    """Close the connection with a reset (RST), which also loses undelivered bytes."""


Handle = Callable[[HttpRequest], HttpResponse]


class Server(ABC):
    """A server that runs from `start()` to `close()`, or during a `with` block."""

    @abstractmethod
    def start(self) -> None:
        """Begin to serve. Must not block."""

    @abstractmethod
    def close(self) -> None:
        """Stop serving. Blocks until the listening socket is closed."""

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
    """A server for one handler on 127.0.0.1, without TLS."""

    scheme = "http"

    def __init__(
        self, handle: Handle, *, port: int = 0, context: ssl.SSLContext | None = None
    ) -> None:
        """Bind the port. Connections wait until `start`.

        handle: called on a connection's thread; may raise DropConnection.
        port: if 0, any free port.
        context: TLS context for the connections, if they use TLS.
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
        """Return the port of the listening socket."""
        return int(self._server.server_address[1])

    @property
    def url(self) -> str:
        """Return `http://127.0.0.1:PORT`, or `https://...` if the server uses TLS."""
        return f"{self.scheme}://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Accept connections on a thread of the server, also those that are waiting."""
        self._thread.start()

    def close(self) -> None:
        """Stop listening and cut every connection. Blocks until their threads end."""
        if self._thread.is_alive():
            self._server.stop()
        self._server.server_close()
        self._server.cut_all()
        if self._thread.is_alive():
            self._thread.join(_JOIN_SECONDS)


class HttpsServer(HttpServer):
    """A server for one handler on 127.0.0.1, over TLS."""

    scheme = "https"

    def __init__(
        self, handle: Handle, *, certificate: tuple[bytes, bytes], port: int = 0
    ) -> None:
        """Bind the port. Connections wait until `start`.

        certificate: PEM of the certificate chain, and of its key.
        """
        super().__init__(handle, port=port, context=_context(certificate))


class _Listener(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True
    # `cut_all` cuts the connections and then waits for the threads.
    block_on_close = False
    # Tests open hundreds of connections at once. With the default of five the kernel
    # drops further ones, and those clients wait a second before they retry.
    request_queue_size = 512

    def __init__(
        self, address: tuple[str, int], handle: Handle, context: ssl.SSLContext | None
    ) -> None:
        self.handle = handle
        self._context = context
        self._lock = threading.Lock()
        self._open: dict[socket.socket, threading.Thread] = {}
        self._stopping = threading.Event()
        super().__init__(address, socketserver.BaseRequestHandler)

    def get_request(self) -> Any:
        try:
            return super().get_request()
        except OSError:
            # The machine is short of a resource, and the client still waits. Trying
            # again at once would only take a processor from the code that could free
            # the resource.
            self._stopping.wait(_POLL_SECONDS)
            raise

    def stop(self) -> None:
        """End `serve_forever`; blocks until it has returned."""
        self._stopping.set()
        with suppress(OSError):
            # Wakes the thread on Linux; elsewhere it is an error, and the poll ends it.
            self.socket.shutdown(socket.SHUT_RDWR)
        self.shutdown()

    def finish_request(self, request: Any, client_address: Any) -> None:  # noqa: ARG002
        # The chunks of a watch are small, and the client waits for each. With Nagle's
        # algorithm each chunk would be held back for 40 ms.
        request.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection = request
        if self._context is not None:
            try:
                connection = self._context.wrap_socket(request, server_side=True)
            except OSError:
                # The client does not trust the certificate, or is gone. The server need
                # not report that.
                return
        with self._lock:
            self._open[connection] = threading.current_thread()
        try:
            _Connection(connection, self.handle).serve()
        finally:
            with self._lock:
                self._open.pop(connection, None)
            connection.close()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore clients that close their connection early."""

    def cut_all(self) -> None:
        with self._lock:
            connections = dict(self._open)
        for connection in connections:
            with suppress(OSError):
                # `close` would leave a thread in `recv` on a descriptor number that the
                # next socket gets.
                connection.shutdown(socket.SHUT_RDWR)
        for thread in connections.values():
            thread.join(_JOIN_SECONDS)


class _Connection:
    """The requests of one client, one after the other."""

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
                try:
                    if not self._answer(request, response):
                        return
                finally:
                    response.afterwards()

    def _next(self, reader: BinaryIO) -> HttpRequest | None:
        try:
            return _read(reader)
        except ValueError:
            self._connection.sendall(_NO_REQUEST)
            return None

    def _answer(self, request: HttpRequest, response: HttpResponse) -> bool:
        """Send an answer; return False if the connection is over."""
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
            # With a linger time of zero, closing sends a reset.
            linger = struct.pack("ii", 1, 0)
            self._connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)


def _plain(value: str) -> str:
    """Return a header's value without characters that would end it or are
    not allowed.
    """
    if value.isascii() and value.isprintable():
        return value
    shown = value.encode("latin-1", errors="replace").decode("latin-1")
    return "".join(c if c.isprintable() else " " for c in shown)


def _read(reader: BinaryIO) -> HttpRequest | None:
    """Return the next request, or None at the end of the stream.

    Raises ValueError for bytes that are not a request.
    """
    line = reader.readline(_MAX_LINE)
    if not line.strip():
        return None
    method, target, _ = line.decode("latin-1").split(" ", 2)
    headers: dict[str, str] = {}
    while (line := reader.readline(_MAX_LINE)) not in (b"\r\n", b"\n", b""):
        # HTTP's bytes are read as latin-1, so nothing is lost, whatever a client sends.
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
    """Return a length if the body may be that long. Raises ValueError."""
    if not 0 <= size <= most:
        message = f"a body of {size} bytes"
        raise ValueError(message)
    return size


# The endpoints of a simulated Azure have one certificate. Reading it takes longer than
# all else of their start.
@lru_cache(maxsize=1)
def _context(certificate: tuple[bytes, bytes]) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with tempfile.TemporaryDirectory() as folder:
        chain, key = Path(folder, "chain.pem"), Path(folder, "key.pem")
        chain.write_bytes(certificate[0])
        # The mode is set before the content is written, so that other users of the
        # machine can never read it.
        key.touch(mode=0o600)
        key.write_bytes(certificate[1])
        context.load_cert_chain(chain, key)
    return context
