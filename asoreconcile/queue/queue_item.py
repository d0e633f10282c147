"""One key of a queue, from its first add until no worker holds it and nobody asks for
it again.

Changed only by the queue that owns it, under that queue's lock.
"""

from collections.abc import Hashable
from enum import Enum
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)


class State(Enum):
    """UNQUEUED: with a worker and not asked for again, or new.
    WAITING for its time, in the heap.
    READY: in its line, or, while a worker holds the key, to enter it at `done`.
    GONE: another entry of the key goes on in its place, and its slot is stale.
    """

    UNQUEUED = 1
    WAITING = 2
    READY = 3
    GONE = 4


_UNQUEUED, _GONE = State.UNQUEUED, State.GONE


class QueueItem(Generic[Key]):
    """A key and its state. All times are `Clock.monotonic` seconds.

    order: the place among entries of one priority.
    taken_at: when a worker took the key that now holds it; None if none does.
    ready_since: when it became ready, if it has been since it was taken.
    ready_at: when it will be ready; not_before: no add makes it so earlier. These two
    are there while it is WAITING.
    """

    __slots__ = (
        "key",
        "not_before",
        "order",
        "priority",
        "ready_at",
        "ready_since",
        "state",
        "taken_at",
    )

    order: int
    ready_at: float
    not_before: float

    def __init__(self, key: Key, priority: int, ready_since: float) -> None:
        self.key = key
        self.priority = priority
        self.ready_since = ready_since
        self.state = _UNQUEUED
        self.taken_at: float | None = None

    def replaced(self) -> "QueueItem[Key]":
        """An unqueued entry to go on in the place of this one, which is GONE."""
        self.state = _GONE
        replacement = QueueItem(self.key, self.priority, self.ready_since)
        replacement.order = self.order
        replacement.taken_at = self.taken_at
        return replacement
