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
from collections.abc import Callable, Collection

import attrs

from asoreconcile.base.objects import ObjectKey, version_number
from asoreconcile.cache.entry import Entry

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


class MutationCache:
    """Responses of writes by key. Safe from any thread."""

    def __init__(self, stored: Callable[[ObjectKey], Entry | None]) -> None:
        """stored: function that returns the cached entry of a key."""
        self._stored = stored
        self._lock = threading.Lock()
        # Each with its version, which every event reads until the response is dropped.
        self._answers: dict[ObjectKey, tuple[int, Entry]] = {}
        self._deletions: dict[ObjectKey, _Deletion] = {}
        self._observed_deletions: deque[str] = deque(maxlen=_REMEMBERED_ENDS)
        self._position = 0
        self._positions: dict[str, int] = {}

    def record(self, answer: Entry) -> None:
        """Keep a write's response, unless an equally new state is already known."""
        key, number = answer.key, version(answer)
        with self._lock:
            if number <= self._known_up_to(key.namespace):
                return
            known = self._answers.get(key)
            if known is None or known[0] < number:
                self._answers[key] = number, answer

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
            # Replaced, not changed: readers use it without the lock. The newest comes
            # last, so that the oldest unseen ones are dropped first.
            others = {one: gone for one, gone in self._deletions.items() if one != key}
            self._deletions = {
                **others,
                key: _Deletion(uid, self._last_version(key, uid)),
            }
            # The watch may have been faster, and will not deliver it again.
            self._forget()

    def observe_deletion(self, uid: str) -> None:
        """Record a deletion that the watch delivers, before the cache drops the
        object.
        """
        with self._lock:
            self._observed_deletions.append(uid)

    def newest(self, key: ObjectKey) -> Entry | None:
        """Return the newest entry of a key, for readers. Takes no lock."""
        # In this order: `_forget` drops an answer before the deletion that hides it,
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

    def pending_keys(self) -> Collection[ObjectKey]:
        """Return the keys for which readers may see another state than the cache's;
        usually none.

        Call it before reading the cache.
        """
        if not self._answers and not self._deletions:
            return ()
        with self._lock:
            return {*self._answers, *self._deletions}

    def advance(self, resource_version: str, *, namespace: str | None) -> None:
        """Record the cache's version, for a namespace or for all others.

        It may be older than before, if the server was restored from a backup.
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
        """Drop responses and deletions that the cache now covers. Caller holds the
        lock.
        """
        hidden = self._still_hidden() if self._deletions else {}
        self._answers = {
            key: answer
            for key, answer in self._answers.items()
            if answer[0] > self._known_up_to(key.namespace)
        }
        self._deletions = hidden

    def _still_hidden(self) -> dict[ObjectKey, _Deletion]:
        """Return the deletions that the cache may not reflect yet. The caller holds the
        lock.
        """
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

        The caller holds the lock.
        """
        return self._positions.get(namespace, self._position)


def version(entry: Entry) -> int:
    """Return an entry's resource version as a number; 0 if it is not a number."""
    return version_number(entry.resource_version)
