"""A TCP proxy between two processes, made unreliable by a seed.

Data is delayed, held up, cut in the middle of a TLS record, or lost. The proxy listens
on a port of its own before its target is known, so that a server can be given the
proxy's address as its own.
"""

import random
import socket
import struct
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Self

MODES = ("clear", "slow", "cut", "blackhole", "refuse")
_CHUNK = 16384
_ACCEPT_SECONDS = 0.1
_MOST_DELAY_SECONDS = 0.05
_CUT_SHARE = 0.15
_JOIN_SECONDS = 5.0


class TcpProxy:
    """A proxy. Start it with `with`. `mode` may be set from any thread."""

    def __init__(self, dice: random.Random) -> None:
        self.mode = "clear"
        self.cuts = 0
        """Connections that it broke."""
        self._dice = dice
        self._target = 0
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self._listener.settimeout(_ACCEPT_SECONDS)
        self._stopping = threading.Event()
        self._clear = threading.Event()
        self._lock = threading.Lock()
        self._open: set[socket.socket] = set()
        self._threads: list[threading.Thread] = []

    @property
    def port(self) -> int:
        port: int = self._listener.getsockname()[1]
        return port

    def lead_to(self, port: int) -> None:
        """Set the target and begin to accept connections."""
        self._target = port
        self._spawn(self._accept)

    def set(self, mode: str) -> None:
        assert mode in MODES
        self.mode = mode
        if mode == "refuse":
            self._cut_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self._stopping.set()
        self._listener.close()
        self._cut_all()
        for thread in list(self._threads):
            thread.join(_JOIN_SECONDS)

    def _spawn(self, target: Callable[..., None], *args: Any) -> None:
        thread = threading.Thread(target=target, args=args, daemon=True)
        self._threads = [t for t in self._threads if t.is_alive()]
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while not self._stopping.is_set():
            try:
                client, _ = self._listener.accept()
            except TimeoutError:
                continue
            except OSError:
                return  # the socket is closed
            if self.mode == "refuse":
                self._reset(client)
                continue
            try:
                server = socket.create_connection(("127.0.0.1", self._target))
            except OSError:
                self._reset(client)
                continue
            with self._lock:
                self._open |= {client, server}
            self._spawn(self._pump, client, server)
            self._spawn(self._pump, server, client)

    def _pump(self, source: socket.socket, sink: socket.socket) -> None:
        try:
            while data := source.recv(_CHUNK):
                self._hold_up()
                if self.mode == "cut" and self._dice.random() < _CUT_SHARE:
                    with suppress(OSError):
                        sink.sendall(data[: self._dice.randrange(len(data))])
                    self.cuts += 1
                    break
                sink.sendall(data)
        except OSError:
            pass  # the other direction, or the end of the trial, closed it
        for one in (source, sink):
            self._reset(one)

    def _hold_up(self) -> None:
        if self.mode == "slow":
            self._stopping.wait(self._dice.uniform(0, _MOST_DELAY_SECONDS))
        while self.mode == "blackhole" and not self._stopping.is_set():
            self._stopping.wait(_ACCEPT_SECONDS)

    def _cut_all(self) -> None:
        with self._lock:
            connections = list(self._open)
        self.cuts += len(connections) // 2
        for one in connections:
            self._reset(one)

    def _reset(self, connection: socket.socket) -> None:
        with self._lock:
            self._open.discard(connection)
        with suppress(OSError):
            # With a linger time of zero, the other end gets a reset, not an orderly
            # end.
            connection.setsockopt(
                socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0)
            )
            connection.shutdown(socket.SHUT_RDWR)
        with suppress(OSError):
            connection.close()
