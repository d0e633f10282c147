"""The open connections of a listener: a bounded number, and how far each has come.

When all places are taken, an idle connection is closed for a new one; some places are
reserved for requests that must always be answered. Safe from any thread.
"""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from enum import IntEnum

from asoreconcile.base.errors import AsoreconcileError


class ConnectionLimitError(AsoreconcileError):
    """Too many concurrent requests: the client must retry this one."""


class _Stage(IntEnum):
    """The stage of a connection. Connections in lower stages are dropped first.

    HEAD: the head of a request is not complete. IDLE: the last request was answered.
    BODY: only the body is missing. ANSWERING: the connection is never dropped.
    """

    HEAD = 0
    IDLE = 1
    BODY = 2
    ANSWERING = 3


class ConnectionLimiter:
    """The open connections, and whether each is in a request."""

    def __init__(self, most: int, *, reserve: int = 0) -> None:
        """most: limit of concurrent requests, and of connections. reserve: additional
        requests and connections for urgent requests.
        """
        self._most = most
        self._room = most + reserve
        self._changed = threading.Condition()
        # In the order in which they came to their stage.
        self._stages: dict[socket.socket, _Stage] = {}
        self._ordinary = 0  # requests being answered that are not urgent
        self._closing = False

    def add(self, connection: socket.socket) -> bool:
        """Add a connection; False if there is no place, even by dropping a connection
        in a lower stage.
        """
        with self._changed:
            if self._closing:
                return False
            if len(self._stages) >= self._room and not self._drop_lowest():
                return False
            self._stages[connection] = _Stage.HEAD
            return True

    def remove(self, connection: socket.socket) -> None:
        """Forget a connection that is closed, or about to be."""
        with self._changed:
            self._stages.pop(connection, None)
            self._changed.notify_all()

    def drop(self) -> bool:
        """Drop the first connection that may be dropped; False if there is none."""
        with self._changed:
            return self._drop_lowest()

    def request_started(self, connection: socket.socket) -> None:
        """Record the first byte of a request. Raises ConnectionError if dropped."""
        with self._changed:
            self._move(connection, _Stage.HEAD)

    def head_received(self, connection: socket.socket) -> None:
        """Record a complete head. Raises ConnectionError if dropped."""
        with self._changed:
            self._move(connection, _Stage.BODY)

    @contextmanager
    def answering(
        self, connection: socket.socket, *, urgent: bool = False
    ) -> Iterator[None]:
        """Record a complete request: from now on only the client can end it.

        Raises ConnectionError if it was dropped meanwhile, ConnectionLimitError if it
        is not urgent and only the reserve is left.
        """
        with self._changed:
            if not urgent and self._ordinary >= self._most:
                raise ConnectionLimitError("all places are taken")
            self._move(connection, _Stage.ANSWERING)
            self._ordinary += not urgent
        try:
            yield
        finally:
            with self._changed:
                self._ordinary -= not urgent
                if connection in self._stages:
                    self._move(connection, _Stage.IDLE)
                self._changed.notify_all()

    @property
    def closing(self) -> bool:
        """Return whether each connection closes after its response."""
        return self._closing

    def close(self, timeout_seconds: float) -> int:
        """Close idle connections and wait for the others; returns how many did not
        end.
        """
        with self._changed:
            self._closing = True
            for connection, stage in self._stages.items():
                if stage <= _Stage.IDLE:
                    _shut(connection)
            self._changed.wait_for(lambda: not self._requests(), timeout_seconds)
            return self._requests()

    def _move(self, connection: socket.socket, stage: _Stage) -> None:
        """Caller holds the lock."""
        if self._stages.pop(connection, None) is None:
            raise ConnectionError("dropped for another")
        self._stages[connection] = stage

    def _drop_lowest(self) -> bool:
        """Drop the connection that has been in the lowest stage for the longest time.
        The caller holds the lock.
        """
        connection = min(self._stages, key=self._stages.__getitem__, default=None)
        if connection is None or self._stages[connection] is _Stage.ANSWERING:
            return False
        _shut(connection)
        del self._stages[connection]
        return True

    def _requests(self) -> int:
        return sum(stage >= _Stage.BODY for stage in self._stages.values())


def _shut(connection: socket.socket) -> None:
    with suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)
