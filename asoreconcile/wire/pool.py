"""The connections to one server: one for each concurrent call, kept for the next.

One thread uses a handle at a time. The most recently used idle handle is taken next, so
that the others can expire. An idle handle is closed after a while, when another is
returned, or by a timer in a quiet process: servers close idle connections too, and a
socket that only the server closed stays half open here.
"""

import os
import threading
import time
import weakref
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial

import attrs
import pycurl

from asoreconcile.base.call_limit import Call
from asoreconcile.base.clock import Clock, Timer
from asoreconcile.base.errors import StoppedError
from asoreconcile.base.fencing import Fence
from asoreconcile.wire.destination import Destination
from asoreconcile.wire.errors import WireError, not_sent
from asoreconcile.wire.handle import CurlHandle, Patience, SocketOption
from asoreconcile.wire.request import WireAnswer, WireRequest
from asoreconcile.wire.transfer import Transfer
from asoreconcile.wire.trust import TlsTrust

IDLE_SECONDS = 90.0
"""How long an idle connection is kept: it holds the CA certificates,
0.1 MB for a cluster's and 0.7 MB for all public CAs.
"""


class _OutdatedError(Exception):
    """The handle's certificates are outdated, so that another handle must be used.
    Nothing was sent.
    """


def _first(_: object = None) -> int:
    return 0


