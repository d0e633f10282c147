"""Reads after own writes: the answers of writes, until the watch has caught up.

A reader gets the newer of the cache and the answer, by resource version; nothing waits.
A watch delivers in the order of resource versions, so once it has passed an answer's
version the cache knows better: that the object changed since, or is gone. An object
whose deletion was answered stays hidden until the watch has told of it. Rule: D21.
"""

import threading
from collections.abc import Collection

from asoreconcile.cache.entry import Entry
from asoreconcile.objects import ObjectKey


class Overlay:
    """Answers of writes by key. Safe from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._answers: dict[ObjectKey, Entry] = {}
        self._gone: dict[ObjectKey, str] = {}
        self._passed = 0
        self._passed_in: dict[str, int] = {}

    def record(self, answer: Entry) -> None:
        """Keep a write's answer, unless something as new is known already."""
        with self._lock:
            if version(answer) <= self._floor(answer.key.namespace):
                return
            known = self._answers.get(answer.key)
            if known is None or version(known) < version(answer):
                self._answers[answer.key] = answer

    def hide(self, key: ObjectKey, uid: str) -> None:
        """Hide an object that the server has deleted. Another of its name shows."""
        with self._lock:
            self._gone[key] = uid

    def settle(self, key: ObjectKey, stored: Entry | None) -> None:
        """The cache has learned of a deletion, if stored is another object or none."""
        hidden = self._gone.get(key)
        if hidden is not None and (stored is None or stored.uid != hidden):
            with self._lock:
                self._gone.pop(key, None)

    def newest(self, key: ObjectKey, stored: Entry | None) -> Entry | None:
        """What a reader of a key is to see."""
        answer = self._answers.get(key)
        if answer is not None and (stored is None or version(answer) > version(stored)):
            stored = answer
        if self._gone and stored is not None and self._gone.get(key) == stored.uid:
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
        now = _number(resource_version)
        with self._lock:
            if namespace is None:
                self._passed = now
            else:
                self._passed_in[namespace] = now
            if not self._answers:
                return
            self._answers = {
                key: answer
                for key, answer in self._answers.items()
                if version(answer) > self._floor(key.namespace)
            }

    def _floor(self, namespace: str) -> int:
        """Caller holds the lock."""
        return self._passed_in.get(namespace, self._passed)


def version(entry: Entry) -> int:
    """An entry's resource version as a number; 0 when it is none."""
    return _number(entry.resource_version)


def _number(resource_version: str) -> int:
    # Servers promise order of decimal versions of one resource (KEP-5504).
    return int(resource_version) if resource_version.isdecimal() else 0
