"""A server that follows a test's script, byte by byte."""

import socket
import threading
from collections.abc import Callable
from typing import Any

from asoreconcile.testing.http import _context


class Peer:
    """A server with a script, over TLS or plain TCP."""

    def __init__(
        self,
        script: Callable[["Peer", socket.socket], object],
        certificate: Any = None,
        *,
        listener: socket.socket | None = None,
    ) -> None:
        """Make a server.

        script: called with the connection of each client, on a thread.
        listener: listening socket; by default a new one on 127.0.0.1.
        """
        self.script = script
        self.context = None if certificate is None else _context(certificate)
        self.listener = listener or socket.create_server(("127.0.0.1", 0))
        self.ended = threading.Event()
        self.requests: list[bytes] = []
        self.threads = [threading.Thread(target=self.accept)]
        self.threads[0].start()

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.listener.getsockname()[1]}"

    def accept(self) -> None:
        while not self.ended.is_set():
            try:
                connection, _ = self.listener.accept()
            except OSError:  # there was no descriptor left, or the socket is closed
                self.ended.wait(0.01)
                continue
            thread = threading.Thread(target=self.serve, args=(connection,))
            self.threads.append(thread)
            thread.start()

    def serve(self, connection: socket.socket) -> None:
        try:
            if self.context is not None:
                connection = self.context.wrap_socket(connection, server_side=True)
            with connection:
                self.script(self, connection)
        except OSError:
            connection.close()  # the client closed first, as many tests want

    def read_request(self, connection: socket.socket) -> bytes:
        """Return the head of the next request, or b"" if the client is gone."""
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            byte = connection.recv(1)
            if not byte:
                return b""
            head += byte
        self.requests.append(head)
        return head

    def close(self) -> None:
        self.ended.set()
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        for thread in self.threads:
            thread.join(10)
            assert not thread.is_alive()
