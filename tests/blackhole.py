"""A TCP proxy that falls silent: connections stay open, but no data passes."""

import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Self


class Blackhole:
    """A proxy to a port of this machine. Use as a context manager."""

    def __init__(self, port: int) -> None:
        self._target = ("127.0.0.1", port)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self._lock = threading.Lock()
        self._open: list[socket.socket] = []
        self._silent: set[socket.socket] = set()
        self._swallows_new = False
        self.accepted = 0

    def swallow(self, *, new: bool = False) -> None:
        """Stop all data of the open connections.

        new: if true, also that of new connections, until `heal`.
        """
        with self._lock:
            self._silent.update(self._open)
            self._swallows_new = new

    def heal(self) -> None:
        """Let data of new connections pass. Those that were silenced stay silent."""
        with self._lock:
            self._swallows_new = False

    def __enter__(self) -> Self:
        self._start(self._accept)
        return self

    def __exit__(self, *_: object) -> None:
        self._cut(self._listener)
        with self._lock:
            sockets = list(self._open)
        for one in sockets:
            self._cut(one)

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            server = socket.create_connection(self._target)
            with self._lock:
                self.accepted += 1
                self._open += [client, server]
                if self._swallows_new:
                    self._silent.update((client, server))
            self._start(self._pump, client, server)
            self._start(self._pump, server, client)

    def _pump(self, source: socket.socket, sink: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(1 << 16):
                with self._lock:
                    swallowed = source in self._silent
                if not swallowed:
                    sink.sendall(data)
        with self._lock:
            swallowed = source in self._silent
        if not swallowed:
            self._cut(sink)
        self._cut(source)

    @staticmethod
    def _start(target: Callable[..., None], *arguments: Any) -> None:
        threading.Thread(target=target, args=arguments, daemon=True).start()

    @staticmethod
    def _cut(one: socket.socket) -> None:
        with suppress(OSError):
            one.shutdown(socket.SHUT_RDWR)
        one.close()
