"""One libcurl connection: one transfer at a time, driven from the caller's thread.

    start -> turn, turn, ... (each waits for the socket, then lets libcurl go on) -> end

libcurl does not wait by itself: each wait here ends with data or at the call's limit,
and the fence is called after the wait, before libcurl acts. The socket is opened here,
within the call's time, so that another thread can cancel it (`call_limit`).
"""

import os
import select
import socket
import threading
import time
import weakref
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache

import attrs
import pycurl

from asoreconcile.base.call_limit import Call, cut, open_socket
from asoreconcile.base.fencing import UNDELIVERED_SECONDS
from asoreconcile.wire.destination import Destination
from asoreconcile.wire.errors import WireError, wire_error
from asoreconcile.wire.transfer import Transfer
from asoreconcile.wire.trust import TlsTrust

_USER_TIMEOUT: int | None = getattr(socket, "TCP_USER_TIMEOUT", None)  # Linux
# poll(2) takes a C int of milliseconds: without an end it would overflow.
_LONGEST_WAIT_SECONDS = 3600.0
# Descriptors that libcurl needs in addition to the socket to connect.
_SPARES = 2
_POLLED = {
    pycurl.POLL_IN: select.POLLIN,
    pycurl.POLL_OUT: select.POLLOUT,
    pycurl.POLL_INOUT: select.POLLIN | select.POLLOUT,
}

SocketOption = tuple[int, int, int]


@attrs.frozen
class Patience:
    """Time limits of a transfer in seconds: until there is a TCP connection, without a
    byte, and for the body from the head on (None for no separate limit).
    """

    connect: float
    silence: float
    body: float | None = None


