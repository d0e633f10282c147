"""The cached objects of one kind: a dict of rows, and indexes over them.

One writer at a time (a feed's thread), many readers. Reading one key takes no lock:
rows are immutable and dict reads are atomic. Indexes and whole-store reads take it.
Rules: IN-1, IN-11, TH-4.
"""

import threading
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from asoreconcile.base.log import Logger
from asoreconcile.base.objects import ObjectKey
from asoreconcile.cache.entry import Entry, EntryRow

_log = Logger(__name__)

IndexFunction = Callable[[Entry], Iterable[str]]
"""The index values of an entry. Must be pure: called again to remove the entry."""

# Not ObjectKey: the garbage collector must not track the store's contents.
_Key = tuple[str, str]
# A set takes 216 bytes, and most values (a uid, an address) have one key.
_Index = dict[str, tuple[_Key] | set[_Key]]
_NOTHING: Mapping[str, Collection[str]] = {}
_MOST_RECENT = 256


class Store:
    """Entries by key. `namespace` is always indexed."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._rows: dict[_Key, EntryRow] = {}
        self._namespaces: _Index = {}
        self._functions: dict[str, IndexFunction] = {}
        self._indexes: dict[str, _Index] = {}
        # An object that changed recently soon changes again, when it is reconciled: its
        # cached values save calling the index functions again.
        self._recent: dict[_Key, tuple[EntryRow, Mapping[str, Collection[str]]]] = {}

    def __len__(self) -> int:
        return len(self._rows)

    def get(self, key: ObjectKey) -> Entry | None:
        """Return the entry, or None. Takes no lock. Rule: TH-4."""
        row = self._rows.get((key.namespace, key.name))
        return None if row is None else Entry.of(row)

    def keys(self, namespace: str | None = None) -> list[ObjectKey]:
        """Return all keys, or those of one namespace, sorted."""
        with self._lock:
            if namespace is None:
                return _keys(self._rows)
            return _keys(self._namespaces.get(namespace, ()))

    def entries(self) -> list[Entry]:
        """Return all entries, sorted by key; a snapshot."""
        with self._lock:
            return [Entry.of(self._rows[key]) for key in sorted(self._rows)]

    def by_index(self, name: str, value: str) -> list[ObjectKey]:
        """Return the keys with this index value, sorted; KeyError for an unknown
        index.
        """
        with self._lock:
            index = self._namespaces if name == "namespace" else self._indexes[name]
            return _keys(index.get(value, ()))

    def add_index(self, name: str, function: IndexFunction) -> None:
        """Add an index over present and future entries; replaces an index of that
        name.
        """
        with self._lock:
            self._functions[name] = function
            index: _Index = {}
            for key, row in self._rows.items():
                for value in self.values_of(name, Entry.of(row)):
                    _add(index, value, key)
            self._indexes[name] = index
            self._recent.clear()

    def values_of(self, name: str, entry: Entry) -> Collection[str]:
        """Return the index values of an entry; KeyError for an unknown index."""
        if name == "namespace":
            return (entry.namespace,)
        return _values(name, self._functions[name], entry)

    def put(self, entry: Entry) -> Entry | None:
        """Store an entry. Returns the entry that it replaces."""
        with self._lock:
            return self._put(entry)

    def remove(self, key: ObjectKey) -> Entry | None:
        """Remove a key; returns its entry."""
        with self._lock:
            return self._remove((key.namespace, key.name))

    def replace(
        self,
        entries: Iterable[Entry],
        namespace: str | None = None,
        others: Collection[str] = (),
    ) -> tuple[Sequence[Entry], Sequence[tuple[Entry | None, Entry]]]:
        """Replace all entries, as one step for other readers.

        namespace: the namespace that the entries cover completely; None for all but
        the others. Returns the removed entries, and the previous one of each new entry.
        """
        # Outside the lock: readers of indexes wait for it, and lists may be long.
        present = {entry.row[:2]: entry for entry in entries}
        with self._lock:
            gone = [
                key
                for one in (self._namespaces if namespace is None else (namespace,))
                if one not in others
                for key in self._namespaces.get(one, ())
                if key not in present
            ]
            removed = [self._remove(key) for key in gone]
            put = [(self._put(entry), entry) for entry in present.values()]
        return [entry for entry in removed if entry is not None], put

    def _put(self, entry: Entry) -> Entry | None:
        """Store an entry and index it. The caller holds the lock."""
        key = entry.row[:2]
        row = self._rows.get(key)
        old = None if row is None else Entry.of(row)
        self._rows[key] = entry.row
        if old is None:
            _add(self._namespaces, key[0], key)
        if self._functions:
            self._index(key, old, entry)
        return old

    def _remove(self, key: _Key) -> Entry | None:
        """Remove a key and its index values. The caller holds the lock."""
        row = self._rows.pop(key, None)
        if row is None:
            return None
        old = Entry.of(row)
        _discard(self._namespaces, key[0], key)
        if self._functions:
            self._index(key, old, None)
        return old

    def _index(self, key: _Key, old: Entry | None, new: Entry | None) -> None:
        """Update the index values of a key."""
        row, before = self._recent.pop(key, (None, _NOTHING))
        if old is not None and row is not old.row:
            before = self._all_values_of(old)
        after = _NOTHING
        if new is not None:
            after = self._all_values_of(new)
            self._recent[key] = (new.row, after)
            if len(self._recent) > _MOST_RECENT:
                del self._recent[next(iter(self._recent))]
        if before == after:  # as of most changes
            return
        for name, index in self._indexes.items():
            had, has = before.get(name, ()), after.get(name, ())
            if had == has:
                continue
            for value in had:
                _discard(index, value, key)
            for value in has:
                _add(index, value, key)

    def _all_values_of(self, entry: Entry) -> Mapping[str, Collection[str]]:
        return {
            name: _values(name, function, entry)
            for name, function in self._functions.items()
        }


def _values(name: str, function: IndexFunction, entry: Entry) -> Collection[str]:
    """Return the index values of an entry; none if the index function raises.

    One bad object must not end the watch of its kind.
    """
    try:
        values = function(entry)
        if isinstance(values, str):  # each letter of a string would be a value
            raise TypeError(f"it answered the text {values!r:.80}: answer a list")
        return tuple(values)
    except BaseException:  # noqa: BLE001 - any index function, any object
        _log.exception("Index function failed", index=name, object=str(entry.key))
        return ()


def _add(index: _Index, value: str, key: _Key) -> None:
    held = index.get(value)
    if held is None:
        index[value] = (key,)
    elif isinstance(held, set):
        held.add(key)
    elif key not in held:
        index[value] = {*held, key}


def _discard(index: _Index, value: str, key: _Key) -> None:
    held = index.get(value, ())
    if key not in held:
        return
    if isinstance(held, set) and len(held) > 1:
        held.remove(key)
    else:
        del index[value]


def _keys(found: Iterable[_Key]) -> list[ObjectKey]:
    return [ObjectKey(*key) for key in sorted(found)]
