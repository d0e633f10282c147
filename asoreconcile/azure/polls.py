"""What is remembered between polls of an operation, in memory only.

How often it was polled, how often that failed, and when it may be polled next: an event
must not make that earlier (D4). Losing it costs nothing.
"""

import threading

from asoreconcile.arm.outcomes import Progress


class Polls:
    """uid -> progress of the object's running operation. Safe from any thread."""

    def __init__(self) -> None:
        self._progress: dict[str, Progress] = {}
        self._due: dict[str, float] = {}
        self._lock = threading.Lock()

    def of(self, uid: str) -> Progress:
        with self._lock:
            return self._progress.get(uid) or Progress()

    def due(self, uid: str) -> float:
        """Before this moment (`Clock.monotonic` seconds) Azure is not to be asked."""
        with self._lock:
            return self._due.get(uid, 0.0)

    def remember(self, uid: str, progress: Progress, *, due: float) -> None:
        with self._lock:
            self._progress[uid] = progress
            self._due[uid] = due

    def forget(self, uid: str) -> None:
        with self._lock:
            self._progress.pop(uid, None)
            self._due.pop(uid, None)
