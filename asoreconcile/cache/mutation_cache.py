"""Keeps the responses of writes until the watch has delivered them, so that reads see
the process's own writes.

A reader gets the newer of the cached state and the response, by resource version,
without waiting. A watch delivers in the order of resource versions, so once it has
passed a response's version, the cache is at least as new: the object may have changed
since, or be gone. A deleted object stays hidden until the watch has passed its last
known version and the cache no longer holds it.

Readers take no lock, so they rely on the order of their reads. A response is dropped
only after the cache has changed: a reader that looks for the response first and in the
cache second finds one of them. In the other order it may miss both.
Rule: D21.
"""

import threading
from collections import deque
from collections.abc import Callable, Iterable
from heapq import heappop, heappush

import attrs

from asoreconcile.base.objects import ObjectKey, version_number
from asoreconcile.cache.entry import Entry
from asoreconcile.cache.store import IndexFunction, Store

# Deletions of objects that this cache never shows (other labels) must not fill it.
_MOST_UNSEEN = 32
_UNSEEN = -1
# A watch may deliver a deletion before the response of the delete request.
_REMEMBERED_ENDS = 64


@attrs.frozen
class _Deletion:
    """A deleted object. version: its last known version before the deletion; _UNSEEN if
    neither the cache nor a response has shown the object yet.
    """

    uid: str
    version: int


# The namespace of a watch, None for that of all others: each has its own position.
_Watch = str | None
_Due = tuple[int, ObjectKey]


