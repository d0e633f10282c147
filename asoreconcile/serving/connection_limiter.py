"""The open connections of a listener: how many there may be, and how much memory their
requests may take. Safe from any thread.

A connection that is idle or slow is closed for another one that waits. Callers, told
apart by their address, share both limits: one caller never takes all of either.
"""

import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from enum import IntEnum

import attrs

from asoreconcile.base.errors import AsoreconcileError

FREE_BODY_BYTES = 1 << 18
"""Shorter bodies need no reservation: the number of connections limits their memory."""

MEMORY_BYTES = 64 << 20

# A client that takes longer to send a body or to read an answer is slow.
_SLOW_SECONDS = 1.0
# A caller may have so many times as many requests as there are places left: one caller
# alone gets three quarters of the places, and a second one three quarters of the rest.
_SHARE = 3
# A body takes its length twice: as the request, and as the answer made of it.
_COPIES = 2


class ConnectionLimitError(AsoreconcileError):
    """Too many concurrent requests: the client must retry this one."""


class _Stage(IntEnum):
    """The stage of a connection. Connections in lower stages are dropped first.

    HEAD: the head of a request is not complete. IDLE: the last request was answered.
    BODY: only the body is missing. SENDING: the client reads the answer. WORKING: the
    answer is being made; such a connection is never dropped.
    """

    HEAD = 0
    IDLE = 1
    BODY = 2
    SENDING = 3
    WORKING = 4


@attrs.define(eq=False)
class _Place:
    """One connection.

    since: time at which the present stage began. held: bytes reserved for its request.
    wants: bytes it waits for. dropped: whether it was closed for another connection;
    its thread ends soon.
    """

    connection: socket.socket
    caller: str
    since: float
    stage: _Stage = _Stage.HEAD
    is_urgent: bool = False
    held: int = 0
    wants: int = 0
    dropped: bool = False


