"""How long one call to a server may take in all, and what breaks it off at once.

A socket's own time-out is on silence: it starts again with each address, each handshake
and each byte, so that a byte now and then holds a worker for ever. A limit is on the
whole: the name, the connection, the request, the answer's head and its body. It is the
caller's own, or what is left of the reconcile if that is less. A stop cuts the
connection under whoever waits for a read; a write has until the stop's own end, because
its answer says what was done. Rules: D9, TH-9, RF-13.
"""

import errno
import ipaddress
import os
import socket
import threading
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager, suppress
from contextvars import ContextVar, Token
from typing import Any

from asoreconcile import reconcile_context
from asoreconcile.clock import Clock, Timer
from asoreconcile.errors import StoppedError
from asoreconcile.reconcile_context import Context
from asoreconcile.single_flight import SingleFlight
from asoreconcile.stop_signal import StopSignal

# After a stop a healthy server still answers; one that hangs must not keep the lease
# from the next leader.
READ_SECONDS_AFTER_STOP = 2.0
# Of a connection's time: one address that drops packets must not use up all of it.
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
    """A call under way. One thread makes it; any thread may cut it off.

    seconds: all that it has; None without a limit. is_read: as of `limited`.
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
        """Seconds until it is over, not below 0; None without a limit."""
        if self.until is None:
            return None
        return max(0.0, self.until - time.monotonic())

    @property
    def is_cut(self) -> bool:
        """True once somebody has broken the call off; it stays so."""
        return self._is_cut

    @property
    def is_over(self) -> bool:
        """True if no time worth waiting for is left. Always False without a limit."""
        return self.is_over_at(time.monotonic())

    def is_over_at(self, now: float) -> bool:
        """As `is_over`. now: of `time.monotonic`, for who has just looked."""
        return self.until is not None and self.until - now <= _GRAIN_SECONDS

    def within(self, seconds: float | None) -> float | None:
        """A socket's time-out that is no longer than what is left."""
        left = self.left
        if left is None or seconds is None:
            return seconds if left is None else max(left, _GRAIN_SECONDS)
        return max(min(left, seconds), _GRAIN_SECONDS)

    def covers(self, seconds: float | None, *, is_read: bool) -> bool:
        """Whether one inside it would end no sooner, and be cut off by the same."""
        left = self.left
        is_shorter = left is None or seconds is None or left <= seconds
        return self.is_read == is_read and is_shorter

    def go_on_for(self, seconds: float | None) -> None:
        """From now on another limit: for an answer that is read as it arrives.

        Less if the reconcile has less left.
        """
        limits = [
            s for s in (seconds, reconcile_context.seconds_left()) if s is not None
        ]
        self.seconds = seconds = min(limits, default=None)
        self.until = None if seconds is None else time.monotonic() + seconds

    def uses(self, connected: socket.socket | None) -> None:
        """The socket to shut down when the call is cut off."""
        with self._lock:
            self._socket = connected
            is_cut = self._is_cut
        # It was cut off while the socket was being opened.
        if is_cut and connected is not None:
            cut(connected)

    def cut_off(self) -> None:
        """End the call: whoever reads, sends or connects gets an error now."""
        with self._lock:
            self._is_cut = True
            connected = self._socket
        if connected is not None:
            cut(connected)

    def heed(self, stop: StopSignal, clock: Clock) -> None:
        """Until `end`: be cut off at the end of a stop; a read soon after it came."""
        self._stop, self._clock = stop, clock
        stop.add(self, self._set_timer)

    def end(self) -> None:
        """Heed no stop any more."""
        if self._stop is None:
            return
        self._stop.remove(self)
        with self._lock:
            self._is_ended = True
            if self._timer is not None:
                self._timer.cancel()

    def _set_timer(self) -> None:
        # Asked again may give more time: the timer is set anew with each call.
        stop, clock = self._stop, self._clock
        if stop is None or clock is None:
            return
        ends = [] if stop.deadline is None else [stop.deadline]
        if self.is_read:
            ends.append(clock.monotonic() + READ_SECONDS_AFTER_STOP)
        with self._lock:
            if self._timer is not None:
                self._timer.cancel()
            # A stop that comes at this moment may still be calling.
            if ends and not self._is_ended:
                self._timer = clock.call_at(min(ends), self.cut_off)

    def explain(self) -> str:
        """Why it failed, if that was its limit; "" if that was not.

        Raises StoppedError when it was cut off: not the server's doing.
        """
        if self._is_cut:
            raise StoppedError("the controller is stopping")
        return f"timed out after {self.seconds:.1f} s" if self.is_over else ""