class CurlHandle:
    """A handle of libcurl with at most one connection. For one thread at a time,
    except `cut`.
    """

    def __init__(
        self,
        destination: Destination,
        trust: TlsTrust | None,
        *,
        socket_options: Sequence[SocketOption],
        before_connecting: Callable[["CurlHandle"], None],
        accept_encoding: str,
    ) -> None:
        """trust: TLS settings; None without TLS. before_connecting: a function whose
        exceptions are raised instead. accept_encoding: encodings that responses may
        have; with "" no such header is sent, and nothing is decoded.
        """
        self.trust = trust
        self.generation: object = None  # of its connection; the pool's to compare
        self.reference = weakref.ref(self)
        """The pool's, to find it while somebody uses it."""
        self.is_kept = False
        """Whether the pool has kept it after a request: its connection may be old."""
        self._destination = destination
        self._socket_options = socket_options
        self._before_connecting = before_connecting
        self._poll = select.poll()
        # By descriptor: the events that libcurl waits for, and those that `_poll` has.
        self._wanted: dict[int, int] = {}
        self._polled: dict[int, int] = {}
        self._timer: float | None = None
        self._lock = threading.Lock()
        self._socket: socket.socket | None = None
        self._is_cut = False
        self._usual_timeout = 0
        self._is_impatient = False
        self._transfer: Transfer | None = None
        self._call = Call(None)
        self._patience = Patience(0.0, 0.0)
        self._heard = 0.0
        self._body_until: float | None = None
        self._multi = pycurl.CurlMulti()
        self._multi.setopt(pycurl.M_SOCKETFUNCTION, self._want)
        self._multi.setopt(pycurl.M_TIMERFUNCTION, self._set_timer)
        # `cut` reaches one socket: another that libcurl kept would be out of its reach.
        self._multi.setopt(pycurl.M_MAXCONNECTS, 1)
        self._curl = self._made(accept_encoding)

    def _made(self, accept_encoding: str) -> pycurl.Curl:
        curl = pycurl.Curl()
        # libcurl's handling of signals is for processes with one thread.
        curl.setopt(pycurl.NOSIGNAL, 1)
        curl.setopt(pycurl.HTTP_VERSION, pycurl.CURL_HTTP_VERSION_1_1)
        if accept_encoding:  # "" would be all that libcurl knows
            curl.setopt(pycurl.ACCEPT_ENCODING, accept_encoding)
        self._destination.apply(curl)
        if self.trust is not None:
            self.trust.apply(curl)
        curl.setopt(pycurl.OPENSOCKETFUNCTION, self._open)
        curl.setopt(pycurl.SOCKOPTFUNCTION, _is_connected)
        return curl

    def start(self, transfer: Transfer, *, call: Call, patience: Patience) -> None:
        """Prepare a request; `turn` sends it."""
        request, curl = transfer.request, self._curl
        self._transfer, self._call, self._patience = transfer, call, patience
        self._heard = time.monotonic()
        self._body_until = None
        transfer.apply(curl)
        curl.setopt(pycurl.HTTPGET, 1)  # and no body, until something else is said
        if request.method == "HEAD":
            curl.setopt(pycurl.NOBODY, 1)
        elif request.body is not None:
            curl.setopt(pycurl.UPLOAD, 1)
            # Without a length the body would go out in chunks, which not every server
            # takes.
            curl.setopt(pycurl.INFILESIZE_LARGE, len(request.body))
        # UPLOAD alone would make each of them a PUT.
        curl.setopt(pycurl.CUSTOMREQUEST, request.method)
        curl.setopt(pycurl.REQUEST_TARGET, self._destination.target(request.target))
        lines = request.lines()
        if self._destination.server_name:
            lines.insert(0, f"Host: {self._destination.authority}".encode())
        curl.setopt(pycurl.HTTPHEADER, lines)
        # A connection of before is there to be cut from now on; a new one joins once
        # open.
        call.uses(self._socket)
        if self._is_impatient != transfer.is_fenced:
            self._be_impatient(transfer.is_fenced)
        self._timer = 0.0
        self._multi.add_handle(curl)

    def turn(self) -> bool:
        """Wait until libcurl can continue, and let it. Return whether the transfer goes
        on.

        Raises WireError, StoppedError if the call was cancelled, and the exceptions of
        the fence. Close the handle then.
        """
        transfer = self._running()
        ready = self._waited()
        # The lease may have been lost while the peer accepted no data.
        if transfer.is_fenced and transfer.is_sent and self._is_sending():
            transfer.check_fence()
        if not ready:
            running = self._multi.socket_action(pycurl.SOCKET_TIMEOUT, 0)[1]
        else:
            self._heard = time.monotonic()
        for descriptor, seen in ready:
            running = self._multi.socket_action(descriptor, _actions(seen))[1]
        if transfer.is_sent:
            transfer.read_head()
        # Raised before libcurl's own error: for libcurl each of them is an aborted
        # callback.
        if transfer.failure is not None:
            raise transfer.failure
        if running:
            if transfer.has_head and self._body_until is None:
                self._limit_body()
            return True
        self._finish(transfer)
        return False

    def close(self) -> None:
        """Free all resources. Only for the thread that uses the handle."""
        self._transfer = None
        # It is in there only while a transfer is under way.
        with suppress(pycurl.error):
            self._multi.remove_handle(self._curl)
        self._curl.close()
        self._multi.close()
        self._forget_socket()

    def cut(self) -> None:
        """Cancel a transfer that another thread waits for; the handle completes no more
        transfers. Any thread.
        """
        with self._lock:
            self._is_cut = True
            if self._socket is not None:
                cut(self._socket)

    def _running(self) -> Transfer:
        if self._transfer is None:
            raise RuntimeError("no transfer was started")
        return self._transfer

    def _finish(self, transfer: Transfer) -> None:
        _, _, failed = self._multi.info_read()
        if self._curl.getinfo(pycurl.ACTIVESOCKET) == pycurl.SOCKET_BAD:
            self._forget_socket()  # libcurl has closed it
        self._multi.remove_handle(self._curl)
        self._call.uses(None)
        self._transfer = None
        if self._call.is_cut:
            self._call.explain()  # without a length a part of an answer looks whole
        for _, code, text in failed:
            raise wire_error(code, text, is_sent=transfer.is_sent)
        if not transfer.has_head:  # libcurl counts that as a success
            raise WireError(
                "the answer ended inside its head", is_sent=True, is_lost=True
            )

    def _waited(self) -> list[tuple[int, int]]:
        """Wait, and return the descriptors that are ready; none if libcurl's timer is
        due.
        """
        while True:
            now = time.monotonic()
            timer = self._timer
            if timer is not None and timer <= now:
                self._timer = None
                return []
            silent_at = self._heard + self._patience.silence
            end = min(silent_at, now + _LONGEST_WAIT_SECONDS)
            for other in (self._call.until, self._body_until, timer):
                if other is not None and other < end:
                    end = other
            if self._polled != self._wanted:
                self._poll_wanted()
            ready = self._poll.poll(max(0.0, end - now) * 1000)
            now = time.monotonic()
            # Before `ready`: a cut makes the socket readable, and would pass for an
            # answer.
            if self._call.is_over_at(now):
                raise self._too_late(self._call.explain())
            if self._body_until is not None and now >= self._body_until:
                raise self._too_late(
                    f"the answer took over {self._patience.body:.0f} s to arrive"
                )
            if ready:
                return ready
            if now >= silent_at:
                raise self._too_late(
                    f"timed out: nothing came for {self._patience.silence:.1f} s"
                )

    def _poll_wanted(self) -> None:
        """Register the events that libcurl waits for with `_poll`, if they have
        changed.

        A later transfer on the same connection waits for the same events.
        """
        for descriptor in self._polled.keys() - self._wanted.keys():
            self._poll.unregister(descriptor)
        for descriptor, what in self._wanted.items():
            self._poll.register(descriptor, _POLLED.get(what, 0))
        self._polled = self._wanted.copy()

    def _too_late(self, reason: str) -> WireError:
        return WireError(reason, is_sent=self._running().is_sent)

    def _limit_body(self) -> None:
        seconds = self._patience.body
        now = time.monotonic()
        self._body_until = None if seconds is None else now + seconds

    def _is_sending(self) -> bool:
        """Return whether libcurl waits until the peer accepts more data."""
        for what in self._wanted.values():
            if what in (pycurl.POLL_OUT, pycurl.POLL_INOUT):
                return True
        return False

    def _want(self, what: int, descriptor: int, *_: object) -> None:
        """Record the events that libcurl waits for on a descriptor (a callback of
        libcurl).
        """
        if what == pycurl.POLL_REMOVE:
            self._wanted.pop(descriptor, None)
        else:
            self._wanted[descriptor] = what

    def _set_timer(self, milliseconds: int) -> int:
        """Record the time at which libcurl must be called in any case (a callback of
        libcurl).
        """
        if milliseconds > 0:
            self._timer = time.monotonic() + milliseconds / 1000
        else:
            self._timer = None if milliseconds < 0 else 0.0
        return 0

    def _open(self, *_: object) -> object:
        """Return a connected socket (a callback of libcurl)."""
        transfer = self._running()
        try:
            # A kept connection was dead: libcurl has closed its copy of it, and asks
            # for another.
            self._forget_socket()
            self._before_connecting(self)
            connected = self._connected()
        except BaseException as error:  # noqa: BLE001 - raised by `turn`
            transfer.failure = error
            return pycurl.SOCKET_BAD
        with self._lock:
            self._socket = connected
            # While it was being opened `cut` had nothing to cut.
            if self._is_cut:
                cut(connected)
        self._is_impatient = False
        self._be_impatient(transfer.is_fenced)
        connected.setblocking(False)
        self._heard = time.monotonic()
        return connected  # libcurl takes a copy of its descriptor

    def _connected(self) -> socket.socket:
        """Return a connected socket. Raises WireError, StoppedError."""
        host, port = self._destination.first_hop
        what = "the proxy " if self._destination.proxy is not None else ""
        try:
            connected = open_socket(
                host,
                port,
                call=self._call,
                seconds=self._patience.connect,
                options=self._socket_options,
            )
            _require_spares(connected)
        except OSError as error:
            reason = self._call.explain()
            if not reason:
                reason = "it timed out" if isinstance(error, TimeoutError) else ""
            raise WireError(
                f"cannot connect to {what}{host}: {reason or error}", is_sent=False
            ) from error
        return connected

    def _forget_socket(self) -> None:
        with self._lock:
            ours, self._socket = self._socket, None
        if ours is not None:
            ours.close()

    def _be_impatient(self, wanted: bool) -> None:
        """Set whether the kernel drops undelivered bytes soon, or as usual (LE-5)."""
        if _USER_TIMEOUT is None or wanted == self._is_impatient:
            return
        ours = self._socket
        if ours is None:
            return
        if wanted:
            self._usual_timeout = ours.getsockopt(socket.IPPROTO_TCP, _USER_TIMEOUT)
        value = int(UNDELIVERED_SECONDS * 1000) if wanted else self._usual_timeout
        ours.setsockopt(socket.IPPROTO_TCP, _USER_TIMEOUT, value)
        self._is_impatient = wanted


def _require_spares(connected: socket.socket) -> None:
    """Check that the process can open the descriptors that libcurl needs next: a copy
    of the socket, and the file of authorities. Without them libcurl reports an error of
    the server or of the file. Raises OSError if there are too few.
    """
    spares: list[int] = []
    try:
        while len(spares) < _SPARES:
            spares.append(os.dup(connected.fileno()))
    except OSError:
        connected.close()
        raise
    finally:
        for spare in spares:
            os.close(spare)


def _is_connected(*_: object) -> object:
    return pycurl.SOCKOPT_ALREADY_CONNECTED


@cache
def _actions(seen: int) -> int:
    """Translate the events of `poll` to those of libcurl."""
    return (
        (pycurl.CSELECT_IN if seen & (select.POLLIN | select.POLLHUP) else 0)
        | (pycurl.CSELECT_OUT if seen & select.POLLOUT else 0)
        | (pycurl.CSELECT_ERR if seen & (select.POLLERR | select.POLLNVAL) else 0)
    )
