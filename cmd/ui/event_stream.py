"""Server-sent events: one bounded buffer of the last events, which all clients read.

A client that reads too slowly, or comes back too late, finds that the buffer has moved
on. It then gets the event `reload` and reads everything again. So a slow client costs
no memory, and does not delay others.
"""

import secrets
import threading
import time
from collections import deque
from collections.abc import Iterator
from typing import Any

import attrs

from asoreconcile.base import jsontext

_MOST_EVENTS = 1000
_MOST_BYTES = 8 << 20
_SILENT_SECONDS = 15.0
# A page asks for all objects while its stream opens: changes in between must reach it.
_OVERLAP_SECONDS = 5.0


@attrs.frozen
class _Published:
    number: int
    name: str
    at: float
    text: bytes


class EventStream:
    """The events of one page server. Safe from any thread."""

    def __init__(self, *, most_events: int = _MOST_EVENTS) -> None:
        """most_events: the limit of the buffer."""
        self._most = most_events
        # Ids of an earlier server mean nothing here.
        self._run = secrets.token_hex(4)
        self._changed = threading.Condition()
        self._events: deque[_Published] = deque()
        self._size = 0
        self._last = 0
        self._is_closed = False

    def publish(self, name: str, document: Any) -> None:
        """Add an event, for all clients."""
        with self._changed:
            self._last += 1
            head = f"id: {self._run}-{self._last}\nevent: {name}\ndata: "
            text = head.encode() + jsontext.dumps(document) + b"\n\n"
            one = _Published(self._last, name, time.monotonic(), text)
            self._events.append(one)
            self._size += len(text)
            while len(self._events) > self._most or (
                self._size > _MOST_BYTES and len(self._events) > 1
            ):
                self._size -= len(self._events.popleft().text)
            self._changed.notify_all()

    def follow(self, last_event_id: str) -> Iterator[bytes]:
        """Yield the texts for a client, until the stream is closed. Blocking.

        last_event_id: the last event that the client has, or "" for a new client.
        """
        at, first = self._beginning(last_event_id)
        yield b"retry: 2000\n\n" + first
        while True:
            with self._changed:
                if at >= self._last and not self._is_closed:
                    self._changed.wait(_SILENT_SECONDS)
                if self._is_closed:
                    return
                if at + 1 < self._oldest:
                    text = (
                        f"id: {self._run}-{self._last}\nevent: reload\ndata: {{}}\n\n"
                    )
                    sent = text.encode()
                else:
                    sent = b"".join(one.text for one in self._events if one.number > at)
                at = self._last
            yield sent or b": nothing new\n\n"

    def close(self) -> None:
        """End all streams."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()

    @property
    def _oldest(self) -> int:
        return self._events[0].number if self._events else self._last + 1

    def _beginning(self, last_event_id: str) -> tuple[int, bytes]:
        """Return the number of the last event that a client has, and the events that a
        new client may lack.
        """
        run, _, number = last_event_id.partition("-")
        with self._changed:
            if run == self._run and number.isdigit() and int(number) <= self._last:
                return int(number), b""
            if last_event_id:
                return -1, b""
            since = time.monotonic() - _OVERLAP_SECONDS
            recent = (e for e in self._events if e.name == "objects" and e.at >= since)
            return self._last, b"".join(one.text for one in recent)
