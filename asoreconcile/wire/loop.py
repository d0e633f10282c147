"""Receives endless responses on one thread.

    open (any thread) -> the loop's thread: libcurl, for as many streams as there are
                      -> on_news -> the reader takes what came (any thread)

Streams to a server that speaks HTTP/2 share a few connections; with other servers each
has its own. The thread only moves bytes: slow work, and work that may fail, is done by
the readers. A stream that is not read is paused, and the others on its connection go
on.
"""

import heapq
import itertools
import os
import selectors
import socket
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack, closing, suppress
from functools import partial

import pycurl

from asoreconcile.base.errors import StoppedError
from asoreconcile.base.threads import Threads
from asoreconcile.wire.destination import Destination
from asoreconcile.wire.errors import WireError, not_sent
from asoreconcile.wire.handle import SocketOption
from asoreconcile.wire.loop_group import LoopGroup, Terms
from asoreconcile.wire.loop_stream import LoopStream, StreamLimits
from asoreconcile.wire.pool import check_process, closed
from asoreconcile.wire.request import WireRequest
from asoreconcile.wire.trust import TlsTrust


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
        """Close the waker: a later `wake` does nothing."""
        self.reader.close()
        self._writer.close()


# As in `wire.handle`.
# Sweeping visits all slots: not worth it for a few of streams that have ended.
_SLACK = 64
_LONGEST_WAIT_SECONDS = 3600.0
# Less than a reader's patience with a watch (`cache.watching`).
_SUSPICIOUS_SECONDS = 30.0


