"""Reads after own writes: the answers of writes, until the watch has caught up.

A reader gets the newer of the cache and the answer, by resource version; nothing waits.
An answer is dropped once the watch delivers that key at least as new, or its deletion,
or the cache as a whole (list, bookmark) has passed it. Rule: D21.
"""

import threading

from asoreconcile.cache.entry import Entry
from asoreconcile.objects import ObjectKey


class Overlay:
    """Answers of writes by key. Safe from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._answers: dict[ObjectKey, Entry] = {}
        self._gone: dict[str, int] = {}

    def record(self, answer: Entry, *, stored: Entry | None) -> None:
        """Keep a write's answer, unless something as new is known already."""
        with self._lock:
            if answer.uid in self._gone:
                return  # the watch has seen its end, whatever this answer says
            for known in (stored, self._answers.get(answer.key)):
                if (
                    known is not None
                    and known.uid == answer.uid
                    and version(known) >= version(answer)
                ):
                    return
            self._answers[answer.key] = answer

    def newest(self, key: ObjectKey, stored: Entry | None) -> Entry | None:
        """What a reader of a key is to see."""
        answer = self._answers.get(key)
        if answer is None:
            return stored
        if stored is None or version(answer) > version(stored):
            return answer
        return stored

    def observed(self, entry: Entry) -> None:
        """The watch delivered an object."""
        answer = self._answers.get(entry.key)
        if answer is not None and version(entry) >= version(answer):
            self._drop(entry.key)

    def deleted(self, entry: Entry) -> None:
        """The watch delivered a deletion."""
        with self._lock:
            answer = self._answers.get(entry.key)
            if answer is not None and answer.uid == entry.uid:
                del self._answers[entry.key]
            self._gone[entry.uid] = version(entry)

    def passed(self, resource_version: str) -> None:
        """The cache as a whole is at least this new."""
        if not self._answers and not self._gone:
            return
        now = _number(resource_version)
        with self._lock:
            for key, answer in list(self._answers.items()):
                if version(answer) <= now:
                    del self._answers[key]
            for uid, at in list(self._gone.items()):
                if at < now:
                    del self._gone[uid]

    def _drop(self, key: ObjectKey) -> None:
        with self._lock:
            self._answers.pop(key, None)


def version(entry: Entry) -> int:
    """An entry's resource version as a number; 0 when it is none."""
    return _number(entry.resource_version)


def _number(resource_version: str) -> int:
    # Servers promise order of decimal versions of one resource (KEP-5504).
    return int(resource_version) if resource_version.isdecimal() else 0
