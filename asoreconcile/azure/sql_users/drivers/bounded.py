"""Sockets that bound how much a database server may send.

A server that has not been signed in to is a stranger: it may send 64 KiB in all. Later
it may send 16 MiB for each request. The drivers themselves read whatever length a
server announces.
"""

import socket
import ssl
from typing import Any

from asoreconcile.azure.sql_users.server import CONNECT_SECONDS, ServerError

BYTES_BEFORE_SIGN_IN = 64 * 1024
BYTES_PER_REQUEST = 16 * 1024 * 1024


class ByteBound:
    """Counts the bytes of one connection."""

    def __init__(self) -> None:
        self._left = BYTES_BEFORE_SIGN_IN
        self._is_signed_in = False

    def signed_in(self) -> None:
        """Allow more from now on: each request has its own limit."""
        self._is_signed_in = True
        self._left = BYTES_PER_REQUEST

    def sent(self) -> None:
        """Record that a request was sent."""
        if self._is_signed_in:
            self._left = BYTES_PER_REQUEST

    def received(self, count: int) -> None:
        """Record received bytes. Raises ServerError if they are too many."""
        self._left -= count
        if self._left < 0:
            if self._is_signed_in:
                raise ServerError(
                    f"sent more than {BYTES_PER_REQUEST} bytes", trouble="lost"
                )
            raise ServerError(
                f"sent more than {BYTES_BEFORE_SIGN_IN} bytes before the sign-in",
                trouble="unreachable",
            )


class BoundedSocket(socket.socket):
    """A TCP connection with a bound on the bytes received."""

    def __init__(self, connected: socket.socket) -> None:
        timeout = connected.gettimeout()
        super().__init__(fileno=connected.detach())
        self.settimeout(timeout)
        self.bound = ByteBound()

    @classmethod
    def to(cls, host: str, port: int) -> "BoundedSocket":
        """Connect within CONNECT_SECONDS. Raises OSError."""
        return cls(socket.create_connection((host, port), CONNECT_SECONDS))

    def recv(self, *args: Any) -> bytes:
        """Receive like a socket. Raises ServerError beyond the bound."""
        content = super().recv(*args)
        self.bound.received(len(content))
        return content

    def recv_into(self, *args: Any, **options: Any) -> int:
        """Receive like a socket. Raises ServerError beyond the bound."""
        count = super().recv_into(*args, **options)
        self.bound.received(count)
        return count

    def send(self, *args: Any) -> int:
        """Send like a socket."""
        self.bound.sent()
        return super().send(*args)

    def sendall(self, *args: Any) -> None:
        """Send like a socket."""
        self.bound.sent()
        super().sendall(*args)


class BoundedTlsSocket(ssl.SSLSocket):
    """A TLS connection with a bound on the decrypted bytes received."""

    _bound: ByteBound | None = None

    @property
    def bound(self) -> ByteBound:
        """The count of this connection."""
        # Contexts create these objects without calling a constructor of ours.
        if self._bound is None:
            self._bound = ByteBound()
        return self._bound

    def read(self, *args: Any) -> Any:
        """Read like a TLS socket. Raises ServerError beyond the bound."""
        found: Any = super().read(*args)
        self.bound.received(found if isinstance(found, int) else len(found))
        return found

    def send(self, *args: Any) -> int:
        """Send like a TLS socket."""
        self.bound.sent()
        return super().send(*args)


def with_bound(context: ssl.SSLContext) -> ssl.SSLContext:
    """Let a context make bounded sockets, and return it."""
    context.sslsocket_class = BoundedTlsSocket
    return context