class StreamLoop:
    """Receives streams from one server. Safe from any thread."""

    def __init__(
        self,
        destination: Destination,
        *,
        trust: Callable[[], TlsTrust | None],
        generation: Callable[[], object],
        socket_options: Sequence[SocketOption],
        threads: Threads,
        name: str = "streams",
    ) -> None:
        """trust, generation: functions called for each stream, on the thread that opens
        it. name: name of the thread, which starts with the first stream.
        """
        self._destination = destination
        self._trust = trust
        self._generation = generation
        self._socket_options = socket_options
        self._threads = threads
        self._name = name
        self.is_closed = False
        self._made_in = os.getpid()
        self._stopping = threading.Event()
        self._lock = threading.Lock()
        self._streams: set[LoopStream] = set()
        self._posted: deque[Callable[[], None]] = deque()
        self._waker: Waker | None = None
        self._first: selectors.BaseSelector | None = None
        self._is_up = False
        self._renewals = 0
        # The loop's thread alone from here on.
        self._selector: selectors.BaseSelector
        self._groups: list[LoopGroup] = []
        self._news: dict[LoopStream, None] = {}
        self._dues: list[tuple[float, int]] = []
        # Without the streams that have ended: their time may be minutes away.
        self._timed: dict[int, LoopStream] = {}
        self._numbers = itertools.count(1)  # 0 is a stream that was never timed

    def open(
        self,
        request: WireRequest,
        limits: StreamLimits,
        *,
        on_news: Callable[[], None],
    ) -> LoopStream:
        """Open a stream; does not wait for the response. on_news: see `LoopStream`.

        Raises StoppedError once closed, WireError if no thread or descriptor is
        available, and the exceptions of `trust` and `generation`; RuntimeError in a
        forked child, which lacks the thread.
        """
        check_process(self._made_in)
        stream = LoopStream(request, limits, host=self, on_news=on_news)
        stream.renewals = self._renewals
        terms = Terms(self._trust(), (stream.renewals, self._generation()))
        with self._lock:
            if self.is_closed:
                raise closed()
            self._ensure_thread()
            self._streams.add(stream)
        self._post(partial(self._begin, stream, terms))
        return stream

    def renew(self) -> None:
        """Open no further streams over the connections open now; open streams go on."""
        with self._lock:
            self._renewals += 1

    def _leave(self, stream: LoopStream) -> None:
        """Call `renew`, unless that was done since the stream was opened.

        So streams that fall silent together share one new connection.
        """
        with self._lock:
            self._renewals += self._renewals == stream.renewals

    def close(self) -> None:
        """End all streams, and open no more. Idempotent; does nothing in a forked
        child.
        """
        if self._made_in != os.getpid():
            return
        with self._lock:
            self.is_closed = True
            streams = list(self._streams)
            # The thread closes it, unless it died and is not to come back.
            waker = None if self._is_up else self._waker
            if waker is not None:
                self._waker = None
        self._stopping.set()
        self._wake()
        if waker is not None:
            waker.close()
        # Not by the loop's thread, which may be down.
        _report(streams)

    def stopped(self) -> StoppedError:
        """Return the error to raise after the loop was closed."""
        return closed()

    def has_news(self, stream: LoopStream) -> None:
        """Record a stream whose reader is notified at the end of the turn; see
        `LoopHost`.
        """
        self._news[stream] = None

    def closed(self, stream: LoopStream) -> None:
        """End a stream that its reader has closed; see `LoopHost`."""
        if stream.is_ended:
            return
        # Probably closed for its silence: its connection may be dead without looking
        # so. Another stream over it would be silent too.
        if time.monotonic() - stream.heard >= _SUSPICIOUS_SECONDS:
            self._leave(stream)
        self._post(partial(self._drop, stream))

    def unread(self, stream: LoopStream) -> None:
        """Resume a stream that was read; see `LoopHost`."""
        self._post(partial(self._resume, stream))

    def _ensure_thread(self) -> None:
        """Start the loop's thread, if it does not run. Raises WireError. The caller
        holds the lock.
        """
        if self._waker is not None:
            return
        opened = ExitStack()
        try:
            self._waker = opened.enter_context(closing(Waker()))
            # Here, as a shortage of descriptors would end the thread.
            self._first = opened.enter_context(selectors.DefaultSelector())
            self._is_up = True
            self._threads.start(self._name, self._run, stopping=self._stopping)
        except (OSError, RuntimeError) as error:
            self._waker, self._first, self._is_up = None, None, False
            opened.close()
            raise not_sent(error) from error

    def _post(self, call: Callable[[], None]) -> None:
        self._posted.append(call)
        self._wake()

    def _wake(self) -> None:
        waker = self._waker
        if waker is not None:
            waker.wake()

    def _run(self) -> None:
        """Run the loop on its thread.

        If it raises, all streams end: their readers reopen them, and the thread is
        restarted.
        """
        with self._lock:
            waker = self._waker
            if waker is None:
                return  # closed while it was down
            self._is_up = True
            first, self._first = self._first, None
        try:
            with first or selectors.DefaultSelector() as self._selector:
                self._selector.register(waker.reader, selectors.EVENT_READ)
                while not self._stopping.is_set():
                    self._turn(self._selector, waker)
        finally:
            self._give_up()

    def _turn(self, selector: selectors.BaseSelector, waker: Waker) -> None:
        for key, seen in selector.select(self._wait_seconds()):
            group: LoopGroup | None = key.data
            if group is None:
                waker.heard()
            else:
                group.act(key.fd, _actions(seen))
        while self._posted:
            self._posted.popleft()()
        now = time.monotonic()
        # First: others may be held until one of them has ended.
        self._end_overdue(now)
        for group in list(self._groups):
            if group.timer is not None and group.timer <= now:
                group.act(pycurl.SOCKET_TIMEOUT, 0)
            for stream in group.ended():
                self._forget(stream)
            for stream in group.released(now):
                self._send(group.send, stream)
            # An outdated one lasts until its streams have ended.
            if group.is_idle and group is not self._groups[-1]:
                self._groups.remove(group)
                group.close()
        self._report_news()

    def _wait_seconds(self) -> float:
        now = time.monotonic()
        end = now + _LONGEST_WAIT_SECONDS
        for group in self._groups:
            for at in (group.timer, group.release_at):
                if at is not None and at < end:
                    end = at
        if self._dues and self._dues[0][0] < end:
            end = self._dues[0][0]
        return max(0.0, end - now)

    def _begin(self, stream: LoopStream, terms: Terms) -> None:
        if stream.is_closed or stream.is_ended:
            self._drop(stream)
            return
        self._set_due(stream, time.monotonic())
        self._send(lambda one: self._group(terms).add(one), stream)

    def _send(self, how: Callable[[LoopStream], None], stream: LoopStream) -> None:
        try:
            how(stream)
        except (pycurl.error, OSError) as error:
            self._fail(stream, not_sent(error))

    def _group(self, terms: Terms) -> LoopGroup:
        if not self._groups or self._groups[-1].terms != terms:
            self._groups.append(
                LoopGroup(
                    terms, self._destination, self._socket_options, self._selector
                )
            )
        return self._groups[-1]

    def _resume(self, stream: LoopStream) -> None:
        for group in self._groups:
            try:
                group.resume(stream)
            except pycurl.error as error:
                self._fail(stream, WireError(str(error), is_sent=True, is_lost=True))

    def _drop(self, stream: LoopStream) -> None:
        for group in self._groups:
            group.remove(stream)
        stream.end()
        self._forget(stream)

    def _fail(self, stream: LoopStream, error: Exception) -> None:
        stream.fail(error)
        self._drop(stream)

    def _forget(self, stream: LoopStream) -> None:
        with self._lock:
            self._streams.discard(stream)
        self._timed.pop(stream.due_number, None)

    def _set_due(self, stream: LoopStream, now: float) -> None:
        at, _ = stream.due(now)
        self._timed.pop(stream.due_number, None)
        stream.due_number = next(self._numbers)
        self._timed[stream.due_number] = stream
        heapq.heappush(self._dues, (at, stream.due_number))
        if len(self._dues) > 2 * len(self._timed) + _SLACK:
            self._dues = [slot for slot in self._dues if slot[1] in self._timed]
            heapq.heapify(self._dues)

    def _end_overdue(self, now: float) -> None:
        while self._dues and self._dues[0][0] <= now:
            _, number = heapq.heappop(self._dues)
            stream = self._timed.pop(number, None)
            if stream is None or stream.is_ended:
                continue
            # Checked when the timer fires, not with each byte.
            at, reason = stream.due(now)
            if at <= now:
                self._leave(stream)  # as in `closed`
                self._fail(stream, WireError(reason, is_sent=stream.is_sent))
            else:
                self._set_due(stream, now)

    def _report_news(self) -> None:
        news, self._news = self._news, {}
        for stream in news:
            # After the response head other limits apply.
            if stream.has_head and not stream.is_timed and not stream.is_ended:
                stream.is_timed = True
                self._set_due(stream, time.monotonic())
        _report(news)

    def _give_up(self) -> None:
        groups, self._groups = self._groups, []
        self._dues.clear()
        self._timed.clear()
        self._posted.clear()
        with self._lock:
            streams, self._streams = self._streams, set()
            waker = self._waker
            self._is_up = False
            if self.is_closed:
                self._waker = None
        if self.is_closed and waker is not None:
            waker.close()
        # Before anything that may fail again: a reader that is not notified waits
        # forever.
        for stream in streams:
            stream.fail(
                WireError("the thread of all streams died", is_sent=stream.is_sent)
            )
        try:
            self._report_news()
        finally:
            for group in groups:
                group.close()


def _report(streams: Iterable[LoopStream]) -> None:
    """Notify all readers. Raises what one of them raises, after notifying all."""
    failure: BaseException | None = None
    for stream in streams:
        try:
            stream.on_news()
        except BaseException as error:  # noqa: BLE001 - raised below
            failure = error
    if failure is not None:
        raise failure


def _actions(seen: int) -> int:
    """Translate the selector's events to those of libcurl."""
    return (pycurl.CSELECT_IN if seen & selectors.EVENT_READ else 0) | (
        pycurl.CSELECT_OUT if seen & selectors.EVENT_WRITE else 0
    )
