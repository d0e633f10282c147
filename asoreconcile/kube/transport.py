"""Bytes to and from one API server: whole answers, and streams to cut off.

libcurl's connections (`asoreconcile.wire`), HTTP/1.1, no retries and no redirects.
Every wait has a deadline, and ends at once when another thread closes (RF-13, TH-9).
"""

import socket
import threading
from collections.abc import Iterator, Mapping
from itertools import chain
from urllib.parse import urlsplit

from asoreconcile.call_limit import limited
from asoreconcile.fencing import Fence
from asoreconcile.kube.cluster import ClusterConfig, KubeConfigError
from asoreconcile.kube.errors import TransportError
from asoreconcile.redaction import know
from asoreconcile.wire.destination import Destination, Proxy
from asoreconcile.wire.errors import WireError
from asoreconcile.wire.handle import Patience
from asoreconcile.wire.pool import HandlePool
from asoreconcile.wire.request import WireAnswer, WireRequest
from asoreconcile.wire.stream import WireStream
from asoreconcile.wire.trust import TlsTrust

CONNECT_SECONDS = 10.0
READ_SECONDS = 60.0
# Servers answer the head of a watch at once: longer is a server that hangs.
HEAD_SECONDS = 30.0
# etcd keeps objects of 1.5 MiB, and an event has one or two; JSON escapes make it more.
_MAX_LINE_BYTES = 16 << 20
# A page of a list, or all definitions at once; more than that no process would survive.
MAX_BODY_BYTES = 256 << 20
# Pieces of 16 KB: what is searched as one must not be small, nor beyond a core's cache.
_JOINED = 4

# A peer that vanished is noticed by the kernel, even on a quiet watch.
_KEEPALIVE = [
    (socket.IPPROTO_TCP, socket.TCP_NODELAY, 1),
    (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),
    *(
        (socket.IPPROTO_TCP, getattr(socket, name), value)
        for name, value in (
            ("TCP_KEEPIDLE", 15),
            ("TCP_KEEPINTVL", 5),
            ("TCP_KEEPCNT", 3),
            ("TCP_USER_TIMEOUT", 30_000),  # of probes as of requests, in ms
        )
        if hasattr(socket, name)
    ),
]

_PLAIN = "identity"

ApiResponse = WireAnswer
"""A whole answer; header names in lower case."""


class Transport:
    """Requests to one API server. Safe from any thread; share it."""

    def __init__(
        self,
        config: ClusterConfig,
        *,
        user_agent: str,
        read_seconds: float = READ_SECONDS,
        before_write: Fence | None = None,
    ) -> None:
        """read_seconds, before_write: see `KubeClient`. Raises KubeConfigError."""
        parts = urlsplit(config.url)
        self.host = parts.netloc.rpartition("@")[2]
        self._prefix = parts.path.rstrip("/")
        self._authorization = config.authorization
        self._renew = config.renew
        self._generation = config.generation
        self._impersonation = config.impersonation
        self._asked_as = threading.local()  # the credential of a thread's last request
        self._user_agent = user_agent
        self._read_seconds = read_seconds
        self._pool = HandlePool(
            _destination(config),
            trust=config.trust or _nobody,
            generation=config.generation,
            socket_options=_KEEPALIVE,
            accept_encoding="",
            fence=before_write,
        )

    def send(
        self,
        method: str,
        target: str,
        *,
        headers: Mapping[str, str],
        body: bytes | None = None,
        read_seconds: float | None = None,
    ) -> ApiResponse:
        """One request, one answer. Blocks, within a limit. Raises TransportError.

        target: path and query. read_seconds: for all of it, the body included; None is
        the transport's own. Less where the reconcile has less left: raises
        DeadlineError, with nothing sent, when it has none, and StoppedError when a stop
        broke it off or the transport is closed.
        """
        seconds = self._read_seconds if read_seconds is None else read_seconds
        request = self._request(method, target, headers, body)
        with limited(seconds, is_read=method == "GET") as call:
            try:
                answer = self._pool.exchange(
                    request,
                    call=call,
                    patience=Patience(connect=CONNECT_SECONDS, silence=seconds),
                    max_bytes=MAX_BODY_BYTES,
                )
            except WireError as error:
                raise _failure(f"{method} {self.host}", error) from error
        _check_plain(f"{method} {self.host}", answer.headers)
        return answer

    def stream(
        self,
        target: str,
        *,
        headers: Mapping[str, str],
        read_seconds: float,
        whole_seconds: float | None = None,
    ) -> "Stream":
        """Open an answer to be read line by line. Raises as `send`.

        Its head has to come within the transport's own `read_seconds`; a watch's, that
        has no end, within half a minute: servers send it before the first event.
        read_seconds: the longest silence between two pieces of the answer.
        whole_seconds: for all of the answer; None without a limit.
        """
        head_seconds = HEAD_SECONDS if whole_seconds is None else self._read_seconds
        head_seconds = min(read_seconds, self._read_seconds, head_seconds)
        request = self._request("GET", target, headers, None)
        with limited(head_seconds, is_read=True) as call:
            try:
                opened = self._pool.stream(
                    request,
                    call=call,
                    patience=Patience(connect=CONNECT_SECONDS, silence=read_seconds),
                )
            except WireError as error:
                raise _failure(f"GET {self.host}", error) from error
            call.go_on_for(whole_seconds)
        try:
            _check_plain(f"GET {self.host}", opened.headers)
        except BaseException:
            opened.close()
            raise
        return Stream(opened)

    def renew_credential(self) -> bool:
        """Whether there is another credential than that of this thread's last request,
        which was refused; somebody may have renewed it already. Raises CredentialError.
        """
        refused: object = getattr(self._asked_as, "credential", None)
        if self._credential() != refused:
            return True
        self._renew()
        return self._credential() != refused

    def renew_connections(self) -> None:
        """Use no connection of now for a further request."""
        self._pool.renew()

    def close(self) -> None:
        """Cut all connections: a waiting call raises TransportError now, and a further
        one StoppedError.
        """
        self._pool.close()

    def _credential(self) -> tuple[str, int]:
        """The header, and the number of the certificate."""
        return self._authorization(), self._generation()

    def _request(
        self, method: str, target: str, headers: Mapping[str, str], body: bytes | None
    ) -> WireRequest:
        """Raises TransportError for what would be no request."""
        self._asked_as.credential = authorization, _ = self._credential()
        # The server is near: to unpack what it has packed costs more than its bytes.
        sent = [
            ("User-Agent", self._user_agent),
            ("Accept-Encoding", _PLAIN),
            *headers.items(),
        ]
        if authorization:
            know(authorization.rpartition(" ")[2])
            sent.append(("Authorization", authorization))
        sent += self._impersonation
        try:
            return WireRequest(method, self._prefix + target, tuple(sent), body)
        except ValueError as error:
            raise TransportError(f"{method} {self.host}: not sent: {error}") from error


