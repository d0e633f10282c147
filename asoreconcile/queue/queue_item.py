"""The item of one key of a queue, from the key's first add until no worker holds the
key and it is not queued.

Changed only by the queue that owns it, under that queue's lock.
"""

from collections.abc import Hashable
from enum import Enum
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)


class State(Enum):
    """UNQUEUED: new, or held by a worker and not added again.
    WAITING: delayed, in the heap.
    READY: in its line; while a worker holds the key, it enters the line at `done`.
    GONE: replaced by another entry of the key; its slot is stale.
    """

    UNQUEUED = 1
    WAITING = 2
    READY = 3
    GONE = 4


_UNQUEUED, _GONE = State.UNQUEUED, State.GONE


class QueueItem(Generic[Key]):
    """A key and its state. All times are `Clock.monotonic` seconds.

    order: the position among entries of one priority.
    taken_at: when its current worker took the key; None if no worker holds it.
    ready_since: when it became ready since it was last taken, if it has.
    ready_at: when it will be ready; not_before: no add makes it ready earlier. These
    two are set while it is WAITING.
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
        """Mark this item GONE; return an unqueued item that replaces it."""
        self.state = _GONE
        replacement = QueueItem(self.key, self.priority, self.ready_since)
        replacement.order = self.order
        replacement.taken_at = self.taken_at
        return replacement
