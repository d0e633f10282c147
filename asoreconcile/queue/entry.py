"""One key's place in a queue, from its first add until it is handed out.

Changed only by the queue that owns it, under that queue's lock.
"""

from collections.abc import Hashable
from enum import Enum
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)


class State(Enum):
    """WAITING for its time, READY to be handed out, or LOCKED: ready, but its key is
    still being processed.
    """

    WAITING = 1
    READY = 2
    LOCKED = 3


_WAITING = State.WAITING


class Queued(Generic[Key]):
    """A key that is queued. All times are `Clock.monotonic` seconds.

    order: the place among entries of one priority, and at the same time the stamp by
    which a heap tells its live slot of this entry from stale ones: an entry that leaves
    a heap takes a new one before it enters again.
    """

    __slots__ = (
        "key",
        "not_before",
        "order",
        "priority",
        "ready_at",
        "ready_since",
        "state",
    )

    def __init__(
        self, key: Key, priority: int, order: int, ready_since: float = 0.0
    ) -> None:
        self.key = key
        self.priority = priority
        self.order = order
        self.ready_since = ready_since
        self.state = _WAITING
        self.ready_at = 0.0
        self.not_before = 0.0