class Stream:
    """An answer being read. One thread iterates; any thread may close."""

    def __init__(self, answer: WireStream) -> None:
        self.status = answer.status
        self.headers = answer.headers
        self._answer = answer
        self._ended = False

    def lines(self) -> Iterator[bytes]:
        """The answer's lines. Ends with the answer, or when closed.

        Raises TransportError when the connection breaks, falls silent or stops inside
        a line.
        """
        held: list[bytes] = []  # of a line that has not ended, joined once it has
        held_bytes = 0
        for piece in chain.from_iterable(self._pieces()):
            # Not `split`, which looks at each byte: `find` costs a twentieth of it.
            start, end = 0, piece.find(b"\n")
            if end >= 0 and held:
                held.append(piece[:end])
                yield b"".join(held)
                held, held_bytes = [], 0
                start, end = end + 1, piece.find(b"\n", end + 1)
            while end >= 0:
                yield piece[start:end]
                start, end = end + 1, piece.find(b"\n", end + 1)
            if start < len(piece):
                held.append(piece[start:])
                held_bytes += len(piece) - start
            if held_bytes > _MAX_LINE_BYTES:
                raise TransportError("a line of the answer is too long")
        if held_bytes and self._ended:
            raise TransportError("the stream ended inside a line")

    def chunks(self) -> Iterator[bytes]:
        """The answer's bytes as they come. Ends with the answer, or when closed.

        Raises TransportError when the connection breaks or falls silent.
        """
        for pieces in self._pieces():
            for at in range(0, len(pieces), _JOINED):
                yield b"".join(pieces[at : at + _JOINED])

    def _pieces(self) -> Iterator[list[bytes]]:
        try:
            yield from self._answer.pieces()
            self._ended = not self._answer.is_closed
        except WireError as error:
            raise _failure("the stream broke", error) from error
        finally:
            self.close()

    def read(self) -> bytes:
        """The rest, for an answer that refuses; no more of it than of a line."""
        read, length = [], 0
        for chunk in self.chunks():
            read.append(chunk)
            length += len(chunk)
            if length > _MAX_LINE_BYTES:
                break
        return b"".join(read)

    def close(self) -> None:
        """End the stream; a reader blocked in it wakes up. Idempotent."""
        self._answer.close()


def _nobody() -> TlsTrust | None:
    """Without TLS nobody has to be trusted."""
    return None


def _destination(config: ClusterConfig) -> Destination:
    """Raises KubeConfigError, which quotes no URL: a password may be in it."""
    what = "proxy-url"
    try:
        proxy = Proxy.of(config.proxy_url) if config.proxy_url else None
        what = "server"
        return Destination.of(
            config.url, server_name=config.server_name or "", proxy=proxy
        )
    except ValueError as error:
        raise KubeConfigError(f"the cluster's {what}: {error}") from None


def _check_plain(what: str, headers: Mapping[str, str]) -> None:
    """Raises TransportError for what somebody packed unasked: not a byte of it is
    unpacked, as a megabyte may be a gigabyte.
    """
    packed = headers.get("content-encoding", _PLAIN)
    if packed != _PLAIN:
        raise TransportError(f"{what}: the answer is packed as {packed[:40]}, unasked")


def _failure(what: str, error: WireError) -> TransportError:
    """lost: the connection was reset or closed, and no deadline had passed."""
    return TransportError(f"{what}: {error}", lost=error.is_lost)
