"""The total time limit of one call to a server, and how a stop cancels it.

A socket timeout limits only silence: it restarts with each address, handshake and byte,
so a slow trickle of bytes can hold a worker forever. A call limit covers everything:
name resolution, connection, request, response head and body. It is the caller's limit,
or the time left of the reconcile if that is less. A stop cuts the connection of a
pending read; a write may take until the end of the stop, because its response says what
was done. Rules: D9, TH-9, RF-13.
"""

import errno
import ipaddress
import os
import socket
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from contextvars import ContextVar
from typing import Any

from asoreconcile.base import reconcile_context
from asoreconcile.base.clock import Clock, Timer
from asoreconcile.base.errors import StoppedError
from asoreconcile.base.single_flight import SingleFlight
from asoreconcile.base.stop_signal import StopSignal

# A healthy server still answers during a stop; a hanging one must not delay the next
# leader.
READ_SECONDS_AFTER_STOP = 2.0
# The share of the connection time: one address that drops packets must not use all of
# it.
_LEAST_SECONDS_AN_ADDRESS = 2.0
# `poll` counts in milliseconds.
_GRAIN_SECONDS = 0.002

_Address = tuple[socket.AddressFamily, socket.SocketKind, int, str, Any]
_RESOLVING: SingleFlight[tuple[str, int], Sequence[_Address]] = SingleFlight(
    own_thread=True, name="resolve-name"
)
os.register_at_fork(after_in_child=_RESOLVING.forget_all)
_CALL: ContextVar["Call | None"] = ContextVar("asoreconcile_call", default=None)


class Call:
    """A call in progress. One thread makes it; any thread may cancel it.

    seconds: total time of the call; None without a limit. is_read: argument of
    `limited`.
    """

    __slots__ = (
        "_clock",
        "_is_cut",
        "_is_ended",
        "_lock",
        "_socket",
        "_stop",
        "_timer",
        "is_read",
        "seconds",
        "until",
    )

    def __init__(self, seconds: float | None, *, is_read: bool = True) -> None:
        self.seconds = seconds
        self.is_read = is_read
        self.until = None if seconds is None else time.monotonic() + seconds
        """When it is over (`time.monotonic`); None without a limit."""
        self._lock = threading.Lock()
        self._socket: socket.socket | None = None
        self._is_cut = False
        self._stop: StopSignal | None = None
        self._clock: Clock | None = None
        self._timer: Timer | None = None
        self._is_ended = False

    @property
    def left(self) -> float | None:
        """Return the seconds until the call's limit, at least 0; None without a
        limit.
        """
        if self.until is None:
            return None
        return max(0.0, self.until - time.monotonic())

    @property
    def is_cut(self) -> bool:
        """True once the call was cancelled; it stays True."""
        return self._is_cut

    @property
    def is_over(self) -> bool:
        """True if no useful time is left. Always False without a limit."""
        return self.is_over_at(time.monotonic())

    def is_over_at(self, now: float) -> bool:
        """Like `is_over`. now: a recent `time.monotonic`, to save reading it again."""
        return self.until is not None and self.until - now <= _GRAIN_SECONDS

    def within(self, seconds: float | None) -> float | None:
        """Return a socket timeout of at most the time left."""
        left = self.left
        if left is None or seconds is None:
            return seconds if left is None else max(left, _GRAIN_SECONDS)
        return max(min(left, seconds), _GRAIN_SECONDS)

    def covers(self, seconds: float | None, *, is_read: bool) -> bool:
        """Return whether an inner limit would end no sooner, and be cancelled by the
        same stop.
        """
        left = self.left
        is_shorter = left is None or seconds is None or left <= seconds
        return self.is_read == is_read and is_shorter

    def uses(self, connected: socket.socket | None) -> None:
        """Set the socket to shut down when the call is cancelled."""
        with self._lock:
            self._socket = connected
            is_cut = self._is_cut
        # The call was cancelled while the socket was being opened.
        if is_cut and connected is not None:
            cut(connected)

    def cut_off(self) -> None:
        """Cancel the call: its pending read, send or connect fails now."""
        with self._lock:
            self._is_cut = True
            connected = self._socket
        if connected is not None:
            cut(connected)

    def heed(self, stop: StopSignal, clock: Clock) -> None:
        """Let a stop cancel this call, until `end`.

        A read is cancelled soon after the stop was requested, a write at the end of the
        stop.
        """
        self._stop, self._clock = stop, clock
        stop.add(self, self._set_timer)

    def end(self) -> None:
        """End the call: stops no longer cancel it."""
        if self._stop is None:
            return
        self._stop.remove(self)
        with self._lock:
            self._is_ended = True
            if self._timer is not None:
                self._timer.cancel()

    def _set_timer(self) -> None:
        # A repeated stop may give more time: the timer is set again with each.
        stop, clock = self._stop, self._clock
        if stop is None or clock is None:
            return
        ends = [] if stop.deadline is None else [stop.deadline]
        if self.is_read:
            ends.append(clock.monotonic() + READ_SECONDS_AFTER_STOP)
        with self._lock:
            if self._timer is not None:
                self._timer.cancel()
            # A concurrent stop may still be calling.
            if ends and not self._is_ended:
                self._timer = clock.call_at(min(ends), self.cut_off)

    def explain(self) -> str:
        """Return the reason, if the call failed because of its limit; otherwise "".

        Raises StoppedError if it was cancelled: the server is not the cause.
        """
        if self._is_cut:
            raise StoppedError("the controller is stopping")
        return f"timed out after {self.seconds:.1f} s" if self.is_over else ""


