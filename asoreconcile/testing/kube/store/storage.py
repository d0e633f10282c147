"""All objects of the server, by resource and key, and the stream of their changes.

One global resource version, raised by every write. Stored objects are never changed:
a write stores another one, so readers and watches need no copies. Changes are kept in
a window; a watch from before it gets a 410.
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
_FIRST = 2  # as in a new cluster, nobody can have seen anything earlier


@attrs.frozen
class StorageTable:
    """Where objects of a resource live, whatever version they are read at."""

    group: str
    resource: str


@attrs.frozen
class Change:
    """One write. before: what it replaced, for watches with selectors."""

    version: int
    table: StorageTable
    key: ObjectKey
    type: StoredEventType
    obj: JsonObject = attrs.field(repr=False)
    before: JsonObject | None = attrs.field(default=None, repr=False)


@attrs.frozen
class StorageState:
    """All that is known at one moment. latest: each table's last resource version."""

    version: int
    latest: Mapping[StorageTable, int]
    objects: Iterable[tuple[StorageTable, ObjectKey, JsonObject]] = attrs.field(
        repr=False
    )


class ClosedError(DropConnection):
    """The server is going away: a write that it cannot keep has no answer."""


class Folder(Protocol):
    """What outlives the process (`persistence.DataFolder`)."""

    def load(self) -> StorageState:
        """All that the log holds; called once, before anything is served."""

    def append(self, change: Change) -> None:
        """Write one change before it is answered.

        Raises OSError, and the write then fails.
        """

    @property
    def wants_compaction(self) -> bool:
        """True if the log should be written anew."""

    def compact(self, state: StorageState) -> None:
        """Write the log anew with this state alone, in one step: a crash leaves old or
        new.
        """

    def close(self) -> None:
        """Close the log; nothing may be appended afterwards."""


