"""The indexer of a kind: its store, the cache of this process's writes, and its
handlers.

The store changes first, then handlers are called, in the order of the stream. One feed
writes at a time; reads from any thread never wait. Rules: IN-1 - IN-8, IN-11, D21.
"""

import threading
from collections.abc import Callable, Iterable

from asoreconcile.base.clock import Clock
from asoreconcile.base.objects import ObjectKey
from asoreconcile.cache.entry import Entry
from asoreconcile.cache.events import Added, Deleted, EventHandler, Updated
from asoreconcile.cache.initial_list import InitialList
from asoreconcile.cache.mutation_cache import MutationCache
from asoreconcile.cache.processor import Processor, Registration
from asoreconcile.cache.scope import WatchScope
from asoreconcile.cache.store import IndexFunction, Store


class Indexer:
    """One kind's entries. Safe from any thread."""

    def __init__(
        self,
        clock: Clock,
        *,
        synced: Callable[[], bool],
        namespaces: Iterable[str] = (),
    ) -> None:
        """synced: returns whether every watch has delivered its initial list.
        namespaces: those with a watch of their own.
        """
        # Reentrant: handlers are called under it, and may add or remove handlers.
        self._lock = threading.RLock()
        self._store = Store()
        self.mutations = MutationCache(self._store.get, namespaces)
        """The responses of writes that the watch has not delivered."""
        self.processor = Processor(clock, synced=synced)

    def entry(self, key: ObjectKey) -> Entry | None:
        """Return the newest known entry of a key, own writes included; None if there is
        none.
        """
        return self.mutations.newest(key)

    def keys(self, namespace: str | None = None) -> list[ObjectKey]:
        """Return all keys, or those of a namespace, sorted; own writes included."""
        return self.mutations.with_writes(
            lambda store: store.keys(namespace),
            self._store,
            lambda entry: namespace in (None, entry.namespace),
        )

    def by_index(self, name: str, value: str) -> list[ObjectKey]:
        """Return the keys with this index value, sorted."""
        return self.mutations.with_writes(
            lambda store: store.by_index(name, value),
            self._store,
            lambda entry: value in self._store.values_of(name, entry),
        )

    def add_index(self, name: str, function: IndexFunction) -> None:
        """Add an index by `function`, also over existing entries; replaces an index of
        that name.
        """
        # First: a reader that finds it in the cache asks for it here too.
        self.mutations.add_index(name, function)
        self._store.add_index(name, function)

    def add_handler(
        self, handler: EventHandler, resync_seconds: float = 0.0
    ) -> Registration:
        """Add a handler between two events."""
        with self._lock:
            return self.processor.add(
                handler,
                self._store.entries(),
                resync_seconds=resync_seconds,
                resync=self._resync,
            )

    def apply(self, type_: str, entry: Entry, scope: WatchScope) -> None:
        """Apply one watch event to the cache."""
        with self._lock:
            deleted = type_ == "DELETED"
            if deleted:
                # Before the cache drops it: the response of our own deletion may arrive
                # only now, and must find that the watch was faster.
                self.mutations.observe_deletion(entry.uid)
            old = self._store.remove(entry.key) if deleted else self._store.put(entry)
            if old is not None and old.uid != entry.uid:
                self.mutations.observe_removal(entry.key)
            # After the cache has changed: this drops responses that the cache now
            # covers.
            self.mutations.advance(entry.resource_version, namespace=scope.namespace)
            if not deleted:
                self._distribute(old, entry, initial=False)
            elif old is not None:
                self.processor.distribute(Deleted(entry))

    def drop_unreadable(self, key: ObjectKey, version: str, scope: WatchScope) -> None:
        """Remove an object that can no longer be read, as a relist without it would."""
        with self._lock:
            old = self._store.remove(key)
            self.mutations.observe_removal(key)
            self.mutations.advance(version, namespace=scope.namespace)
            if old is not None:
                self.processor.distribute(Deleted(old, observed=False))

    def replace(self, state: InitialList, scope: WatchScope, *, initial: bool) -> None:
        """Apply a relist: first deletions that the watch missed, then additions and
        updates.

        In this order handlers can release what a deleted object held (a name, an
        address) before another object claims it.
        """
        with self._lock:
            gone, put = self._store.replace(
                state.entries, scope.namespace, scope.others
            )
            for last in gone:
                self.mutations.observe_deletion(last.uid)
            for old, entry in put:
                if old is not None and old.uid != entry.uid:
                    self.mutations.observe_removal(entry.key)
            self.mutations.advance(state.version, namespace=scope.namespace)
            for last in gone:
                self.processor.distribute(Deleted(last, observed=False))
            for old, entry in put:
                self._distribute(old, entry, initial=initial)

    def advance(self, version: str, scope: WatchScope) -> None:
        """Advance to the version of a bookmark."""
        # Without the events lock: a bookmark changes no entry and calls no handler.
        self.mutations.advance(version, namespace=scope.namespace)

    def _distribute(self, old: Entry | None, entry: Entry, *, initial: bool) -> None:
        """Deliver the change of an entry to the handlers. The caller holds the lock."""
        if old is None:
            self.processor.distribute(Added(entry, initial=initial))
        elif old.uid != entry.uid:
            # Deleted and recreated during a gap of the watch.
            self.processor.distribute(Deleted(old, observed=False))
            self.processor.distribute(Added(entry, initial=initial))
        # A relist repeats known objects, and handlers get only the differences. Without
        # a version, equality is unknown.
        elif not old.resource_version or old.resource_version != entry.resource_version:
            self.processor.distribute(Updated(old, entry))

    def _resync(self, registration: Registration) -> None:
        with self._lock:
            self.processor.resync(registration, self._store.entries())
