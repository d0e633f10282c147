"""Keeps the PUT of a parent and the writes of its children from overlapping.

The body of some parents contains their children. Azure removes every child that the
body of such a PUT lacks, so a child that was written between the parent's read and its
PUT would be deleted. If a provider has ETags, If-Match prevents that for all writers.
For other providers, this process writes no child from the parent's read until its PUT
is answered.

No thread waits here: a reconcile that has to wait starts again a moment later.
"""

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

import attrs

from asoreconcile.azure.arm import ids
from asoreconcile.azure.reconcile.model.decisions import AT_ONCE_SECONDS
from asoreconcile.base.errors import RetryError

# About as long as a PUT takes; the operation that follows it blocks no writes.
_BUSY_SECONDS = 1.0


@attrs.define(eq=False)
class ParentRead:
    """The reads of a parent by one reconcile.

    is_stale: whether a child was written since the reads began; guarded by the lock of
    `ParentWrites`.
    """

    key: str
    is_stale: bool
    is_writing: bool = False


class ParentWrites:
    """The running reads of parents and writes below them. Safe from any thread.

    An entry is removed as soon as its read or write ends.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._readings: dict[str, list[ParentRead]] = {}
        self._writes: Counter[str] = Counter()  # of children, by parent

    @contextmanager
    def reading(self, arm_id: str) -> Iterator[ParentRead]:
        """Return a context for the reconcile of a possible parent. Enter it before the
        first read.
        """
        key = ids.key(arm_id)
        with self._lock:
            reading = ParentRead(key, key in self._writes)
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
        """Return a context for the parent's PUT, in which no child is written.

        Raises RetryError if a child was written since the reading began, or is being
        written.
        """
        with self._lock:
            # The PUT may lack that child, and Azure would delete it.
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
        """Return a context for a PUT or DELETE of a child, from the request to its
        answer.

        Raises RetryError during a PUT of a parent that contains children.
        """
        parents = [*_parents(arm_id)]
        with self._lock:
            readings = [r for key in parents for r in self._readings.get(key, ())]
            if any(reading.is_writing for reading in readings):
                raise RetryError(
                    f"not sent: a PUT of the parent of {arm_id} is under way",
                    after_seconds=_BUSY_SECONDS,
                )
            # Their reads of their children are outdated now.
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
    """Return the ids of the resources in which this one is nested."""
    child: ids.ArmId | None = ids.parse(arm_id)
    while child is not None and len(child.types) > 1:
        child = child.parent
        if child is not None:
            yield ids.key(child.text)
