"""Events for pages: one bounded buffer of the last events, which all clients read.

A client asks for the events after the last one that it has, and waits for them. A
client that comes back too late finds that the buffer has moved on: it gets the event
`reload` and reads everything again. So a slow client costs no memory, and does not
delay others.
"""

import re
import secrets
import threading
import time
from collections import deque
from typing import Any

import attrs

from asoreconcile.base import jsontext

_MOST_EVENTS = 1000
_MOST_BYTES = 8 << 20
_RELOAD = b'{"name":"reload","data":null}'
_NUMBER = re.compile(r"[0-9]{1,15}")
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
            text = jsontext.dumps({"name": name, "data": document})
            one = _Published(self._last, name, time.monotonic(), text)
            self._events.append(one)
            self._size += len(text)
            while len(self._events) > self._most or (
                self._size > _MOST_BYTES and len(self._events) > 1
            ):
                self._size -= len(self._events.popleft().text)
            self._changed.notify_all()

    def since(self, last: str, seconds: float) -> list[bytes]:
        """Return the events after one, as pieces of a JSON object: `last`, the id to
        ask with next, and `events`, each with `name` and `data`. Blocks until there is
        an event, at most for `seconds`.

        last: the last event that the client has, or "" for a new client.
        """
        number, early = self._beginning(last)
        with self._changed:
            if number is None:
                found = [_RELOAD]
            else:
                if last:
                    self._changed.wait_for(
                        lambda: self._is_closed or self._last > number, seconds
                    )
                later = [one.text for one in self._events if one.number > number]
                is_whole = number + 1 >= self._oldest
                found = [*early, *later] if is_whole else [_RELOAD]
            at = f'{{"last":"{self._run}-{self._last}","events":['.encode()
        return [at, b",".join(found), b"]}"]

    def close(self) -> None:
        """End all waits."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()

    @property
    def _oldest(self) -> int:
        return self._events[0].number if self._events else self._last + 1

    def _beginning(self, last: str) -> tuple[int | None, list[bytes]]:
        """Return the number of the last event that a client has (None if it has to read
        everything again), and the events that a new client may lack.
        """
        run, _, number = last.partition("-")
        with self._changed:
            if run == self._run and _NUMBER.fullmatch(number):
                return min(int(number), self._last), []
            if last:
                return None, []
            since = time.monotonic() - _OVERLAP_SECONDS
            recent = (e for e in self._events if e.name == "objects" and e.at >= since)
            return self._last, [one.text for one in recent]
