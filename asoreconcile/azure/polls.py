"""What is remembered between polls of an operation, in memory only.

How often it was polled, and how often that failed: it stretches the delays. Losing it
costs nothing.
"""

import threading

from asoreconcile.arm.outcomes import Progress


class Polls:
    """uid -> progress of the object's running operation. Safe from any thread."""

    def __init__(self) -> None:
        self._progress: dict[str, Progress] = {}
        self._lock = threading.Lock()

    def of(self, uid: str) -> Progress:
        with self._lock:
            return self._progress.get(uid) or Progress()

    def remember(self, uid: str, progress: Progress) -> None:
        with self._lock:
            self._progress[uid] = progress

    def forget(self, uid: str) -> None:
        with self._lock:
            self._progress.pop(uid, None)
