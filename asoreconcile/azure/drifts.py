"""Differences that a PUT was sent to mend, in memory only.

After the PUT they tell what it could not mend; over the syncs, what comes back each
time because somebody else wants it otherwise. A restart forgets: it costs some PUTs.
"""

import threading
from collections import Counter
from collections.abc import Iterable


class Drifts:
    """uid -> marks of differences. Safe from any thread."""

    def __init__(self) -> None:
        self._pending: dict[str, frozenset[str]] = {}
        self._repairs: dict[str, Counter[str]] = {}
        self._lock = threading.Lock()

    def begin(self, uid: str, found: frozenset[str]) -> int:
        """A PUT is to mend these; how often the most stubborn was begun on by now."""
        with self._lock:
            self._pending[uid] = found
            repairs = self._repairs.setdefault(uid, Counter())
            repairs.update(found)
            return max(repairs[mark] for mark in found)

    def pending(self, uid: str) -> frozenset[str]:
        """What the last PUT was to mend."""
        with self._lock:
            return self._pending.get(uid, frozenset())

    def judged(self, uid: str, given_up: Iterable[str]) -> None:
        """The PUT's result was looked at; nothing more is tried for some."""
        with self._lock:
            self._pending.pop(uid, None)
            for mark in given_up:
                self._repairs.get(uid, Counter()).pop(mark, None)

    def forget(self, uid: str) -> None:
        """Nothing differs, another spec is wanted, or the object went."""
        with self._lock:
            self._pending.pop(uid, None)
            self._repairs.pop(uid, None)
