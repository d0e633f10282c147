"""An HTTP/2 server that follows a test's script, frame by frame.

Headers of requests are not decoded: streams are distinguished by their order. The
server keeps to the windows, so a client that does not read gets no more than it has
allowed.
"""

import socket
import ssl
import struct
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from asoreconcile.base.threads import Threads
from asoreconcile.testing.http import _context
from asoreconcile.testing.throwaway_certificates import certificate_authority
from asoreconcile.wire.destination import Destination
from asoreconcile.wire.loop import StreamLoop
from asoreconcile.wire.trust import TlsTrust

_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
_DATA, _HEADERS, _RESET, _SETTINGS, _PING, _GOAWAY, _WINDOW = 0, 1, 3, 4, 6, 7, 8
_CONTINUATION = 9
_END_STREAM, _ACK, _END_HEADERS = 1, 1, 4
_MAX_STREAMS, _INITIAL_WINDOW = 3, 4
_REFUSED = 7
_STATUS_200 = b"\x88"  # a header of the static table
_STATUS = b"\x08"  # another status, in plain characters
_PLAIN = b"\x00"  # another header, in plain characters
_LARGEST_FRAME = 16_384
Header = tuple[bytes, bytes]
Handle = Callable[["H2Stream"], object]


class H2Stream:
    """One request, and the frames sent for it.

    window: number of bytes that it may be sent.
    """

    def __init__(self, connection: "H2Connection", number: int, window: int) -> None:
        self.connection, self.number, self.window = connection, number, window
        self.is_over = False

    def answer(self, *headers: Header, end: bool = False) -> None:
        self.block(_STATUS_200 + b"".join(map(_header, headers)), end=end)

    def inform(self, status: int) -> None:
        """Send an informational response: 1xx."""
        self.block(_STATUS + _text(b"%d" % status))

    def trail(self, *headers: Header) -> None:
        self.block(b"".join(map(_header, headers)), end=True)

    def block(self, fields: bytes, *, end: bool = False) -> None:
        flags = _END_HEADERS | (_END_STREAM if end else 0)
        self.connection.frame(_HEADERS, flags, self.number, fields)

    def long_answer(self, headers: Iterable[Header]) -> None:
        """Send a response whose head has many frames."""
        fields = _STATUS_200 + b"".join(map(_header, headers))
        pieces = [
            fields[at : at + _LARGEST_FRAME]
            for at in range(0, len(fields), _LARGEST_FRAME)
        ]
        for number, piece in enumerate(pieces):
            kind = _CONTINUATION if number else _HEADERS
            is_last = number == len(pieces) - 1
            self.connection.frame(
                kind, _END_HEADERS if is_last else 0, self.number, piece
            )

    def reset(self, code: int) -> None:
        self.connection.frame(_RESET, 0, self.number, struct.pack("!I", code))

    def send(self, data: bytes) -> int:
        """Send as much as the windows allow; return the number of bytes."""
        return self.connection.data(self, data)

    def end(self) -> None:
        self.connection.frame(_DATA, _END_STREAM, self.number, b"")


class H2Connection:
    def __init__(self, peer: "H2Peer", connection: ssl.SSLSocket) -> None:
        self.peer, self.connection = peer, connection
        self.lock = threading.RLock()
        self.streams: dict[int, H2Stream] = {}
        self.ended = threading.Event()
        self.window = self.initial_window = 65_535

    def serve(self) -> None:
        # At once, as Go's servers do.
        self.frame(_SETTINGS, 0, 0, struct.pack("!HI", _MAX_STREAMS, self.peer.most))
        assert self.exactly(len(_PREFACE)) == _PREFACE
        while head := self.exactly(9):
            length, (kind, flags, number) = (
                int.from_bytes(head[:3], "big"),
                struct.unpack("!BBI", head[3:]),
            )
            body = self.exactly(length)
            with self.lock:
                self.take(kind, flags, number, body)

    def take(self, kind: int, flags: int, number: int, body: bytes) -> None:
        if kind == _SETTINGS and not flags & _ACK:
            for at in range(0, len(body), 6):
                name, value = struct.unpack("!HI", body[at : at + 6])
                if name == _INITIAL_WINDOW:
                    for stream in self.streams.values():
                        stream.window += value - self.initial_window
                    self.initial_window = value
            self.frame(_SETTINGS, _ACK, 0, b"")
        elif kind == _PING and not flags & _ACK:
            self.frame(_PING, _ACK, 0, body)
        elif kind == _WINDOW:
            more = int.from_bytes(body, "big")
            if number == 0:
                self.window += more
            elif number in self.streams:
                self.streams[number].window += more
        elif kind == _HEADERS:
            if len(self.streams) >= self.peer.most:
                self.frame(_RESET, 0, number, struct.pack("!I", _REFUSED))
                return
            stream = H2Stream(self, number, self.initial_window)
            self.streams[number] = stream
            self.peer.opened(stream)
        elif kind == _RESET and number in self.streams:
            self.streams[number].is_over = True
            self.peer.ended_streams.release()

    def data(self, stream: H2Stream, data: bytes) -> int:
        with self.lock:
            size = min(len(data), stream.window, self.window, _LARGEST_FRAME)
            if size > 0:
                stream.window -= size
                self.window -= size
                self.frame(_DATA, 0, stream.number, data[:size])
            return max(0, size)

    def frame(self, kind: int, flags: int, number: int, body: bytes) -> None:
        head = len(body).to_bytes(3, "big") + struct.pack("!BBI", kind, flags, number)
        with self.lock:
            self.connection.sendall(head + body)

    def allow(self, streams: int) -> None:
        """Allow that many streams from now on."""
        self.frame(_SETTINGS, 0, 0, struct.pack("!HI", _MAX_STREAMS, streams))

    def go_away(self, last: int, code: int = 0) -> None:
        """Serve no stream beyond the number `last`."""
        self.frame(_GOAWAY, 0, 0, struct.pack("!II", last, code))

    def cut(self) -> None:
        with suppress(OSError):  # closed already
            self.connection.shutdown(socket.SHUT_RDWR)

    def exactly(self, size: int) -> bytes:
        """Return exactly that many bytes, or b"" if the client is gone."""
        found = b""
        while len(found) < size:
            piece = self.connection.recv(size - len(found))
            if not piece:
                return b""
            found += piece
        return found