def limited(
    seconds: float | None, *, is_read: bool, outlives: bool = False
) -> AbstractContextManager[Call]:
    """Within the block all connections of this thread heed one limit.

    seconds: of the caller's own; less if the reconcile, or a call around this one, has
    less left. is_read: it changes nothing, so that a stop may cut it off. outlives: the
    call goes on after the block, with a limit that is no other's.
    Raises DeadlineError or StoppedError, before anything is done, when the reconcile
    has no time left.
    """
    return _Limited(seconds, is_read=is_read, outlives=outlives)


class _Limited:
    """The block of `limited`. No generator: each request passes here."""

    __slots__ = ("_call", "_is_read", "_outlives", "_seconds", "_token", "_write")

    def __init__(self, seconds: float | None, *, is_read: bool, outlives: bool) -> None:
        self._seconds, self._is_read, self._outlives = seconds, is_read, outlives
        self._token: Token[Call | None] | None = None
        self._write: Token[Context | None] | None = None
        self._call: Call | None = None

    def __enter__(self) -> Call:
        context, outer = reconcile_context.current(), _CALL.get()
        left = None if context is None else context.seconds_left
        if context is not None and left == 0:
            context.check()
        seconds, is_read = self._seconds, self._is_read
        # One limit, and one who cuts, for a request and the sending of it.
        if (
            outer is not None
            and not self._outlives
            and outer.covers(seconds, is_read=is_read)
        ):
            return outer
        if left is not None and (seconds is None or left < seconds):
            seconds = left
        if outer is not None:
            left = outer.left
            if left is not None and (seconds is None or left < seconds):
                seconds = left
        call = self._call = Call(seconds, is_read=is_read)
        if context is not None and context.stop is not None:
            call.heed(context.stop, context.clock)
        if not is_read:
            self._write = reconcile_context.begin_write()
        self._token = _CALL.set(call)
        return call

    def __exit__(self, *_: object) -> None:
        if self._token is None or self._call is None:
            return  # the call around this one goes on
        if self._write is not None:
            reconcile_context.end_write(self._write)
        self._call.end()
        _CALL.reset(self._token)


def current() -> Call | None:
    """The call that this thread makes; None outside `limited`."""
    return _CALL.get()


def cut(connected: socket.socket) -> None:
    """End a connection under whoever reads from it; a plain close would not."""
    with suppress(OSError):
        # Not the method of a TLS socket: that would forget its keys under the reader.
        socket.socket.shutdown(connected, socket.SHUT_RDWR)


def open_socket(
    host: str,
    port: int,
    *,
    call: Call,
    seconds: float | None,
    options: Sequence[tuple[int, int, int | bytes]],
    source_address: tuple[str, int] | None = None,
) -> socket.socket:
    """A connection to one of a name's addresses, the call's to cut off.

    seconds: for all of them together; less where the call has less left. Raises
    OSError: the last one's.
    """
    connecting = Call(call.within(seconds))
    addresses = _addresses(host, port, connecting)
    failure = OSError("the name has no address")
    for number, (family, kind, protocol, _, address) in enumerate(addresses):
        # The first is tried even so: one with no time left must fail by its own error.
        if number and connecting.is_over:
            raise TimeoutError
        connected = socket.socket(family, kind, protocol)
        try:
            call.uses(connected)
            connected.settimeout(_share(connecting, len(addresses) - number))
            for option in options:
                connected.setsockopt(*option)
            if source_address:
                connected.bind(source_address)
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
    """Seconds for the next address, when there are so many left."""
    left = connecting.left
    if left is None:
        return None
    return connecting.within(max(left / addresses, _LEAST_SECONDS_AN_ADDRESS))


def _addresses(host: str, port: int, connecting: Call) -> Sequence[_Address]:
    """What a name stands for. Raises OSError.

    A resolver cannot be broken off: it runs on a thread of its own, once for all who
    want to know.
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
        except RuntimeError as error:  # as CPython says it where there is no thread
            raise OSError(errno.EAGAIN, f"cannot look the name up: {error}") from error
    return resolve()