class Storage:
    """Objects and changes. `lock` makes several calls one step.

    folder: where writes go before they are answered; None keeps all in memory.
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
        """Take a resource version. The caller holds the lock and then writes."""
        self.version += 1
        return str(self.version)

    def get(self, table: StorageTable, key: ObjectKey) -> JsonObject | None:
        """The stored object, not a copy: callers do not change it.

        None if there is none.
        """
        return self._tables.get(table, {}).get(key)

    def items(self, table: StorageTable) -> list[tuple[ObjectKey, JsonObject]]:
        """All objects of a table, by namespace and name."""
        with self.lock:
            return sorted(self._tables.get(table, {}).items(), key=_by_name)

    def tables(self) -> list[StorageTable]:
        """Every table that ever held an object, also when it is empty now."""
        with self.lock:
            return list(self._tables)

    def counts(self) -> dict[str, int]:
        """How many objects there are, by `plural.group`."""
        with self.lock:
            return {
                f"{at.resource}.{at.group}".rstrip("."): len(objects)
                for at, objects in self._tables.items()
            }

    def put(self, table: StorageTable, key: ObjectKey, obj: JsonObject) -> None:
        """Store an object that holds its new resource version."""
        with self.lock:
            objects = self._tables.setdefault(table, {})
            before = objects.get(key)
            kind: StoredEventType = "ADDED" if before is None else "MODIFIED"
            change = Change(_version(obj), table, key, kind, obj, before)
            self._keep(change)
            # Written down first: what the log does not have must not be read.
            objects[key] = obj
            self._index(table, key, before, obj)
            self._record(change)

    def remove(self, table: StorageTable, key: ObjectKey, last: JsonObject) -> None:
        """Drop an object; `last` is its final state, with a new resource version."""
        with self.lock:
            before = self._tables.get(table, {}).get(key)
            change = Change(_version(last), table, key, "DELETED", last, before)
            self._keep(change)
            self._tables.get(table, {}).pop(key, None)
            self._index(table, key, before, None)
            self._record(change)

    def place_of(self, uid: str) -> tuple[StorageTable, ObjectKey] | None:
        """Where the object of a uid is; None when it is gone, or never was."""
        return self._places.get(uid)

    def owned_by(self, uid: str) -> list[tuple[StorageTable, ObjectKey]]:
        """Where the objects are that name an owner."""
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
        """Keep the indexes by namespace and by owner."""
        place = (table, key)
        if before is not None:
            # By what was there before: an update may take an owner away, and a name may
            # be another object's now.
            self._places.pop(uid_of(before), None)
            for owner in owner_references(before):
                self._owned.get(str(owner.get("uid")), set()).discard(place)
        if after is not None:
            self._places[uid_of(after)] = place
            for owner in owner_references(after):
                self._owned.setdefault(str(owner.get("uid")), set()).add(place)

    def last_change(self, table: StorageTable) -> int:
        """The resource version of a table's last write; 0 before the first."""
        return self._latest.get(table, 0)

    def items_at(
        self, table: StorageTable, version: int
    ) -> list[tuple[ObjectKey, JsonObject]] | None:
        """All objects as they were at a version; None when that is forgotten."""
        with self.lock:
            if self.is_forgotten(table, version):
                return None
            # Back from the present, by what each change replaced: to keep whole states
            # would cost a copy of the table a write.
            objects = dict(self._tables.get(table, {}))
            for change in reversed(self.changes_after(table, version)):
                if change.before is None:
                    objects.pop(change.key, None)
                else:
                    objects[change.key] = change.before
        return sorted(objects.items(), key=_by_name)

    def is_forgotten(self, table: StorageTable, version: int) -> bool:
        """Whether changes after a version are no longer all there."""
        with self.lock:
            return version < self._forgotten.get(table, _FIRST)

    def oldest(self, table: StorageTable) -> int:
        """The oldest version that a watch can still begin at."""
        return self._forgotten.get(table, _FIRST)

    def changes_after(self, table: StorageTable, version: int) -> list[Change]:
        """What happened since, as far as the window reaches."""
        with self.lock:
            found: list[Change] = []
            for change in reversed(self._changes.get(table, ())):
                if change.version <= version:
                    break
                found.append(change)
        found.reverse()
        return found

    def wait(self, table: StorageTable, version: int, timeout_seconds: float) -> None:
        """Block until a table changed after a version, or all watches shall look up."""
        with self.lock:
            if self.closed or self.last_change(table) > version:
                return
            # One for each table: a write wakes those who watch its kind, not the
            # watches of all the three hundred others.
            changed = self._changed.setdefault(table, threading.Condition(self.lock))
            changed.wait(timeout_seconds)

    @property
    def cuts(self) -> int:
        """How often all watches were cut; a watch ends when it moves on."""
        return self._cuts

    def cut_watches(self) -> None:
        """End all watches, as a server does that goes away."""
        with self.lock:
            self._cuts += 1
            self._wake_all()

    def compact(self) -> None:
        """Forget all changes so far: watches from older versions get 410."""
        with self.lock:
            for table in self._tables:
                self._forgotten[table] = self.version
            self._changes.clear()

    def close(self) -> None:
        """Wake and end all watches; what has a folder writes no more."""
        with self.lock:
            self.closed = True
            self._wake_all()
            if self._folder is not None:
                self._folder.close()

    def _restore(self, state: StorageState) -> None:
        """Begin with what was there; nobody can watch from before."""
        self.version = max(self.version, state.version)
        for table, key, obj in state.objects:
            self._tables.setdefault(table, {})[key] = obj
            self._index(table, key, None, obj)
        self._latest.update(state.latest)
        # The window is not kept on disk, so a watch from before the restart gets a 410
        # and lists anew, as after etcd's compaction.
        self._forgotten.update(state.latest)

    def _keep(self, change: Change) -> None:
        """Have a change written down before it counts.

        Raises OSError when that fails, and ClosedError.
        """
        if self.closed:
            raise ClosedError
        if self._folder is None:
            return
        self._folder.append(change)
        if self._folder.wants_compaction:
            tables = self._tables.items()
            held = ((t, key, obj) for t, objs in tables for key, obj in objs.items())
            # Before this change is in the tables: it is appended once more behind them.
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
    # Comparing keys themselves costs more than all the rest of a list.
    return pair[0].namespace, pair[0].name


def in_namespace(
    items: Iterable[tuple[ObjectKey, JsonObject]], namespace: str
) -> list[JsonObject]:
    """The objects of a namespace, or all when it is ""."""
    return [obj for key, obj in items if not namespace or key.namespace == namespace]
