"""All objects of the server, by resource and key, and the stream of their changes.

There is one global resource version, which every write raises. Stored objects never
change: a write stores a new object, so readers and watches need no copies. Recent
changes are kept in a window; a watch from before the window gets 410.
"""

import threading
from collections import deque
from collections.abc import Iterable, Mapping
from typing import Literal, Protocol

import attrs

from asoreconcile.base.objects import (
    JsonObject,
    ObjectKey,
    metadata,
    owner_references,
    uid_of,
)
from asoreconcile.testing.http import DropConnection

StoredEventType = Literal["ADDED", "MODIFIED", "DELETED"]
_WINDOW = 20_000
_FIRST = 2  # as in a new cluster: no client can have seen an earlier version


@attrs.frozen
class StorageTable:
    """The table of a resource's objects, which all its versions share."""

    group: str
    resource: str


@attrs.frozen
class Change:
    """One write.

    before: the replaced object, for watches with selectors.
    """

    version: int
    table: StorageTable
    key: ObjectKey
    type: StoredEventType
    obj: JsonObject = attrs.field(repr=False)
    before: JsonObject | None = attrs.field(default=None, repr=False)


@attrs.frozen
class StorageState:
    """The whole state at one moment.

    latest: the last resource version of each table.
    """

    version: int
    latest: Mapping[StorageTable, int]
    objects: Iterable[tuple[StorageTable, ObjectKey, JsonObject]] = attrs.field(
        repr=False
    )


class ClosedError(DropConnection):
    """The server is stopping. A write that it cannot store gets no answer."""


class Folder(Protocol):
    """A log that outlives the process (`persistence.DataFolder`)."""

    def load(self) -> StorageState:
        """Return the contents of the log. Called once, before the server answers
        requests.
        """

    def append(self, change: Change) -> None:
        """Write one change before it is answered.

        Raises OSError, and the write then fails.
        """

    @property
    def wants_compaction(self) -> bool:
        """Return whether the log should be rewritten."""

    def compact(self, state: StorageState) -> None:
        """Rewrite the log with only this state, in one step.

        After a crash the log is either the old or the new one.
        """

    def close(self) -> None:
        """Close the log. Nothing may be appended afterwards."""


