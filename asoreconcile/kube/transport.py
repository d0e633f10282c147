"""Bytes to and from one API server: whole answers, and streams to cut off.

urllib3 over one SSLContext, HTTP/1.1, no retries and no redirects of its own. Every
wait has a deadline, and ends at once when another thread closes (RF-13, TH-9).
"""

import threading
from collections.abc import Iterator, Mapping
from contextlib import suppress
from urllib.parse import urlsplit

import attrs
import urllib3

from asoreconcile.call_limit import Call, cut, limited
from asoreconcile.fencing import Fence
from asoreconcile.kube.cluster import ClusterConfig
from asoreconcile.kube.connections import Connections, socket_of
from asoreconcile.kube.errors import TransportError
from asoreconcile.redaction import know

CONNECT_SECONDS = 10.0
READ_SECONDS = 60.0
# Servers answer the head of a watch at once: longer is a server that hangs.
HEAD_SECONDS = 30.0
_CHUNK_BYTES = 1 << 16
# etcd keeps objects of 1.5 MiB, and an event has one or two; JSON escapes make it more.
_MAX_LINE_BYTES = 16 << 20


@attrs.frozen
class ApiResponse:
    """A whole answer; header names in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes = attrs.field(repr=False)


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
        """read_seconds, before_write: see `KubeClient`."""
        parts = urlsplit(config.url)
        self.host = parts.netloc
        self._prefix = parts.path.rstrip("/")
        if config.proxy_url and parts.scheme == "http":
            self._prefix = config.url  # proxies want the whole URL, tunnels do not
        self._authorization = config.authorization
        self._renew = config.renew
        self._generation = config.generation
        self._impersonation = config.impersonation
        self._asked_as = threading.local()  # the credential of a thread's last request
        self._user_agent = user_agent
        self._read_seconds = read_seconds
        self._connections = Connections(config, before_write=before_write)
        self._pool = self._connections.pool

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
        broke it off.
        """
        seconds = self._read_seconds if read_seconds is None else read_seconds
        with limited(seconds, is_read=method == "GET") as call:
            try:
                answer = self._pool.request(
                    method,
                    self._prefix + target,
                    body=body,
                    headers=self._headers(headers),
                    timeout=_timeout(seconds, call),
                    retries=False,
                    redirect=False,
                )
            except (urllib3.exceptions.HTTPError, OSError) as error:
                raise _failure(f"{method} {self.host}", error, call) from error
            if call.is_cut:
                call.explain()  # without a length a part of an answer looks whole
        return ApiResponse(answer.status, _lower(answer.headers), answer.data)

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
        with limited(head_seconds, is_read=True) as call:
            try:
                answer = self._pool.request(
                    "GET",
                    self._prefix + target,
                    headers=self._headers(headers),
                    timeout=_timeout(read_seconds, call),
                    retries=False,
                    redirect=False,
                    preload_content=False,
                )
            except (urllib3.exceptions.HTTPError, OSError) as error:
                raise _failure(f"GET {self.host}", error, call) from error
            call.go_on_for(whole_seconds)
        return Stream(answer)

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
        self._connections.renew()

    def close(self) -> None:
        """Cut all connections: a waiting call raises TransportError now."""
        self._connections.close()

    def _credential(self) -> tuple[str, int]:
        """The header, and the number of the certificate."""
        return self._authorization(), self._generation()

    def _headers(self, headers: Mapping[str, str]) -> Mapping[str, str]:
        self._asked_as.credential = authorization, _ = self._credential()
        sent = urllib3.HTTPHeaderDict({"User-Agent": self._user_agent, **headers})
        if authorization:
            know(authorization.rpartition(" ")[2])
            sent["Authorization"] = authorization
        for name, value in self._impersonation:
            sent.add(name, value)
        return sent


class Stream:
    """An answer being read. One thread iterates; any thread may close."""

    def __init__(self, answer: urllib3.BaseHTTPResponse) -> None:
        self.status = answer.status
        self.headers = _lower(answer.headers)
        self._answer = answer
        self._lock = threading.Lock()
        self._closed = threading.Event()
        self._reading = False
        self._ended = False
        self._socket = socket_of(answer)

    def lines(self) -> Iterator[bytes]:
        """The answer's lines. Ends with the answer, or when closed.

        Raises TransportError when the connection breaks, falls silent or stops inside
        a line.
        """
        held: list[bytes] = []  # of a line that has not ended, joined once it has
        held_bytes = 0
        for chunk in self.chunks():
            first, *others = chunk.split(b"\n")
            held.append(first)
            held_bytes += len(first)
            if others:
                yield b"".join(held)
                *whole, last = others
                yield from whole
                held, held_bytes = [last], len(last)
            if held_bytes > _MAX_LINE_BYTES:
                raise TransportError("a line of the answer is too long")
        if held_bytes and self._ended:
            raise TransportError("the stream ended inside a line")

    def chunks(self) -> Iterator[bytes]:
        """The answer's bytes as they come. Ends with the answer, or when closed.

        Raises TransportError when the connection breaks or falls silent.
        """
        with self._lock:
            if self._closed.is_set():
                return
            self._reading = True
        try:
            yield from self._answer.stream(_CHUNK_BYTES, decode_content=False)
            self._ended = not self._closed.is_set()
        except (urllib3.exceptions.HTTPError, OSError, ValueError) as error:
            if not self._closed.is_set():
                raise _failure("the stream broke", error) from error
        finally:
            with self._lock:
                self._reading = False
            self.close()

    def read(self) -> bytes:
        """The whole rest, for an answer that refuses."""
        try:
            return self._answer.read(_MAX_LINE_BYTES, decode_content=False)
        except (urllib3.exceptions.HTTPError, OSError) as error:
            raise _failure("the answer broke", error) from error

    def close(self) -> None:
        """End the stream; a reader blocked in it wakes up. Idempotent."""
        with self._lock:
            self._closed.set()
            # Without a connection the answer was read to its end, and the socket is the
            # pool's again: another request may be using it.
            if self._socket is not None and self._answer.connection is not None:
                cut(self._socket)
            if not self._reading:
                # Not under a reader: urllib3's answers are for one thread.
                with suppress(OSError, ValueError, urllib3.exceptions.HTTPError):
                    self._answer.close()


def _timeout(inactivity_seconds: float, call: Call) -> urllib3.Timeout:
    return urllib3.Timeout(
        connect=call.within(CONNECT_SECONDS), read=inactivity_seconds
    )


def _failure(what: str, error: Exception, call: Call | None = None) -> TransportError:
    """lost: the connection was reset or closed, and no deadline had passed."""
    if call is not None and (reason := call.explain()):
        return TransportError(f"{what}: {reason}")
    lost = isinstance(error, urllib3.exceptions.ProtocolError)
    return TransportError(f"{what}: {error}", lost=lost)


def _lower(headers: Mapping[str, str]) -> dict[str, str]:
    return {name.lower(): value for name, value in headers.items()}