@contextmanager
def limited(seconds: float | None, *, is_read: bool) -> Iterator[Call]:
    """Return a context in which all connections of this thread share one time limit.

    seconds: the caller's limit; shorter if the reconcile or an outer call has less time
    left. is_read: the call changes nothing, so a stop may cancel it early.
    Raises DeadlineError or StoppedError, before anything is done, if the reconcile has
    no time left.
    """
    context, outer = reconcile_context.current(), _CALL.get()
    left = None if context is None else context.seconds_left
    if context is not None and left == 0:
        context.check()
    if outer is not None and outer.covers(seconds, is_read=is_read):
        yield outer  # A request and its sending share one limit and one cancellation.
        return
    limits = (seconds, left, None if outer is None else outer.left)
    call = Call(
        min((limit for limit in limits if limit is not None), default=None),
        is_read=is_read,
    )
    if context is not None and context.stop is not None:
        call.heed(context.stop, context.clock)
    token = _CALL.set(call)
    try:
        with nullcontext() if is_read else reconcile_context.finishing():
            yield call
    finally:
        call.end()
        _CALL.reset(token)


def current() -> Call | None:
    """Return the current call of this thread; None outside `limited`."""
    return _CALL.get()


def cut(connected: socket.socket) -> None:
    """Shut a connection down so that a blocked reader returns; a plain close would
    not.
    """
    with suppress(OSError):
        # Not the TLS socket's method: that would drop its TLS state while a thread
        # reads.
        socket.socket.shutdown(connected, socket.SHUT_RDWR)


def open_socket(
    host: str,
    port: int,
    *,
    call: Call,
    seconds: float | None,
    options: Sequence[tuple[int, int, int | bytes]],
) -> socket.socket:
    """Connect to one of a name's addresses; the current call can cancel it.

    seconds: limit for all addresses together; less if the call has less time left.
    Raises the OSError of the last address.
    """
    connecting = Call(call.within(seconds))
    addresses = _addresses(host, port, connecting)
    failure = OSError("the name has no address")
    for number, (family, kind, protocol, _, address) in enumerate(addresses):
        # Try the first address even without time left, so that the error is its own.
        if number and connecting.is_over:
            raise TimeoutError
        connected = socket.socket(family, kind, protocol)
        try:
            call.uses(connected)
            connected.settimeout(_share(connecting, len(addresses) - number))
            for option in options:
                connected.setsockopt(*option)
            connected.connect(address)
        except OSError as error:
            failure = error
            call.uses(None)
            connected.close()
        except BaseException:
            connected.close()
            raise
        else:
            return connected
    raise failure


def _share(connecting: Call, addresses: int) -> float | None:
    """Return seconds for the next address, with this many left to try."""
    left = connecting.left
    if left is None:
        return None
    return connecting.within(max(left / addresses, _LEAST_SECONDS_AN_ADDRESS))


def _addresses(host: str, port: int, connecting: Call) -> Sequence[_Address]:
    """Resolve a name. Raises OSError.

    A resolver call cannot be cancelled: it runs on a separate thread, once for all
    concurrent callers.
    """

    def resolve() -> Sequence[_Address]:
        return socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)

    # An address needs no resolver, and so no thread.
    host = host.strip("[]")
    try:
        ipaddress.ip_address(host)
    except ValueError:
        try:
            return _RESOLVING.do((host, port), resolve, at_most_seconds=connecting.left)
        except RuntimeError as error:  # CPython's message when no thread can be started
            raise OSError(errno.EAGAIN, f"cannot look the name up: {error}") from error
    return resolve()
