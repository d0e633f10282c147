"""The cached objects of one kind: a dict of entries, and indexes over them.

One writer (the reflector's thread), many readers. Reading one key takes no lock:
entries are immutable and dict reads are atomic. Indexes and whole-store reads take it.
Rules: IN-1, IN-11, TH-4.
"""

import threading
from collections.abc import Callable, Collection, Iterable

from asoreconcile.cache.entry import Entry
from asoreconcile.log import Logger
from asoreconcile.objects import ObjectKey

_log = Logger(__name__)

IndexFunction = Callable[[Entry], Iterable[str]]
"""The values an entry is found under. Pure: asked again to take an entry out."""


class Store:
    """Entries by key. `namespace` is always indexed."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._entries: dict[ObjectKey, Entry] = {}
        self._functions: dict[str, IndexFunction] = {}
        self._indexes: dict[str, dict[str, set[ObjectKey]]] = {}
        self.add_index("namespace", lambda entry: (entry.key.namespace,))

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, key: ObjectKey) -> Entry | None:
        return self._entries.get(key)

    def keys(self, namespace: str | None = None) -> list[ObjectKey]:
        """All keys, or those of one namespace, sorted."""
        if namespace is not None:
            return self.by_index("namespace", namespace)
        with self._lock:
            return sorted(self._entries)

    def entries(self) -> list[Entry]:
        """All entries, sorted by key."""
        with self._lock:
            return [self._entries[key] for key in sorted(self._entries)]

    def by_index(self, name: str, value: str) -> list[ObjectKey]:
        """The keys that an index gives a value, sorted; KeyError for no index."""
        with self._lock:
            return sorted(self._indexes[name].get(value, ()))

    def add_index(self, name: str, function: IndexFunction) -> None:
        """Index what is there and all that comes; replaces an index of that name."""
        with self._lock:
            self._functions[name] = function
            self._indexes[name] = {}
            for entry in self._entries.values():
                self._link(name, entry)

    def values_of(self, name: str, entry: Entry) -> Collection[str]:
        """What an index gives an entry; KeyError for no index.

        A function that fails finds the entry under nothing: one bad object must not
        end the watch of its kind.
        """
        function = self._functions[name]
        try:
            return tuple(function(entry))
        except Exception:  # noqa: BLE001 - any index function, any object
            _log.exception("Index function failed", index=name, object=str(entry.key))
            return ()

    def put(self, entry: Entry) -> Entry | None:
        """Keep an entry; returns the one it replaces."""
        with self._lock:
            return self._put(entry)

    def remove(self, key: ObjectKey) -> Entry | None:
        """Drop a key; returns what was there."""
        with self._lock:
            return self._remove(key)

    def replace(
        self,
        entries: Iterable[Entry],
        covers: Callable[[str], bool] = lambda _namespace: True,
    ) -> tuple[list[Entry], list[tuple[Entry | None, Entry]]]:
        """Make entries all there is, as one step for other readers.

        covers: of which namespaces they are all. Returns what was there and is gone,
        and what was there before each entry.
        """
        present = {entry.key: entry for entry in entries}
        with self._lock:
            gone = [
                self._entries[key]
                for namespace, keys in self._indexes["namespace"].items()
                if covers(namespace)
                for key in keys
                if key not in present
            ]
            for entry in gone:
                self._remove(entry.key)
            return gone, [(self._put(entry), entry) for entry in present.values()]

    def _put(self, entry: Entry) -> Entry | None:
        """Caller holds the lock."""
        old = self._entries.get(entry.key)
        if old is not None:
            self._unlink_all(old)
        self._entries[entry.key] = entry
        for name in self._functions:
            self._link(name, entry)
        return old

    def _remove(self, key: ObjectKey) -> Entry | None:
        """Caller holds the lock."""
        old = self._entries.pop(key, None)
        if old is not None:
            self._unlink_all(old)
        return old

    def _link(self, name: str, entry: Entry) -> None:
        index = self._indexes[name]
        for value in self.values_of(name, entry):
            index.setdefault(value, set()).add(entry.key)

    def _unlink_all(self, entry: Entry) -> None:
        for name in self._functions:
            index = self._indexes[name]
            for value in self.values_of(name, entry):
                keys = index.get(value)
                if keys is not None:
                    keys.discard(entry.key)
                    if not keys:
                        del index[value]