class ConnectionLimiter:
    """The open connections, and whether each is in a request."""

    def __init__(
        self,
        most: int,
        *,
        reserve: int = 0,
        memory_bytes: int = MEMORY_BYTES,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """most: limit of concurrent requests, and of connections. reserve: additional
        requests and connections for urgent requests. memory_bytes: limit of all
        long bodies and their answers; a caller may take eight ninths of it.
        """
        self._most = most
        self._room = most + reserve
        self._memory = memory_bytes
        self._monotonic = monotonic
        self._changed = threading.Condition()
        # In the order in which they came to their stage.
        self._places: dict[socket.socket, _Place] = {}
        self._closing = False
        self._draining = False

    def add(self, connection: socket.socket, caller: str = "") -> bool:
        """Add a connection of a caller; False if there is no place, even by dropping
        another connection.
        """
        with self._changed:
            if self._closing:
                return False
            is_full = len(self._open_places()) >= self._room
            if is_full and not self._drop_for(caller, self._open_places()):
                return False
            place = _Place(connection, caller, self._monotonic())
            self._places[connection] = place
            return True

    def remove(self, connection: socket.socket) -> None:
        """Forget a connection that is closed, or about to be."""
        with self._changed:
            self._places.pop(connection, None)
            self._changed.notify_all()

    def drop(self) -> bool:
        """Drop the first connection that may be dropped; False if there is none."""
        with self._changed:
            return self._drop_for("", self._open_places())

    def request_started(self, connection: socket.socket) -> None:
        """Record the first byte of a request. Raises ConnectionError if dropped."""
        with self._changed:
            self._move(connection, _Stage.HEAD)

    def head_received(self, connection: socket.socket) -> None:
        """Record a complete head. Raises ConnectionError if dropped."""
        with self._changed:
            self._move(connection, _Stage.BODY)

    def reserve(
        self, connection: socket.socket, body_bytes: int, timeout_seconds: float
    ) -> None:
        """Reserve memory for a body and its answer, until the answer is sent.

        Blocks until there is enough. Callers that hold less go first, and slow clients
        of the caller that holds most are dropped. Raises ConnectionLimitError at the
        timeout, ConnectionError if dropped.
        """
        with self._changed:
            place = self._find(connection)
            place.wants = body_bytes * _COPIES
            deadline = self._monotonic() + timeout_seconds
            try:
                while not self._may_hold(place):
                    self._drop_slow_holder(place)
                    remaining = deadline - self._monotonic()
                    if remaining <= 0:
                        raise ConnectionLimitError("no memory for a long body")
                    self._changed.wait(min(remaining, self._until_slow()))
                    self._find(connection)
                place.held = place.wants
                place.since = self._monotonic()
            finally:
                place.wants = 0
                self._changed.notify_all()

    @contextmanager
    def answering(
        self, connection: socket.socket, *, urgent: bool = False
    ) -> Iterator[None]:
        """Record a complete request: until `sending`, only the client can end it.

        Raises ConnectionError if it was dropped meanwhile, ConnectionLimitError if it
        is not urgent and only the reserve is left.
        """
        with self._changed:
            place = self._find(connection)
            if not urgent:
                self._make_room(place.caller)
            place.is_urgent = urgent
            self._move(connection, _Stage.WORKING)
        try:
            yield
        finally:
            with self._changed:
                place.is_urgent = False
                place.held = 0
                if not place.dropped and connection in self._places:
                    self._move(connection, _Stage.IDLE)
                self._changed.notify_all()

    def sending(self, connection: socket.socket) -> None:
        """Record that the answer is sent from now on. Raises ConnectionError if
        dropped.
        """
        with self._changed:
            self._move(connection, _Stage.SENDING)

    @property
    def closing(self) -> bool:
        """Return whether each connection closes after its response."""
        return self._closing or self._draining

    def drain(self) -> None:
        """From now on close each connection after its response; new connections are
        accepted.
        """
        self._draining = True

    def close(self, timeout_seconds: float) -> int:
        """Close idle connections and wait for the others; returns how many did not
        end.
        """
        with self._changed:
            self._closing = True
            for place in self._open_places():
                if place.stage <= _Stage.IDLE:
                    _shut(place.connection)
            self._changed.wait_for(lambda: not self._requests(), timeout_seconds)
            return self._requests()

    # The caller of each method below holds the lock.

    def _open_places(self) -> list[_Place]:
        return [place for place in self._places.values() if not place.dropped]

    def _find(self, connection: socket.socket) -> _Place:
        place = self._places.get(connection)
        if place is None or place.dropped:
            raise ConnectionError("dropped for another")
        return place

    def _move(self, connection: socket.socket, stage: _Stage) -> None:
        place = self._find(connection)
        del self._places[connection]
        self._places[connection] = place
        place.stage, place.since = stage, self._monotonic()

    def _make_room(self, caller: str) -> None:
        busy = [
            place
            for place in self._open_places()
            if place.stage >= _Stage.SENDING and not place.is_urgent
        ]
        left = self._most - len(busy)
        if sum(place.caller == caller for place in busy) < _SHARE * left:
            return
        if not self._drop_for(caller, busy):
            raise ConnectionLimitError("all places are taken")

    def _drop_for(self, caller: str, places: list[_Place]) -> bool:
        """Drop one of the places for a caller: of the lowest stage, of the caller with
        the most places, for the longest time in its stage. Callers with fewer places
        than this one lose none.
        """
        counts = Counter(place.caller for place in places)
        now = self._monotonic()

        def may_go(place: _Place) -> bool:
            theirs, own = counts[place.caller], counts[caller]
            if place.stage is _Stage.WORKING or theirs < own:
                return False
            if place.stage < _Stage.SENDING:
                return True
            return theirs > own + 1 or now - place.since >= _SLOW_SECONDS

        victim = min(
            filter(may_go, places),
            key=lambda place: (place.stage, -counts[place.caller]),
            default=None,
        )
        if victim is None:
            return False
        _drop(victim)
        return True

    def _held(self) -> Counter[str]:
        """Return the reserved bytes of each caller. A dropped place counts until its
        thread has ended, as the memory is still used.
        """
        held: Counter[str] = Counter()
        for place in self._places.values():
            held[place.caller] += place.held
        return held

    def _may_hold(self, place: _Place) -> bool:
        held = self._held()
        of_one = self._memory * 8 // 9
        waiting = [
            one
            for one in self._open_places()
            if one.wants and held[one.caller] + one.wants <= of_one
        ]
        first = min(
            waiting, key=lambda one: (held[one.caller], one.wants), default=None
        )
        return first is place and held.total() + place.wants <= self._memory

    def _drop_slow_holder(self, place: _Place) -> None:
        """Drop the slow client that has been slow for the longest time, of the caller
        that holds most; none if those that were dropped already leave enough.
        """
        held = self._held()
        leaving = sum(one.held for one in self._places.values() if one.dropped)
        if held.total() - leaving + place.wants <= self._memory:
            return
        now = self._monotonic()
        slow = [
            one
            for one in self._slow_stages()
            if now - one.since >= _SLOW_SECONDS
            and held[one.caller] >= held[place.caller]
        ]
        if slow:
            _drop(min(slow, key=lambda one: (-held[one.caller], one.since)))

    def _until_slow(self) -> float:
        """Return the seconds until a client that holds memory counts as slow."""
        now = self._monotonic()
        waits = [one.since + _SLOW_SECONDS - now for one in self._slow_stages()]
        return max(0.01, min((one for one in waits if one > 0), default=60.0))

    def _slow_stages(self) -> list[_Place]:
        return [
            one
            for one in self._open_places()
            if one.held and one.stage in {_Stage.BODY, _Stage.SENDING}
        ]

    def _requests(self) -> int:
        return sum(place.stage >= _Stage.BODY for place in self._open_places())


def _drop(place: _Place) -> None:
    place.dropped = True
    _shut(place.connection)


def _shut(connection: socket.socket) -> None:
    with suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)
