"""Requests that can be held back up to the last moment, for who may lose its lease.

    head and body assembled  ->  fence()  ->  a piece to the kernel  ->  fence()  -> ...

A process may be stopped anywhere and go on minutes later, as another one leads. So the
fence is asked before each single piece, after all that blocks: connecting, and waiting
until the peer takes more. A server acts on no request whose last piece is missing.
Two things are left, and bounded. Between the look and the system call no other code of
the thread runs: `tests/bench/fencing.py` measures how long that takes. And what the
kernel has, but the peer's does not acknowledge, is thrown away after
`UNDELIVERED_SECONDS`: less than a lease outlasts its holder's last write. Rule: LE-5.
"""

import socket
import ssl
import time
from collections.abc import Callable
from typing import Any

from urllib3.util import wait_for_read, wait_for_write

Fence = Callable[[], None]
"""Raises if the request must not be sent. Called often: it must not block."""

READS = ("GET", "HEAD")
UNDELIVERED_SECONDS = 5.0
_USER_TIMEOUT: int | None = getattr(socket, "TCP_USER_TIMEOUT", None)  # Linux


class FencedConnection:
    """Put before a connection class of urllib3: its writes leave whole, or not at all.

    Not thread-safe, as no connection is.
    """

    sock: Any
    _held: list[bytes] | None = None
    _bounded: Any = None  # the socket whose undelivered bytes are thrown away sooner
    _usual: int = 0

    def fence(self, method: str) -> Fence | None:
        """What is asked about the request that is about to be made; None: nothing."""
        raise NotImplementedError

    def request(self, method: str, *args: Any, **options: Any) -> None:
        """As urllib3's. Raises what the fence raises; the connection is to be closed
        then.
        """
        fence = None if method in READS else self.fence(method)
        if fence is None:
            self._bound(soon=False)
            super().request(method, *args, **options)  # type: ignore[misc]  # the connection's
            return
        if self.sock is None:
            self.connect()  # type: ignore[attr-defined]  # as above
        self._bound(soon=True)
        self._held = []
        try:
            super().request(method, *args, **options)  # type: ignore[misc]  # as above
            whole = b"".join(self._held)
        finally:
            self._held = None
        deliver(self.sock, whole, fence)

    def send(self, data: Any) -> None:
        """Send, or hold back while a fenced request is put together."""
        if self._held is None:
            super().send(data)  # type: ignore[misc]  # as above
        else:
            self._held.append(data)

    def _bound(self, *, soon: bool) -> None:
        """Have undelivered bytes thrown away soon, or as always on this connection."""
        if _USER_TIMEOUT is None or soon == (self._bounded is self.sock):
            return
        if not isinstance(self.sock, socket.socket):
            return  # none yet, or TLS within a proxy's TLS
        if soon:
            self._usual = self.sock.getsockopt(socket.IPPROTO_TCP, _USER_TIMEOUT)
        value = int(UNDELIVERED_SECONDS * 1000) if soon else self._usual
        self.sock.setsockopt(socket.IPPROTO_TCP, _USER_TIMEOUT, value)
        self._bounded = self.sock if soon else None


def deliver(connected: Any, whole: bytes, fence: Fence) -> None:
    """Send all of it; the fence is asked before each piece.

    Blocks for as long as the socket's time-out says, all in all. Raises TimeoutError,
    OSError, and what the fence raises.
    """
    rest = memoryview(whole)
    if not isinstance(connected, socket.socket):  # TLS within a proxy's TLS
        fence()
        connected.sendall(rest)
        return
    seconds = connected.gettimeout()
    until = None if seconds is None else time.monotonic() + seconds
    connected.setblocking(False)  # who waits within `send` has the look behind him
    try:
        while rest:
            fence()
            try:
                taken = connected.send(rest)
            except (BlockingIOError, ssl.SSLWantWriteError):
                _wait(wait_for_write, connected, until)
            except ssl.SSLWantReadError:
                _wait(wait_for_read, connected, until)
            else:
                rest = rest[taken:]
    finally:
        connected.settimeout(seconds)


def _wait(
    ready: Callable[..., bool], connected: socket.socket, until: float | None
) -> None:
    seconds = None if until is None else max(0.0, until - time.monotonic())
    if not ready(connected, timeout=seconds):
        raise TimeoutError("the request is taken too slowly")
