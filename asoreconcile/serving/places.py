"""The open connections of a listener: a bounded number, and which of them are busy.

Who only holds a place loses it to who asks something. Safe from any thread.
"""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress


class Places:
    """The open connections, and which of them stand in a request."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._changed = threading.Condition()
        self._busy: dict[socket.socket, bool] = {}
        self._closing = False

    def add(self, connection: socket.socket) -> bool:
        """Count one in; False if there is no place, not even that of an idle one."""
        with self._changed:
            if self._closing:
                return False
            if len(self._busy) >= self._most and not self._drop_idle():
                return False
            self._busy[connection] = False
            return True

    def remove(self, connection: socket.socket) -> None:
        """It is closed, or about to be."""
        with self._changed:
            self._busy.pop(connection, None)
            self._changed.notify_all()

    @contextmanager
    def answering(self, connection: socket.socket) -> Iterator[None]:
        """Raises ConnectionError if it was dropped meanwhile."""
        with self._changed:
            if connection not in self._busy:
                raise ConnectionError("dropped for another")
            self._busy[connection] = True
        try:
            yield
        finally:
            with self._changed:
                self._busy[connection] = False
                self._changed.notify_all()

    @property
    def closing(self) -> bool:
        """Whether each answer is its connection's last."""
        return self._closing

    def close(self, timeout_seconds: float) -> int:
        """End the idle ones, wait for the others; how many did not end in time."""
        with self._changed:
            self._closing = True
            for connection, busy in self._busy.items():
                if not busy:
                    with suppress(OSError):
                        connection.shutdown(socket.SHUT_RDWR)
            self._changed.wait_for(self._none_busy, timeout_seconds)
            return sum(self._busy.values())

    def _drop_idle(self) -> bool:
        """The oldest of those that ask nothing: who only holds places keeps none."""
        for connection, busy in self._busy.items():
            if not busy:
                with suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)
                del self._busy[connection]
                return True
        return False

    def _none_busy(self) -> bool:
        return not any(self._busy.values())
