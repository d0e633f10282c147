"""Reads after own writes: the answers of writes, until the watch has caught up.

A reader gets the newer of the cache and the answer, by resource version; nothing waits.
A watch delivers in the order of resource versions, so once it has passed an answer's
version the cache knows better: that the object changed since, or is gone. An object
whose deletion was answered stays hidden until the watch has passed all that is known of
it and the cache does not hold it. Rule: D21.
"""

import threading
from collections.abc import Callable, Collection

import attrs

from asoreconcile.cache.entry import Entry
from asoreconcile.objects import ObjectKey, version_number


@attrs.frozen
class _Gone:
    """A deleted object. version: the last one known; its deletion came after that."""

    uid: str
    version: int


class Overlay:
    """Answers of writes by key. Safe from any thread."""

    def __init__(self, stored: Callable[[ObjectKey], Entry | None]) -> None:
        """stored: what the cache holds."""
        self._stored = stored
        self._lock = threading.Lock()
        self._answers: dict[ObjectKey, Entry] = {}
        self._gone: dict[ObjectKey, _Gone] = {}
        self._passed = 0
        self._passed_in: dict[str, int] = {}

    def record(self, answer: Entry) -> None:
        """Keep a write's answer, unless something as new is known already."""
        key = answer.key
        with self._lock:
            if version(answer) <= self._floor(key.namespace):
                return
            known = self._answers.get(key)
            if known is None or version(known) < version(answer):
                self._answers[key] = answer

    def hide(self, key: ObjectKey, uid: str) -> None:
        """Hide an object that the server has deleted. Another of its name shows."""
        with self._lock:
            known = [self._stored(key), self._answers.get(key)]
            ours = [entry for entry in known if entry is not None and entry.uid == uid]
            self._gone[key] = _Gone(uid, max(map(version, ours), default=0))
            # The watch may have been faster, and would not tell again.
            self._forget()

    def newest(self, key: ObjectKey) -> Entry | None:
        """What a reader of a key is to see."""
        stored, answer = self._stored(key), self._answers.get(key)
        if answer is not None and (stored is None or version(answer) > version(stored)):
            stored = answer
        if self._gone and stored is not None:
            gone = self._gone.get(key)
            if gone is not None and gone.uid == stored.uid:
                return None
        return stored

    def touched(self) -> Collection[ObjectKey]:
        """Keys where readers may see something else than the cache; most often none."""
        if not self._answers and not self._gone:
            return ()
        with self._lock:
            return {*self._answers, *self._gone}

    def passed(self, resource_version: str, *, namespace: str | None) -> None:
        """The cache is exactly this new: in a namespace, or in all others.

        It may be older than it was, when the server was restored from a backup.
        """
        now = version_number(resource_version)
        with self._lock:
            if namespace is None:
                self._passed = now
            else:
                self._passed_in[namespace] = now
            if self._answers or self._gone:
                self._forget()

    def _forget(self) -> None:
        """Drop what the cache knows better. Caller holds the lock."""
        self._answers = {
            key: answer
            for key, answer in self._answers.items()
            if version(answer) > self._floor(key.namespace)
        }
        self._gone = {
            key: gone for key, gone in self._gone.items() if self._hides(key, gone)
        }

    def _hides(self, key: ObjectKey, gone: _Gone) -> bool:
        """Whether the cache may still show, or come to show, what is gone."""
        if gone.version > self._floor(key.namespace):
            return True
        stored = self._stored(key)
        return stored is not None and stored.uid == gone.uid

    def _floor(self, namespace: str) -> int:
        """Caller holds the lock."""
        return self._passed_in.get(namespace, self._passed)


def version(entry: Entry) -> int:
    """An entry's resource version as a number; 0 when it is none."""
    return version_number(entry.resource_version)
