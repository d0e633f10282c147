"""Parents whose PUT carries their children, and writes of those children: by turns.

Azure takes such a PUT as the whole truth about the children too. What it carries was
read before, so a child that was written in between would vanish. Where a provider has
ETags, If-Match sees to that, whoever wrote. Where it has none, nobody of this process
writes below a parent between the parent's read and the answer to its PUT.

No thread waits here: what is out of turn starts again a moment later.
"""

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from asoreconcile.arm import ids
from asoreconcile.azure.decisions import AT_ONCE_SECONDS
from asoreconcile.errors import RetryError

# About as long as a PUT takes; the operation that follows it holds up nobody.
_BUSY_SECONDS = 1.0


class ParentRead:
    """A reconcile of a parent, from before it reads to its end.

    Guarded by the lock of `ParentWrites`.
    """

    def __init__(self, key: str, *, is_stale: bool) -> None:
        self.key = key
        self.is_stale = is_stale  # a child was written meanwhile
        self.is_writing = False


class ParentWrites:
    """Who reads a parent and who writes below it, now. Safe from any thread.

    Nothing is kept of anybody who is not in the middle of it.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._readings: dict[str, list[ParentRead]] = {}
        self._writes: Counter[str] = Counter()  # of children, by parent

    @contextmanager
    def reading(self, arm_id: str) -> Iterator[ParentRead]:
        """The reconcile of a resource that may be a parent; begins before it reads."""
        key = ids.key(arm_id)
        with self._lock:
            reading = ParentRead(key, is_stale=key in self._writes)
            self._readings.setdefault(key, []).append(reading)
        try:
            yield reading
        finally:
            with self._lock:
                self._readings[key].remove(reading)
                if not self._readings[key]:
                    del self._readings[key]

    @contextmanager
    def exclusive(self, reading: ParentRead) -> Iterator[None]:
        """The parent's PUT: until its answer nobody writes below it.

        Raises RetryError when a child was written since the reading began, or is now.
        """
        with self._lock:
            # What the PUT carries may lack that child, and Azure would delete it.
            if reading.is_stale:
                is_busy = reading.key in self._writes
                raise RetryError(
                    f"a child was written since {reading.key} was read: the parent is "
                    "read again before its PUT",
                    after_seconds=_BUSY_SECONDS if is_busy else AT_ONCE_SECONDS,
                )
            reading.is_writing = True
        try:
            yield
        finally:
            with self._lock:
                reading.is_writing = False

    @contextmanager
    def writing(self, arm_id: str) -> Iterator[None]:
        """A PUT or DELETE, from before it is sent to its answer.

        Raises RetryError while a PUT of a parent is under way that carries children.
        """
        parents = [*_parents(arm_id)]
        with self._lock:
            readings = [r for key in parents for r in self._readings.get(key, ())]
            if any(reading.is_writing for reading in readings):
                raise RetryError(
                    f"not sent: a PUT of the parent of {arm_id} is under way",
                    after_seconds=_BUSY_SECONDS,
                )
            # What they have read of their children is about to be untrue.
            for reading in readings:
                reading.is_stale = True
            self._writes.update(parents)
        try:
            yield
        finally:
            with self._lock:
                self._writes.subtract(parents)
                for key in parents:
                    if not self._writes[key]:
                        del self._writes[key]


def _parents(arm_id: str) -> Iterator[str]:
    """The resources that this one is nested in."""
    child: ids.ArmId | None = ids.parse(arm_id)
    while child is not None and len(child.types) > 1:
        child = child.parent
        if child is not None:
            yield ids.key(child.text)
