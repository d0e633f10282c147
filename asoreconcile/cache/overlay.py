"""Reads after own writes: the answers of writes, until the watch has caught up.

A reader gets the newer of the cache and the answer, by resource version; nothing waits.
A watch delivers in the order of resource versions, so once it has passed an answer's
version the cache knows better: that the object changed since, or is gone. An object
whose deletion was answered stays hidden until the watch has passed all that is known of
it and the cache does not hold it.

Readers take no lock, so the order of their looks is what makes them right. The cache
changes first and only then is an answer dropped: who looks for the answer first, and
into the cache after that, finds one of them. The other way round, both may be missed.
Rule: D21.
"""

import threading
from collections import deque
from collections.abc import Callable, Collection

import attrs

from asoreconcile.cache.entry import Entry
from asoreconcile.objects import ObjectKey, version_number

# Who deletes what this cache never shows (other labels) must not fill it.
_MOST_UNSEEN = 32
_UNSEEN = -1
# A watch may deliver a deletion before its own answer comes.
_REMEMBERED_ENDS = 64


@attrs.frozen
class _Deletion:
    """A deleted object. version: the last one known, its deletion came after that;
    _UNSEEN if neither the cache nor an answer has shown the object yet.
    """

    uid: str
    version: int


class Overlay:
    """Answers of writes by key. Safe from any thread."""

    def __init__(self, stored: Callable[[ObjectKey], Entry | None]) -> None:
        """stored: what the cache holds."""
        self._stored = stored
        self._lock = threading.Lock()
        # Each with its version: that is asked for with every event until it is dropped.
        self._answers: dict[ObjectKey, tuple[int, Entry]] = {}
        self._deletions: dict[ObjectKey, _Deletion] = {}
        self._observed_deletions: deque[str] = deque(maxlen=_REMEMBERED_ENDS)
        self._position = 0
        self._positions: dict[str, int] = {}

    def record(self, answer: Entry) -> None:
        """Keep a write's answer, unless something as new is known already."""
        key, number = answer.key, version(answer)
        with self._lock:
            if number <= self._floor(key.namespace):
                return
            known = self._answers.get(key)
            if known is None or known[0] < number:
                self._answers[key] = number, answer

    def is_new(self, namespace: str, resource_version: str) -> bool:
        """Whether a write's answer may be newer than what the cache is. No lock: for
        who would make an entry that `record` then has no use for.
        """
        return version_number(resource_version) > self._floor(namespace)

    def record_deletion(self, key: ObjectKey, uid: str) -> None:
        """Hide an object that the server has deleted. Another of its name shows.

        One that was never seen is hidden too, should the watch or the answer of a slow
        write bring it yet; the last few of these are remembered.
        """
        with self._lock:
            # Replaced, not changed: readers look at it without the lock. The newest
            # comes last, so that the oldest of those never seen are dropped first.
            others = {one: gone for one, gone in self._deletions.items() if one != key}
            self._deletions = {
                **others,
                key: _Deletion(uid, self._last_version(key, uid)),
            }
            # The watch may have been faster, and would not deliver it again.
            self._forget()

    def observe_deletion(self, uid: str) -> None:
        """The watch delivers a deletion; the cache may hold the object until then."""
        with self._lock:
            self._observed_deletions.append(uid)

    def newest(self, key: ObjectKey) -> Entry | None:
        """What a reader of a key is to see. Takes no lock."""
        # In this order: `_forget` drops an answer before the deletion that hides it,
        # and both after the cache has changed.
        # Most often both are empty, and hashing a key twice costs more than the rest.
        gone = self._deletions.get(key) if self._deletions else None
        answer = self._answers.get(key) if self._answers else None
        newest = self._stored(key)
        if answer is not None and (newest is None or answer[0] > version(newest)):
            newest = answer[1]
        if gone is not None and newest is not None and gone.uid == newest.uid:
            return None
        return newest

    def pending_keys(self) -> Collection[ObjectKey]:
        """Keys where readers may see something else than the cache; most often none.

        To be asked before the cache is.
        """
        if not self._answers and not self._deletions:
            return ()
        with self._lock:
            return {*self._answers, *self._deletions}

    def advance(self, resource_version: str, *, namespace: str | None) -> None:
        """The cache is exactly this new: in a namespace, or in all others.

        It may be older than it was, when the server was restored from a backup.
        """
        now = version_number(resource_version)
        with self._lock:
            if namespace is None:
                self._position = now
            else:
                self._positions[namespace] = now
            if self._answers or self._deletions:
                self._forget()

    def _forget(self) -> None:
        """Drop what the cache knows better. Caller holds the lock."""
        hidden = self._still_hidden() if self._deletions else {}
        self._answers = {
            key: answer
            for key, answer in self._answers.items()
            if answer[0] > self._floor(key.namespace)
        }
        self._deletions = hidden

    def _still_hidden(self) -> dict[ObjectKey, _Deletion]:
        """The deletions that the cache may not know yet. Caller holds the lock."""
        hidden = {}
        for key, gone in self._deletions.items():
            seen = max(gone.version, self._last_version(key, gone.uid))
            if self._hides(key, gone.uid, seen):
                hidden[key] = _Deletion(gone.uid, seen)
        unseen = [key for key, gone in hidden.items() if gone.version == _UNSEEN]
        for key in unseen[:-_MOST_UNSEEN]:
            del hidden[key]
        return hidden

    def _hides(self, key: ObjectKey, uid: str, seen: int) -> bool:
        """Whether the cache may still show, or come to show, what is gone."""
        if seen == _UNSEEN:
            return uid not in self._observed_deletions
        if seen > self._floor(key.namespace):
            return True
        stored = self._stored(key)
        return stored is not None and stored.uid == uid

    def _last_version(self, key: ObjectKey, uid: str) -> int:
        """The newest version known of an object. Caller holds the lock."""
        stored, answer = self._stored(key), self._answers.get(key)
        known = (stored, None if answer is None else answer[1])
        ours = (entry for entry in known if entry is not None and entry.uid == uid)
        return max(map(version, ours), default=_UNSEEN)

    def _floor(self, namespace: str) -> int:
        """Caller holds the lock."""
        return self._positions.get(namespace, self._position)


def version(entry: Entry) -> int:
    """An entry's resource version as a number; 0 when it is none."""
    return version_number(entry.resource_version)