class H2Peer:
    """A server that passes each stream to `handle`, on its connection's thread."""

    def __init__(
        self, certificate: tuple[bytes, bytes], handle: Handle, *, most: int = 100
    ) -> None:
        """Make a server.

        most: number of streams that a connection may have, as announced to the client.
        """
        self.handle, self.most = handle, most
        self.context = _context(certificate)
        self.context.set_alpn_protocols(["h2"])
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.connections: list[H2Connection] = []
        self.streams: list[H2Stream] = []
        self.changed = threading.Condition()
        self.ended_streams = threading.Semaphore(0)
        self.threads = [threading.Thread(target=self.accept, daemon=True)]
        self.threads[0].start()

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.listener.getsockname()[1]}"

    def accept(self) -> None:
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            thread = threading.Thread(
                target=self.serve, args=(connection,), daemon=True
            )
            self.threads.append(thread)
            thread.start()

    def serve(self, connection: socket.socket) -> None:
        try:
            secured = self.context.wrap_socket(connection, server_side=True)
            with secured:
                served = H2Connection(self, secured)
                self.connections.append(served)
                try:
                    served.serve()
                finally:
                    served.ended.set()
        except OSError:
            connection.close()  # the client closed first

    def opened(self, stream: H2Stream) -> None:
        with self.changed:
            self.streams.append(stream)
            self.changed.notify_all()
        self.handle(stream)

    def wait_for_streams(self, count: int) -> None:
        with self.changed:
            assert self.changed.wait_for(lambda: len(self.streams) >= count, 20)

    def close(self) -> None:
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        for served in self.connections:
            served.cut()
        for thread in self.threads:
            thread.join(10)
            assert not thread.is_alive()


def _text(text: bytes) -> bytes:
    assert len(text) < 127
    return bytes([len(text)]) + text


def _header(pair: Header) -> bytes:
    name, value = pair
    return _PLAIN + _text(name) + _text(value)


def greet(stream: H2Stream) -> None:
    """Answer a stream with b"first", and leave it open."""
    stream.answer()
    assert stream.send(b"first") == 5


@contextmanager
def h2_serving(usual: Handle) -> Iterator[Callable[..., tuple[H2Peer, StreamLoop]]]:
    """Yield a function that makes (peer, loop): `make(handle=usual, *, loop={}, ...)`.

    loop: options of the loop, which all have a default. Further options are the peer's.
    """
    ending: list[Callable[[], object]] = []

    def make(
        handle: Handle = usual, *, loop: dict[str, Any] | None = None, **options: Any
    ) -> tuple[H2Peer, StreamLoop]:
        authority = certificate_authority()
        peer = H2Peer(authority.issue(["127.0.0.1"]), handle, **options)
        ending.append(peer.close)
        given: dict[str, Any] = {
            "trust": lambda: TlsTrust(authority.pem),
            "generation": lambda: 0,
            "socket_options": (),
            "threads": Threads(),
            **(loop or {}),
        }
        made = StreamLoop(Destination.of(f"https://{peer.address}"), **given)
        ending.append(made.close)
        return peer, made

    try:
        yield make
    finally:
        for end in reversed(ending):
            end()
