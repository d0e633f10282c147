"""Streams that may share connections, and their libcurl state."""

import selectors
import socket
import time
from collections.abc import Sequence
from contextlib import suppress

import attrs
import pycurl

from asoreconcile.wire.destination import Destination
from asoreconcile.wire.errors import WireError, wire_error
from asoreconcile.wire.handle import SocketOption
from asoreconcile.wire.loop_stream import LoopStream
from asoreconcile.wire.trust import TlsTrust

# The most streams of one connection; fewer if the server says so. For each byte that
# arrives, libcurl looks at all streams of its connection. Of more than 100, the rest
# would wait in vain: libcurl sends at most 100 requests before it knows the server's
# limit, and opens no other connection for the rest.
_MOST_STREAMS = 50
# To wait for a server's first response; a list may take longer.
_LONGEST_HOLD_SECONDS = 1.0
_EVENTS = {
    pycurl.POLL_IN: selectors.EVENT_READ,
    pycurl.POLL_OUT: selectors.EVENT_WRITE,
    pycurl.POLL_INOUT: selectors.EVENT_READ | selectors.EVENT_WRITE,
}


@attrs.frozen
class Terms:
    """The properties that streams on a shared connection must have in common."""

    trust: TlsTrust | None
    generation: object


class LoopGroup:
    """Streams whose connections have the same properties, in one multi handle of
    libcurl. Used only by the loop's thread.
    """

    def __init__(
        self,
        terms: Terms,
        destination: Destination,
        socket_options: Sequence[SocketOption],
        selector: selectors.BaseSelector,
    ) -> None:
        self.terms = terms
        self.timer: float | None = None
        """When libcurl wants to be called in any case."""
        self.streams: dict[pycurl.Curl, LoopStream] = {}
        self._handles: dict[LoopStream, pycurl.Curl] = {}
        self._destination = destination
        self._socket_options = socket_options
        self._selector = selector
        self._wanted: set[int] = set()
        self._failure: Exception | None = None
        # Whether the server speaks HTTP/2; None until its first answer.
        self._is_shared: bool | None = None
        self._asked: list[LoopStream] = []
        self._held: list[LoopStream] = []
        self._release_at = 0.0
        self._multi = pycurl.CurlMulti()
        self._multi.setopt(pycurl.M_SOCKETFUNCTION, self._want)
        self._multi.setopt(pycurl.M_TIMERFUNCTION, self._set_timer)
        self._multi.setopt(pycurl.M_MAX_CONCURRENT_STREAMS, _MOST_STREAMS)

    @property
    def is_idle(self) -> bool:
        """Return whether the group has no stream."""
        return not self.streams and not self._held

    def add(self, stream: LoopStream) -> None:
        """Send a stream's request, or hold it until a response shows whether
        connections can be shared. Raises pycurl.error.

        libcurl could wait by itself (PIPEWAIT), but if no connection is made, it may
        let a waiting request time out.
        """
        if self._destination.is_secure and self._is_shared is None:
            if self._held or self._is_asked():
                self._held.append(stream)
                return
            self._ask([stream], time.monotonic())
        self.send(stream)

    def released(self, now: float) -> list[LoopStream]:
        """Return the held streams to send now: all of them, once there was a response.

        Before the first response, one more is sent as soon as all requests so far have
        failed, or after a while without a connection, because many tries at once do not
        help if the server does not listen. If there is a connection and the response
        takes long, as many again are sent.
        """
        if not self._held:
            return []
        count = 1
        if self._is_shared is not None:
            count = len(self._held)
        elif self._is_asked():
            if now < self._release_at:
                return []
            if any(stream.is_sent for stream in self._asked):
                count = len(self._asked)
        released, self._held = self._held[:count], self._held[count:]
        if self._is_shared is None:
            self._ask(released, now)
        return released

    @property
    def release_at(self) -> float | None:
        """Return the latest time to call `released`."""
        if not self._held:
            return None
        return self._release_at if self._is_asked() else 0.0

    def _ask(self, streams: list[LoopStream], now: float) -> None:
        self._asked += streams
        self._release_at = now + _LONGEST_HOLD_SECONDS

    def _is_asked(self) -> bool:
        """Return whether a request waits for that first response."""
        self._asked = [stream for stream in self._asked if not stream.is_ended]
        return bool(self._asked)

    def send(self, stream: LoopStream) -> None:
        """Send the request of a stream. Raises pycurl.error."""
        curl = pycurl.Curl()
        curl.setopt(pycurl.NOSIGNAL, 1)
        if self._destination.is_secure:
            # If the handshake says so; else each stream has a connection of its own.
            curl.setopt(pycurl.HTTP_VERSION, pycurl.CURL_HTTP_VERSION_2TLS)
            if self._is_shared:
                curl.setopt(pycurl.PIPEWAIT, 1)
        else:
            curl.setopt(pycurl.HTTP_VERSION, pycurl.CURL_HTTP_VERSION_1_1)
        self._destination.apply(curl, resolves=True)
        if self.terms.trust is not None:
            self.terms.trust.apply(curl)
        curl.setopt(pycurl.CONNECTTIMEOUT_MS, max(1, int(stream.limits.connect * 1000)))
        curl.setopt(pycurl.SOCKOPTFUNCTION, self._set_socket)
        stream.apply(curl)
        curl.setopt(pycurl.HTTPGET, 1)
        curl.setopt(
            pycurl.REQUEST_TARGET, self._destination.target(stream.request.target)
        )
        lines = stream.request.lines()
        if self._destination.server_name:
            lines.insert(0, f"Host: {self._destination.authority}".encode())
        curl.setopt(pycurl.HTTPHEADER, lines)
        self._multi.add_handle(curl)
        self.streams[curl] = stream
        self._handles[stream] = curl

    def act(self, descriptor: int, actions: int) -> None:
        """Let libcurl process the ready sockets."""
        if descriptor == pycurl.SOCKET_TIMEOUT:
            self.timer = None
        self._multi.socket_action(descriptor, actions)
        if self._is_shared is None:
            self._learn()
        if self._failure is not None:  # to libcurl it is one transfer's
            raise self._failure

    def _learn(self) -> None:
        for curl, stream in self.streams.items():
            if stream.has_head:
                version = curl.getinfo(pycurl.INFO_HTTP_VERSION)
                self._is_shared = version >= pycurl.CURL_HTTP_VERSION_2_0
                self._asked = []  # it has been told: they are not kept for as long
                return

    def ended(self) -> list[LoopStream]:
        """Return the streams that have ended since the last call."""
        found: list[LoopStream] = []
        while self.streams:
            queued, whole, failed = self._multi.info_read()
            for curl in whole:
                stream = self._taken_out(curl)
                if not stream.has_head:  # libcurl counts that as a success
                    reason = "the answer ended inside its head"
                    stream.fail(WireError(reason, is_sent=True, is_lost=True))
                stream.end()
                found.append(stream)
            for curl, code, text in failed:
                stream = self._taken_out(curl)
                stream.fail(wire_error(code, text, is_sent=stream.is_sent))
                found.append(stream)
            if not queued:
                break
        return found

    def resume(self, stream: LoopStream) -> None:
        """Resume a paused stream."""
        curl = self._handles.get(stream)
        if curl is not None and stream.is_paused:
            stream.is_paused = False
            curl.pause(pycurl.PAUSE_CONT)
            self.timer = 0.0

    def remove(self, stream: LoopStream) -> None:
        """End a stream; does nothing if it is not in this group."""
        curl = self._handles.get(stream)
        if curl is not None:
            self._taken_out(curl)
        elif stream in self._held:
            self._held.remove(stream)

    def close(self) -> None:
        """End all streams and connections."""
        for curl in list(self.streams):
            self._taken_out(curl)
        self._multi.close()
        for descriptor in list(self._wanted):
            self._watch(descriptor, 0)

    def _taken_out(self, curl: pycurl.Curl) -> LoopStream:
        stream = self.streams.pop(curl)
        del self._handles[stream]
        with suppress(pycurl.error):
            self._multi.remove_handle(curl)
        curl.close()
        return stream

    def _want(self, what: int, descriptor: int, *_: object) -> int:
        """Record the events that libcurl waits for on a descriptor (a callback)."""
        try:
            self._watch(descriptor, _EVENTS.get(what, 0))
        except (OSError, ValueError, KeyError) as error:
            self._failure = error
            return -1
        return 0

    def _watch(self, descriptor: int, events: int) -> None:
        """Change which events of a socket are watched.

        events: events of the selector; 0 ends the watch.
        """
        is_watched = descriptor in self._wanted
        if events and is_watched:
            self._selector.modify(descriptor, events, self)
        elif events:
            self._selector.register(descriptor, events, self)
            self._wanted.add(descriptor)
        elif is_watched:
            self._wanted.discard(descriptor)
            self._selector.unregister(descriptor)

    def _set_timer(self, milliseconds: int) -> int:
        """Record the time at which libcurl must be called in any case (a callback of
        libcurl).
        """
        now = time.monotonic()
        self.timer = None if milliseconds < 0 else now + milliseconds / 1000
        return 0

    def _set_socket(self, descriptor: int, _purpose: int) -> int:
        """Set the options of a socket that is about to be connected (a callback of
        libcurl).
        """
        # No copy is used: if there is no descriptor for it, the other streams must go
        # on.
        theirs = socket.socket(fileno=descriptor)
        try:
            for option in self._socket_options:
                theirs.setsockopt(*option)
        except OSError:
            return int(pycurl.SOCKOPT_ERROR)
        finally:
            theirs.detach()
        return int(pycurl.SOCKOPT_OK)
