"""The versions of other objects that reconciles in flight have read.

A change of an object wakes the objects that depend on it (D13). But a cache shows a
change before the handlers of its event run: a reconcile may have read the new version
already, and another reconcile would send a second PUT. A change after a reconcile's
reads may not matter either: for example, if the reconcile needed only the id of a
target that became Ready meanwhile. Another reconcile would then be useless.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import attrs

from asoreconcile.azure.reconcile.model.object_reference import ObjectReference
from asoreconcile.azure.reconcile.model.owner import Objects
from asoreconcile.base.objects import (
    GroupKind,
    JsonObject,
    ObjectKey,
    resource_version,
    version_number,
)

# Called on the worker that ends a reconcile, or on the thread of the event; must not
# block, nor raise.
Waits = Callable[[], bool]


def always() -> bool:
    """`Waits` for a change that always needs a reconcile."""
    return True


@attrs.frozen
class _Change:
    """A change of an object. version: its new resource version; 0 if it was deleted."""

    node: ObjectReference
    version: int
    waits: Waits


@attrs.define
class ReadSet:
    """The versions at which one reconcile has read other objects. For one thread."""

    _read: dict[ObjectReference, int] = attrs.field(factory=dict)

    def note(self, node: ObjectReference, found: JsonObject | None) -> None:
        """Record a read.

        found: the object that was read; None if it does not exist.
        """
        version = 0 if found is None else version_number(resource_version(found))
        # Keep the first read: it is the oldest, and the reconcile may depend on it.
        self._read.setdefault(node, version)

    def include(self, node: ObjectReference, version: int) -> bool:
        """Return whether the reconcile read an object at that version or a
        newer one.
        """
        return 0 < version <= self._read.get(node, 0)


@attrs.frozen
class TrackingReader:
    """`model.owner.Objects` that records each read; raises as the inner reader does."""

    _objects: Objects
    _read_set: ReadSet

    def get(self, group_kind: GroupKind, key: ObjectKey) -> JsonObject | None:
        """Return the cached object, or None if it does not exist.

        Both are recorded, because a missing object may be created later (D13).
        """
        found = self._objects.get(group_kind, key)
        self._read_set.note(ObjectReference(group_kind, key), found)
        return found

    def is_installed(self, group_kind: GroupKind) -> bool:
        """Return whether the kind's CRD is installed.

        This is not recorded, because a kind that starts wakes its objects.
        """
        return self._objects.is_installed(group_kind)


class InFlightReads:
    """The reconciles in flight, by the key of their object. Safe from any thread."""

    def __init__(self, wake: Callable[[ObjectKey], None]) -> None:
        """wake: function that queues a reconcile of an object; does not block."""
        self._wake = wake
        self._lock = threading.Lock()
        self._changes: dict[ObjectKey, list[_Change]] = {}

    @contextmanager
    def during(self, key: ObjectKey) -> Iterator[ReadSet]:
        """Return a context for a reconcile of an object.

        At its end, also after an exception, another reconcile is queued if the object
        waits for a change that this one has not read.
        """
        read_set = ReadSet()
        with self._lock:
            self._changes[key] = []
        try:
            yield read_set
        finally:
            self._end(key, read_set)

    def _end(self, key: ObjectKey, read_set: ReadSet) -> None:
        """Record the end of a reconcile, with the versions it has read."""
        with self._lock:
            changes = self._changes.pop(key)
        unread = (c for c in changes if not read_set.include(c.node, c.version))
        if any(change.waits() for change in unread):
            self._wake(key)

    def changed(
        self,
        key: ObjectKey,
        node: ObjectReference,
        version: str,
        waits: Waits = always,
    ) -> None:
        """Handle a change of a target of an object: queue a reconcile of the object if
        it waits for the change.

        It is not queued if the reconcile in flight reads the new version. version: the
        new resource version of the target; "" if it was deleted. waits: function that
        returns whether the object waits for the change; called now, or at the end of a
        reconcile in flight.
        """
        with self._lock:
            changes = self._changes.get(key)
            # During a reconcile the decision is made at its end, when its reads and
            # writes are known.
            if changes is not None:
                changes.append(_Change(node, version_number(version), waits))
                return
        if waits():
            self._wake(key)