class Storage:
    """Objects and changes. `lock` makes several calls one step.

    folder: log of writes; if None, all is only in memory.
    """

    def __init__(self, window: int = _WINDOW, folder: Folder | None = None) -> None:
        self.lock = threading.RLock()
        self._changed: dict[StorageTable, threading.Condition] = {}
        self._tables: dict[StorageTable, dict[ObjectKey, JsonObject]] = {}
        self._changes: dict[StorageTable, deque[Change]] = {}
        self._places: dict[str, tuple[StorageTable, ObjectKey]] = {}
        self._owned: dict[str, set[tuple[StorageTable, ObjectKey]]] = {}
        self._window = window
        self._forgotten: dict[StorageTable, int] = {}
        self._latest: dict[StorageTable, int] = {}
        self._cuts = 0
        self.version = _FIRST
        self.closed = False
        self._folder = folder
        if folder is not None:
            self._restore(folder.load())

    def next_version(self) -> str:
        """Return a new resource version. The caller holds the lock and then writes."""
        self.version += 1
        return str(self.version)

    def get(self, table: StorageTable, key: ObjectKey) -> JsonObject | None:
        """Return the stored object, not a copy, or None. Callers must not change it."""
        return self._tables.get(table, {}).get(key)

    def items(self, table: StorageTable) -> list[tuple[ObjectKey, JsonObject]]:
        """Return all objects of a table, ordered by namespace and name."""
        with self.lock:
            return sorted(self._tables.get(table, {}).items(), key=_by_name)

    def tables(self) -> list[StorageTable]:
        """Return every table that ever held an object, even if it is empty now."""
        with self.lock:
            return list(self._tables)

    def counts(self) -> dict[str, int]:
        """Return the number of objects, by `plural.group`."""
        with self.lock:
            return {
                f"{at.resource}.{at.group}".rstrip("."): len(objects)
                for at, objects in self._tables.items()
            }

    def put(self, table: StorageTable, key: ObjectKey, obj: JsonObject) -> None:
        """Store an object that contains its new resource version."""
        with self.lock:
            objects = self._tables.setdefault(table, {})
            before = objects.get(key)
            kind: StoredEventType = "ADDED" if before is None else "MODIFIED"
            change = Change(_version(obj), table, key, kind, obj, before)
            self._keep(change)
            # The log comes first: clients must not read an object that is missing in
            # the log.
            objects[key] = obj
            self._index(table, key, before, obj)
            self._record(change)

    def remove(self, table: StorageTable, key: ObjectKey, last: JsonObject) -> None:
        """Remove an object.

        last: its final state, with a new resource version.
        """
        with self.lock:
            before = self._tables.get(table, {}).get(key)
            change = Change(_version(last), table, key, "DELETED", last, before)
            self._keep(change)
            self._tables.get(table, {}).pop(key, None)
            self._index(table, key, before, None)
            self._record(change)

    def place_of(self, uid: str) -> tuple[StorageTable, ObjectKey] | None:
        """Return the place of the object with a uid, or None if it does not exist."""
        return self._places.get(uid)

    def owned_by(self, uid: str) -> list[tuple[StorageTable, ObjectKey]]:
        """Return the places of the objects that name an owner."""
        with self.lock:
            return sorted(
                self._owned.get(uid, ()), key=lambda at: (at[0].resource, at[1])
            )

    def _index(
        self,
        table: StorageTable,
        key: ObjectKey,
        before: JsonObject | None,
        after: JsonObject | None,
    ) -> None:
        """Update the indexes by namespace and by owner."""
        place = (table, key)
        if before is not None:
            # The old object counts: an update may remove an owner, and a name may now
            # belong to another object.
            self._places.pop(uid_of(before), None)
            for owner in owner_references(before):
                self._owned.get(str(owner.get("uid")), set()).discard(place)
        if after is not None:
            self._places[uid_of(after)] = place
            for owner in owner_references(after):
                self._owned.setdefault(str(owner.get("uid")), set()).add(place)

    def last_change(self, table: StorageTable) -> int:
        """Return the resource version of a table's last write; 0 before the first."""
        return self._latest.get(table, 0)

    def items_at(
        self, table: StorageTable, version: int
    ) -> list[tuple[ObjectKey, JsonObject]] | None:
        """Return all objects at an earlier version, or None if it is forgotten."""
        with self.lock:
            if self.is_forgotten(table, version):
                return None
            # The state is computed backwards from the present, by the objects that each
            # change replaced. Storing whole states would cost a copy of the table for
            # each write.
            objects = dict(self._tables.get(table, {}))
            for change in reversed(self.changes_after(table, version)):
                if change.before is None:
                    objects.pop(change.key, None)
                else:
                    objects[change.key] = change.before
        return sorted(objects.items(), key=_by_name)

    def is_forgotten(self, table: StorageTable, version: int) -> bool:
        """Return whether some changes after a version are forgotten."""
        with self.lock:
            return version < self._forgotten.get(table, _FIRST)

    def oldest(self, table: StorageTable) -> int:
        """Return the oldest version at which a watch can still start."""
        return self._forgotten.get(table, _FIRST)

    def changes_after(self, table: StorageTable, version: int) -> list[Change]:
        """Return the changes after a version, within the window."""
        with self.lock:
            found: list[Change] = []
            for change in reversed(self._changes.get(table, ())):
                if change.version <= version:
                    break
                found.append(change)
        found.reverse()
        return found

    def wait(self, table: StorageTable, version: int, timeout_seconds: float) -> None:
        """Block until a table changes after a version, or until all watches
        must check.
        """
        with self.lock:
            if self.closed or self.last_change(table) > version:
                return
            # Each table has its own condition: a write wakes the watches of its kind,
            # not those of three hundred other kinds.
            changed = self._changed.setdefault(table, threading.Condition(self.lock))
            changed.wait(timeout_seconds)

    @property
    def cuts(self) -> int:
        """Return how often all watches were cut. A watch ends when this
        number grows.
        """
        return self._cuts

    def cut_watches(self) -> None:
        """End all watches, as a stopping server does."""
        with self.lock:
            self._cuts += 1
            self._wake_all()

    def compact(self) -> None:
        """Forget all changes so far, so that watches from older versions get 410."""
        with self.lock:
            for table in self._tables:
                self._forgotten[table] = self.version
            self._changes.clear()

    def close(self) -> None:
        """Wake and end all watches. Nothing is written to a folder any more."""
        with self.lock:
            self.closed = True
            self._wake_all()
            if self._folder is not None:
                self._folder.close()

    def _restore(self, state: StorageState) -> None:
        """Start with a stored state. No watch can start before it."""
        self.version = max(self.version, state.version)
        for table, key, obj in state.objects:
            self._tables.setdefault(table, {})[key] = obj
            self._index(table, key, None, obj)
        self._latest.update(state.latest)
        # The window is not stored, so a watch from before the restart gets 410 and
        # lists again, as after etcd's compaction.
        self._forgotten.update(state.latest)

    def _keep(self, change: Change) -> None:
        """Write a change to the log.

        Raises OSError if that fails, and ClosedError.
        """
        if self.closed:
            raise ClosedError
        if self._folder is None:
            return
        self._folder.append(change)
        if self._folder.wants_compaction:
            tables = self._tables.items()
            held = ((t, key, obj) for t, objs in tables for key, obj in objs.items())
            # This comes before the change is in the tables, because the change is
            # appended once more after them.
            self._folder.compact(StorageState(self.version, self._latest, held))
            self._folder.append(change)

    def _wake_all(self) -> None:
        for changed in self._changed.values():
            changed.notify_all()

    def _record(self, change: Change) -> None:
        changes = self._changes.setdefault(change.table, deque())
        changes.append(change)
        if len(changes) > self._window:
            self._forgotten[change.table] = changes.popleft().version
        self._latest[change.table] = change.version
        if (changed := self._changed.get(change.table)) is not None:
            changed.notify_all()


def _version(obj: JsonObject) -> int:
    return int(metadata(obj)["resourceVersion"])


def _by_name(pair: tuple[ObjectKey, JsonObject]) -> tuple[str, str]:
    # Comparing the keys themselves would cost more than the rest of a list.
    return pair[0].namespace, pair[0].name


def in_namespace(
    items: Iterable[tuple[ObjectKey, JsonObject]], namespace: str
) -> list[JsonObject]:
    """Return the objects of a namespace, or all if it is ""."""
    return [obj for key, obj in items if not namespace or key.namespace == namespace]
