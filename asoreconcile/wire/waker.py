"""Ends another thread's wait for sockets."""

import socket
from contextlib import suppress


class Waker:
    """Ends the wait of a selector from any thread."""

    def __init__(self) -> None:
        self.reader, self._writer = socket.socketpair()
        self.reader.setblocking(False)
        self._writer.setblocking(False)
        self._is_set = False

    def wake(self) -> None:
        """Make `reader` readable. Does not block."""
        # One byte for all posts before the next drain.
        if not self._is_set:
            self._is_set = True
            with suppress(OSError):  # full, or closed: it is awake, or has ended
                self._writer.send(b"\0")

    def heard(self) -> None:
        """Drain `reader`. Call it before reading the posts: in the other order
        a post between the two would be missed.
        """
        with suppress(OSError):
            self.reader.recv(4096)
        self._is_set = False

    def close(self) -> None:
        """A later `wake` does nothing."""
        self.reader.close()
        self._writer.close()