@attrs.define(eq=False)
class HandlePool:
    """Sends requests to one server over pooled connections. Safe from any thread.

    trust: called before each connection; None for a server without TLS. generation:
    function whose value changes when existing connections must not be reused. fence:
    called before each part of a write is sent (`fencing`). clock: clock of the timer
    that closes idle connections; with None they are closed at the next exchange.
    """

    _destination: Destination
    _trust: Callable[[], TlsTrust | None]
    _generation: Callable[[], object] = _first
    _socket_options: Sequence[SocketOption] = ()
    _accept_encoding: str = "gzip, deflate"
    _max_idle: int = 64
    _fence: Fence | None = None
    _clock: Clock | None = None
    _monotonic: Callable[[], float] = attrs.field(init=False)
    _timer: Timer | None = attrs.field(init=False, default=None)
    _lock: threading.Lock = attrs.field(init=False, factory=threading.Lock)
    _idle: list[tuple[CurlHandle, float]] = attrs.field(init=False, factory=list)
    # By references that do not keep them: a stream may be dropped unclosed.
    _busy: set[weakref.ref[CurlHandle]] = attrs.field(init=False, factory=set)
    _is_closed: bool = attrs.field(init=False, default=False)
    _made_in: int = attrs.field(init=False, factory=os.getpid)
    _renewals: int = attrs.field(init=False, default=0)

    @_monotonic.default
    def _monotonic_clock(self) -> Callable[[], float]:
        return time.monotonic if self._clock is None else self._clock.monotonic

    def exchange(
        self,
        request: WireRequest,
        *,
        call: Call,
        patience: Patience,
        max_bytes: int | None = None,
    ) -> WireAnswer:
        """Send a request and read the whole response; blocks, within the call's limit.

        Raises WireError, StoppedError once closed or if the call was cancelled, the
        errors of the fence, and RuntimeError in a forked child.
        """
        is_fresh = False
        while True:
            transfer = Transfer(request, fence=self._fence, max_bytes=max_bytes)
            handle = self._taken(fresh=is_fresh)
            try:
                handle.start(transfer, call=call, patience=patience)
                while handle.turn():
                    pass
            except _OutdatedError:
                self._dropped(handle)
            except WireError as error:
                self._dropped(handle)
                # The server has just closed a connection that was kept: a read is sent
                # again, over one that is not.
                if (
                    error.is_lost
                    and handle.is_kept
                    and request.is_read
                    and not transfer.has_head
                    and not call.is_cut
                ):
                    is_fresh = True
                    continue
                raise
            except BaseException:
                self._dropped(handle)
                raise
            else:
                self._given_back(handle)
                # `close` cuts connections: without a length the part of an answer that
                # came before looks like all of it.
                if self._is_closed and not transfer.has_length:
                    raise closed()
                return WireAnswer(
                    transfer.status, transfer.headers(), b"".join(transfer.body_pieces)
                )

    def renew(self) -> None:
        """Send no further requests over the connections open now; requests in progress
        go on.
        """
        with self._lock:
            self._renewals += 1

    def close(self) -> None:
        """Close every connection, idle or not, and open no more. Idempotent; does
        nothing in a forked child.
        """
        if self._made_in != os.getpid():
            return
        with self._lock:
            self._is_closed = True
            idle, self._idle = self._idle, []
            if self._timer is not None:
                self._timer.cancel()
            busy = [one() for one in list(self._busy)]
        for handle, _ in idle:
            handle.close()
        for busy_one in busy:
            if busy_one is not None:
                busy_one.cut()

    def _now(self) -> tuple[int, object]:
        return self._renewals, self._generation()

    def _taken(self, *, fresh: bool = False) -> CurlHandle:
        """Take a connection from the pool.

        fresh: whether to take a new connection.
        """
        # Two processes that write to one connection break it for both, and a lock that
        # another thread held at the fork is never given back here.
        check_process(self._made_in)
        current = self._now()
        outdated: list[CurlHandle] = []
        found: CurlHandle | None = None
        with self._lock:
            if self._is_closed:
                raise closed()
            while self._idle and found is None and not fresh:
                handle, _ = self._idle.pop()
                if handle.generation == current:
                    found = handle
                    self._busy.add(handle.reference)
                else:
                    outdated.append(handle)
        for handle in outdated:
            handle.close()
        return found or self._new()

    def _new(self) -> CurlHandle:
        """Make a connection. Raises WireError if the machine lacks resources."""
        trust = self._trust()
        try:
            handle = CurlHandle(
                self._destination,
                trust,
                socket_options=self._socket_options,
                before_connecting=self._connecting,
                accept_encoding=self._accept_encoding,
            )
        except pycurl.error as error:
            raise not_sent(error) from error
        handle.generation = self._now()
        handle.reference = weakref.ref(handle, self._busy.discard)
        with self._lock:
            self._busy.add(handle.reference)
        return handle

    def _connecting(self, handle: CurlHandle) -> None:
        """Connect a new connection. Raises _OutdatedError, StoppedError."""
        trust = self._trust()
        if self._is_closed:
            raise closed()
        # The handle was made for the old certificates, and libcurl connects later.
        if trust != handle.trust:
            raise _OutdatedError
        handle.generation = self._now()

    def _dropped(self, handle: CurlHandle) -> None:
        with self._lock:
            self._busy.discard(handle.reference)
        handle.close()

    def _given_back(self, handle: CurlHandle) -> None:
        now = self._monotonic()
        old: list[CurlHandle] = []
        with self._lock:
            self._busy.discard(handle.reference)
            if self._is_closed:
                old.append(handle)
            else:
                handle.is_kept = True
                self._idle.append((handle, now))
                old += self._outworn(now)
        for one in old:
            one.close()

    def _outworn(self, now: float) -> list[CurlHandle]:
        """Remove and return idle connections that are too many or too old; set the
        timer for the rest. The caller holds the lock.
        """
        old = []
        while self._idle and (
            len(self._idle) > self._max_idle or self._idle[0][1] + IDLE_SECONDS <= now
        ):
            old.append(self._idle.pop(0)[0])
        if self._idle and self._timer is None and self._clock is not None:
            # Without a thread for it, the next exchange tries again.
            with suppress(RuntimeError):
                self._timer = self._clock.call_at(
                    self._idle[0][1] + IDLE_SECONDS,
                    partial(_look, weakref.ref(self)),
                )
        return old

    def _close_old(self) -> None:
        with self._lock:
            self._timer = None
            old = [] if self._is_closed else self._outworn(self._monotonic())
        for one in old:
            one.close()


def _look(reference: weakref.ref[HandlePool]) -> None:
    """Close outdated connections of a pool. This is the timer's callback, which does
    not keep a dropped pool alive.
    """
    pool = reference()
    if pool is not None:
        pool._close_old()  # noqa: SLF001 - one of us


def check_process(made_in: int) -> None:
    """Check that this process made the pool. Raises RuntimeError in a process other
    than the one with this id.
    """
    if made_in != os.getpid():
        raise RuntimeError(
            "this client belongs to the process that this one was forked from: make "
            "one here"
        )


def closed() -> StoppedError:
    """Return the error to raise after a pool is closed."""
    return StoppedError("the connections are closed")
