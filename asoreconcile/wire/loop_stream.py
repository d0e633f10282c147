"""A response that a loop receives and another thread reads as it arrives."""

import time
from collections import deque
from collections.abc import Callable, Iterator
from typing import Protocol

import attrs
import pycurl

from asoreconcile.wire.request import WireRequest
from asoreconcile.wire.transfer import HEAD_ENDS, Transfer

# The most bytes that may be unread. Beyond that the stream is paused; it may have the
# pieces of one turn of libcurl more.
_MOST_UNREAD_BYTES = 256 << 10


@attrs.frozen
class StreamLimits:
    """Time limits of a stream in seconds: until there is a connection, until the head
    has arrived, without a byte after that, and for the body from the head on (None for
    no separate limit).
    """

    connect: float
    head: float
    silence: float
    body: float | None = None


class LoopHost(Protocol):
    """The loop whose thread receives the stream (`wire.loop.StreamLoop`)."""

    is_closed: bool

    def closed(self, stream: "LoopStream") -> None:
        """Record that the reader has closed a stream. Any thread; does not block."""

    def unread(self, stream: "LoopStream") -> None:
        """Record that a paused stream was read. Any thread; does not block."""

    def has_news(self, stream: "LoopStream") -> None:
        """Record that data came: the reader is notified at the end of the turn. Only on
        the loop's thread.
        """

    def stopped(self) -> Exception:
        """Return the error to raise after the loop was closed."""


class LoopStream(Transfer):
    """A response that a loop receives. One thread at a time reads it; any thread may
    close it. Nothing here blocks.

    Only the loop's thread calls `fail`, `end` and libcurl's callbacks.
    """

    def __init__(
        self,
        request: WireRequest,
        limits: StreamLimits,
        *,
        host: LoopHost,
        on_news: Callable[[], None],
    ) -> None:
        """on_news: called, on any thread, when there may be new data; must not
        block.
        """
        super().__init__(request, fence=None, max_bytes=None)
        self.limits = limits
        self.on_news = on_news
        self.is_closed = False
        """Somebody has closed it: what was read may be a part of the answer."""
        self.is_paused = False
        self.is_ended = False
        self.is_timed = False
        self.due_number = 0
        """The loop's: whether its body's limits count, and which of its dues does."""
        self.renewals = 0
        """The loop's: how often it had left its connections when this was opened."""
        self._host = host
        self._broken: Exception | None = None
        # Appended to by the loop, taken from by the reader: each is one step.
        self._unread: deque[bytes] = deque()
        self._read_bytes = 0
        self.heard = self._opened = time.monotonic()
        self._body_until: float | None = None

    def is_answered(self) -> bool:
        """Return whether status and headers have arrived.

        Raises the error that ended the stream before them; StoppedError once the loop
        is closed.
        """
        is_ended = self.is_ended
        if self.has_head:
            return True
        self._check(is_ended=is_ended)
        return False

    def pieces(self) -> Iterator[list[bytes] | None]:
        """Yield the body's bytes as they arrive, and None to wait for `on_news`. Ends
        with the response, or when closed. Raises as `is_answered`.
        """
        while not self.is_closed:
            # Read before the pieces are taken: once it has ended no piece follows, so
            # that none is left behind.
            is_ended = self.is_ended
            taken = self._taken()
            if taken:
                yield taken
            if is_ended:
                if not self.is_closed:
                    self._check(is_ended=True)
                return
            if self._host.is_closed:
                raise self._host.stopped()
            # One batch at a time: a stream that never pauses must not starve others.
            if self._unread:
                self.on_news()
            yield None

    def close(self) -> None:
        """End the stream, and wake its reader. Idempotent; any thread."""
        if not self.is_closed:
            self.is_closed = True
            self._host.closed(self)
            self.on_news()

    def end(self) -> None:
        """Record the end of the stream. It is the loop's last call."""
        if not self.is_ended:
            self.is_ended = True
            self._host.has_news(self)

    def fail(self, error: Exception) -> None:
        """Record the error that broke the stream."""
        if not self.is_ended:
            self._broken = error
            self.end()

    def due(self, now: float) -> tuple[float, str]:
        """Return the time at which the stream times out unless data comes, and the
        reason.
        """
        if not self.has_head:
            return self._opened + self.limits.head, (
                f"timed out after {self.limits.head:.1f} s"
            )
        # While it waits for its reader, the pause is not the server's.
        heard = now if self._unread or self.is_paused else self.heard
        silent_at = heard + self.limits.silence
        if self._body_until is not None and self._body_until < silent_at:
            seconds = self.limits.body
            return self._body_until, f"the answer took over {seconds:.0f} s to arrive"
        return silent_at, (f"timed out: nothing came for {self.limits.silence:.1f} s")

    def apply(self, curl: pycurl.Curl) -> None:
        """Set the callbacks of a libcurl handle."""
        curl.setopt(pycurl.PREREQFUNCTION, self._begin)
        curl.setopt(pycurl.HEADERFUNCTION, self._header)
        curl.setopt(pycurl.WRITEFUNCTION, self._write)

    def _taken(self) -> list[bytes]:
        unread = self._unread
        taken = [unread.popleft() for _ in range(len(unread))]
        self._read_bytes += sum(map(len, taken))
        if self.is_paused:
            self._host.unread(self)
        return taken

    def _check(self, *, is_ended: bool) -> None:
        if self._host.is_closed:
            raise self._host.stopped()
        if is_ended and self._broken is not None:
            raise self._broken

    def _begin(self, *_: object) -> object:
        # A read: libcurl may send it again where a kept connection was dead.
        self.is_sent = True
        self._forget_lines()
        return pycurl.PREREQFUNC_OK

    def _header(self, line: bytes) -> None:
        self._lines.append(line)
        if line in HEAD_ENDS and self.is_sent:
            self.read_head()
        if self.has_head:
            self.heard = time.monotonic()
            if self.limits.body is not None and self._body_until is None:
                self._body_until = self.heard + self.limits.body
            self._host.has_news(self)

    def _write(self, piece: bytes) -> int:
        self._host.has_news(self)
        if self.received - self._read_bytes >= _MOST_UNREAD_BYTES:
            self.is_paused = True  # libcurl keeps the piece
            return int(pycurl.WRITEFUNC_PAUSE)
        self.heard = time.monotonic()
        self.received += len(piece)
        self._unread.append(piece)
        return len(piece)
