"""A reader of a loop's stream, for tests that wait for data."""

import threading
from typing import Any, Self

from asoreconcile.wire.loop_stream import StreamLimits
from asoreconcile.wire.request import WireRequest

WAIT_SECONDS = 20
LIMITS = StreamLimits(connect=10, head=20, silence=60)


class Reader:
    """A stream, and the data that its reader got. Waits have a time limit."""

    def __init__(
        self, loop: Any, target: str = "/x", limits: StreamLimits = LIMITS
    ) -> None:
        self.news = threading.Event()
        request = WireRequest("GET", target, (("Accept", "*/*"),))
        self.stream = loop.open(request, limits, on_news=self.news.set)
        self.pieces: Any = None

    def answered(self) -> Self:
        while not self.stream.is_answered():
            self.wait()
        return self

    def wait(self) -> None:
        assert self.news.wait(WAIT_SECONDS), "nothing came"
        self.news.clear()

    def read(self) -> bytes | None:
        """Return the next data, joined; None at the end."""
        if self.pieces is None:
            self.pieces = self.stream.pieces()
        for pieces in self.pieces:
            if pieces is not None:
                return b"".join(pieces)
            self.wait()
        return None

    def whole(self) -> bytes:
        found = []
        while (piece := self.read()) is not None:
            found.append(piece)
        return b"".join(found)