class MutationCache:
    """Responses of writes by key. Safe from any thread.

    An event costs the same, however many responses wait for the watch: a heap for each
    watch has the versions at which they may be dropped.
    """

    def __init__(
        self,
        stored: Callable[[ObjectKey], Entry | None],
        namespaces: Iterable[str] = (),
    ) -> None:
        """stored: function that returns the cached entry of a key. namespaces: those
        with a watch of their own.
        """
        self._stored = stored
        self._lock = threading.Lock()
        # Each with its version. Readers use both dicts without the lock.
        self._answers: dict[ObjectKey, tuple[int, Entry]] = {}
        self._deletions: dict[ObjectKey, _Deletion] = {}
        self._listed = Store()
        self._unseen: dict[ObjectKey, None] = {}
        self._deleted_uids: dict[str, ObjectKey] = {}
        self._observed_deletions: deque[str] = deque(maxlen=_REMEMBERED_ENDS)
        self._positions: dict[_Watch, int] = {None: 0, **dict.fromkeys(namespaces, 0)}
        self._due: dict[_Watch, list[_Due]] = {watch: [] for watch in self._positions}
        self._settling: set[ObjectKey] = set()
        self._drops = 0

    def record(self, answer: Entry) -> None:
        """Keep a write's response, unless an equally new state is already known."""
        key, number = answer.key, version(answer)
        with self._lock:
            if number <= self._known_up_to(key.namespace):
                return
            known = self._answers.get(key)
            if known is None or known[0] < number:
                self._answers[key] = number, answer
                self._listed.put(answer)
                self._drop_at(number, key)
                gone = self._deletions.get(key)
                if gone is not None and gone.uid == answer.uid:
                    self._judge(key)

    def is_new(self, namespace: str, resource_version: str) -> bool:
        """Return whether a write's response may be newer than the cache. Takes no lock.

        If not, the caller need not make an entry that `record` would drop.
        """
        return version_number(resource_version) > self._known_up_to(namespace)

    def record_deletion(self, key: ObjectKey, uid: str) -> None:
        """Hide an object that the server has deleted. A new object of that name is
        shown.

        An object that was never seen is hidden too, in case the watch or the response
        of a slow write still delivers it; only the last few of these are kept.
        """
        with self._lock:
            self._drop_deletion(key)
            self._deletions[key] = _Deletion(uid, _UNSEEN)
            self._deleted_uids[uid] = key
            # The newest comes last, so that the oldest unseen ones are dropped first.
            self._unseen[key] = None
            # The watch may have been faster, and will not deliver it again.
            self._judge(key)
            for one in list(self._unseen)[:-_MOST_UNSEEN]:
                self._judge(one)
                if one in self._unseen:
                    self._drop_deletion(one)

    def observe_deletion(self, uid: str) -> None:
        """Record a deletion that the watch delivers, before the cache drops the
        object.
        """
        with self._lock:
            self._observed_deletions.append(uid)
            if (key := self._deleted_uids.get(uid)) is not None:
                self._settling.add(key)

    def observe_removal(self, key: ObjectKey) -> None:
        """Record that the cache no longer holds an object, or holds another one of this
        name, although the watch has delivered no deletion.
        """
        with self._lock:
            if key in self._deletions:
                self._settling.add(key)

    def newest(self, key: ObjectKey) -> Entry | None:
        """Return the newest entry of a key, for readers. Takes no lock."""
        # In this order: `advance` drops an answer before the deletion that hides it,
        # and both after the cache has changed.
        # Usually both are empty, and hashing a key twice costs more than the rest.
        gone = self._deletions.get(key) if self._deletions else None
        answer = self._answers.get(key) if self._answers else None
        newest = self._stored(key)
        if answer is not None and (newest is None or answer[0] > version(newest)):
            newest = answer[1]
        if gone is not None and newest is not None and gone.uid == newest.uid:
            return None
        return newest

    def add_index(self, name: str, function: IndexFunction) -> None:
        """Add an index over the responses, as the cache has it."""
        self._listed.add_index(name, function)

    def with_writes(
        self,
        listed: Callable[[Store], list[ObjectKey]],
        stored: Store,
        belongs: Callable[[Entry], bool],
    ) -> list[ObjectKey]:
        """Return keys of the cache as a reader must see them: with the responses of
        writes, and without deleted objects.

        listed: returns the keys of a store that a reader asks for, sorted. stored: the
        cache. belongs: whether the newest entry of a key is one of these.
        """
        if not self._answers and not self._deletions:
            return listed(stored)
        drops = self._drops
        # In this order: a key that no longer waits here is already in the cache.
        waiting = set(listed(self._listed))
        found = listed(stored)
        if waiting:
            found = sorted(waiting.union(found))

        def is_shown(key: ObjectKey) -> bool:
            entry = self.newest(key)
            return entry is not None and belongs(entry)

        answers, deletions = self._answers, self._deletions
        shown = [
            key
            for key in found
            if (key not in answers and key not in deletions and key not in waiting)
            or is_shown(key)
        ]
        if drops == self._drops:
            return shown
        # Dropped meanwhile: the cache may have lost such a key after it was listed.
        return [key for key in found if is_shown(key)]

    def __len__(self) -> int:
        """Return how many responses and deletions wait for the watch."""
        return len(self._answers) + len(self._deletions)

    def advance(self, resource_version: str, *, namespace: str | None) -> None:
        """Record the cache's version, for a namespace or for all others.

        It may be older than before, if the server was restored from a backup.
        """
        now = version_number(resource_version)
        with self._lock:
            if namespace not in self._positions:
                self._adopt(namespace)
            self._positions[namespace] = now
            due = self._due[namespace]
            while due and due[0][0] <= now:
                _, key = heappop(due)
                self._drop_answer(key)
                if key in self._deletions:
                    self._settling.add(key)
            # After the answers: they would be shown without the deletion.
            if self._settling:
                for key in self._settling:
                    self._judge(key)
                self._settling.clear()

    def forget(self, namespace: str) -> None:
        """Drop all of a namespace whose watch has ended."""
        with self._lock:
            for key in [one for one in self._answers if one.namespace == namespace]:
                self._drops += 1
                del self._answers[key]
                self._listed.remove(key)
            for key in [one for one in self._deletions if one.namespace == namespace]:
                self._drop_deletion(key)
            self._positions.pop(namespace, None)
            self._due.pop(namespace, None)

    def _adopt(self, namespace: _Watch) -> None:
        """Give a namespace a position of its own. The caller holds the lock."""
        self._positions[namespace] = self._positions[None]
        # They stay in the other heap too, in which they are not due.
        moved = [one for one in self._due[None] if one[1].namespace == namespace]
        self._due[namespace] = sorted(moved)

    def _drop_at(self, number: int, key: ObjectKey) -> None:
        """Drop what waits of a key once its watch has passed a version. The caller
        holds the lock.
        """
        watch = key.namespace if key.namespace in self._positions else None
        heappush(self._due[watch], (number, key))

    def _drop_answer(self, key: ObjectKey) -> None:
        """Drop a response if the cache covers it now. The caller holds the lock."""
        answer = self._answers.get(key)
        if answer is not None and answer[0] <= self._known_up_to(key.namespace):
            self._drops += 1
            del self._answers[key]
            self._listed.remove(key)

    def _drop_deletion(self, key: ObjectKey) -> None:
        """Stop hiding an object. The caller holds the lock."""
        gone = self._deletions.get(key)
        if gone is None:
            return
        self._drops += 1
        del self._deletions[key]
        self._unseen.pop(key, None)
        if self._deleted_uids.get(gone.uid) == key:
            del self._deleted_uids[gone.uid]

    def _judge(self, key: ObjectKey) -> None:
        """Stop hiding an object that the cache neither holds nor may get any more, or
        note when to look again. The caller holds the lock.
        """
        gone = self._deletions.get(key)
        if gone is None:
            return
        seen = max(gone.version, self._last_version(key, gone.uid))
        if not self._hides(key, gone.uid, seen):
            self._drop_deletion(key)
            return
        if seen == _UNSEEN:
            return
        self._unseen.pop(key, None)
        self._deletions[key] = _Deletion(gone.uid, seen)
        # Otherwise the cache still holds it: `observe_deletion` comes.
        if seen > self._known_up_to(key.namespace):
            self._drop_at(seen, key)

    def _hides(self, key: ObjectKey, uid: str, seen: int) -> bool:
        """Return whether the cache may still hold, or get, the deleted object."""
        if seen == _UNSEEN:
            return uid not in self._observed_deletions
        if seen > self._known_up_to(key.namespace):
            return True
        stored = self._stored(key)
        return stored is not None and stored.uid == uid

    def _last_version(self, key: ObjectKey, uid: str) -> int:
        """Return the newest version known of an object. Caller holds the lock."""
        stored, answer = self._stored(key), self._answers.get(key)
        known = (stored, None if answer is None else answer[1])
        ours = (entry for entry in known if entry is not None and entry.uid == uid)
        return max(map(version, ours), default=_UNSEEN)

    def _known_up_to(self, namespace: str) -> int:
        """Return the resource version up to which the cache knows the changes in a
        namespace.
        """
        positions = self._positions
        known = positions.get(namespace)
        return positions[None] if known is None else known


def version(entry: Entry) -> int:
    """Return an entry's resource version as a number; 0 if it is not a number."""
    return version_number(entry.resource_version)
