"""A TCP server that plays a part of a database's protocol: a thread for a connection."""

import socket
import ssl
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Self


class ProtocolDouble(ABC):
    """The server. Use as a context manager. A subclass serves a connection."""

    def __init__(self, certificate_file: Path | str, key_file: Path | str) -> None:
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._context.load_cert_chain(certificate_file, key_file)
        self._threads: list[threading.Thread] = []
        self._open: list[socket.socket] = []

    def __enter__(self) -> Self:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self._start(self._accept)
        return self

    def __exit__(self, *exc: object) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for one in self._open:
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join(10)

    def _start(self, call: Callable[..., None], *args: Any) -> None:
        thread = threading.Thread(target=call, args=args, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self._open.append(connection)
            self._start(self._serve, connection)

    @abstractmethod
    def _serve(self, connection: socket.socket) -> None:
        """Speak the protocol until the connection ends."""


def exactly(connection: socket.socket, size: int) -> bytes:
    """Return that many bytes of a connection. Raises EOFError."""
    data = b""
    while len(data) < size:
        more = connection.recv(size - len(data))
        if not more:
            raise EOFError
        data += more
    return data
