"""What the reconciles in flight have read of other objects.

A change wakes who waits for it (D13). But a cache shows a change before the handlers of
its event run: a reconcile may have read it and be putting the resource for it already.
Woken for it then, the object would be put a second time.
"""

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager

from asoreconcile.azure.object_reference import ObjectReference
from asoreconcile.azure.owner import Objects
from asoreconcile.objects import (
    GroupKind,
    JsonObject,
    ObjectKey,
    resource_version,
    version_number,
)


class ReadSet:
    """The versions at which one reconcile has read other objects. For one thread."""

    def __init__(self) -> None:
        self._read: dict[ObjectReference, int] = {}

    def note(self, node: ObjectReference, found: JsonObject | None) -> None:
        """found: what was read; None for what was not there."""
        version = 0 if found is None else version_number(resource_version(found))
        # The first read is the oldest, and the reconcile may rest on it.
        self._read.setdefault(node, version)

    def include(self, node: ObjectReference, version: int) -> bool:
        """Whether the reconcile read an object at that version or a newer one."""
        return 0 < version <= self._read.get(node, 0)


class TrackingReader:
    """`azure.owner.Objects` that records reads; raises what the inner ones do."""

    def __init__(self, objects: Objects, read_set: ReadSet) -> None:
        self._objects = objects
        self._read_set = read_set

    def get(self, group_kind: GroupKind, key: ObjectKey) -> JsonObject | None:
        """The cached object or None, recorded either way: a missing one may
        come (D13).
        """
        found = self._objects.get(group_kind, key)
        self._read_set.note(ObjectReference(group_kind, key), found)
        return found

    def is_installed(self, group_kind: GroupKind) -> bool:
        """Whether the kind runs here.

        Not recorded: kinds that start wake their objects.
        """
        return self._objects.is_installed(group_kind)


class InFlightReads:
    """key -> the reconcile of it that is in flight. Safe from any thread."""

    def __init__(self, wake: Callable[[ObjectKey], None]) -> None:
        """wake: has an object reconciled, soon; does not block."""
        self._wake = wake
        self._lock = threading.Lock()
        self._changes: dict[ObjectKey, list[tuple[ObjectReference, int]]] = {}

    def during(self, key: ObjectKey) -> AbstractContextManager[ReadSet]:
        """While a reconcile of an object runs. At its end, however it ends, the
        object is woken for what changed meanwhile, unless the reconcile has read all of
        it.
        """
        return _During(self, key)

    def begin(self, key: ObjectKey) -> None:
        """A reconcile of an object runs from now on."""
        with self._lock:
            self._changes[key] = []

    def end(self, key: ObjectKey, read_set: ReadSet) -> None:
        """It is over, and has read so much."""
        with self._lock:
            changes = self._changes.pop(key)
        if not all(read_set.include(node, version) for node, version in changes):
            self._wake(key)

    def changed(self, key: ObjectKey, node: ObjectReference, version: str) -> None:
        """What an object depends on is at another version now, or with "" is gone: wake
        the object, unless the reconcile in flight reads that.
        """
        with self._lock:
            changes = self._changes.get(key)
            # While a reconcile runs it is judged at its end: then it is known what was
            # read.
            if changes is not None:
                changes.append((node, version_number(version)))
                return
        self._wake(key)


class _During:
    """The block of `InFlightReads.during`. No generator: each reconcile passes here."""

    __slots__ = ("_key", "_read_set", "_reads")

    def __init__(self, reads: InFlightReads, key: ObjectKey) -> None:
        self._reads, self._key, self._read_set = reads, key, ReadSet()

    def __enter__(self) -> ReadSet:
        self._reads.begin(self._key)
        return self._read_set

    def __exit__(self, *_: object) -> None:
        self._reads.end(self._key, self._read_set)
