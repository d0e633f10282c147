"""The versions of exported Secrets and ConfigMaps that are known to be as written.

Watch events of exported objects are mostly the events of this process's own writes. The
version tells them from a change by another writer, which must be repaired at once.
"""

import threading
from collections.abc import Mapping
from typing import Protocol

from asoreconcile.azure.reconcile.model.object_reference import ObjectReference
from asoreconcile.base.objects import (
    GroupKind,
    JsonObject,
    ObjectKey,
    resource_version,
    version_number,
)
from asoreconcile.cache.entry import Entry


class Shown(Protocol):
    """A cache of Secrets or ConfigMaps; an `Informer` is one."""

    def has_synced(self) -> bool:
        """Return whether the cache shows every object."""

    def entry(self, key: ObjectKey) -> Entry | None:
        """Return the cached object."""


_NO_CACHES: Mapping[GroupKind, Shown] = {}


class ExportedObjects:
    """The exported objects of all kinds. Safe from any thread."""

    def __init__(self, caches: Mapping[GroupKind, Shown] = _NO_CACHES) -> None:
        """caches: the caches of Secrets and ConfigMaps."""
        self._caches = caches
        self._lock = threading.Lock()
        self._known: dict[ObjectReference, int] = {}

    def note(self, node: ObjectReference, stored: JsonObject) -> None:
        """Remember that an object is as its exporter wants it.

        stored: the object as the API server has returned it.
        """
        version = version_number(resource_version(stored))
        with self._lock:
            self._known[node] = max(version, self._known.get(node, 0))

    def is_known(self, node: ObjectReference, version: str) -> bool:
        """Return whether a version of an object is as old as the noted one or older."""
        with self._lock:
            return 0 < version_number(version) <= self._known.get(node, 0)

    def forget(self, node: ObjectReference) -> None:
        """Drop the version of an object that was deleted."""
        with self._lock:
            self._known.pop(node, None)

    def shown(self, node: ObjectReference) -> str | None:
        """Return the resource version in the cache: "" if the object does not exist,
        None if the cache is not complete. Makes no request.
        """
        cache = self._caches.get(node.group_kind)
        if cache is None or not cache.has_synced():
            return None
        entry = cache.entry(node.key)
        return "" if entry is None else entry.resource_version
