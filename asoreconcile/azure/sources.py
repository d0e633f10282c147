"""Whose credential was used last for an object, in memory only.

A change is worth an event: it is how a person sees that another identity is in use.
"""

import threading


class CredentialSources:
    """uid -> `namespace/name` of the Secret. Safe from any thread."""

    def __init__(self) -> None:
        self._sources: dict[str, str] = {}
        self._lock = threading.Lock()

    def note(self, uid: str, source: str) -> bool:
        """Remember the source in use; whether another one was used before."""
        with self._lock:
            before = self._sources.get(uid)
            self._sources[uid] = source
        return before is not None and before != source

    def forget(self, uid: str) -> None:
        with self._lock:
            self._sources.pop(uid, None)
