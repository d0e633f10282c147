"""Whose credential was used last for an object, in memory only.

Another Secret is worth an event: it is how a person sees that another identity is in
use. Another content is worth a pass, but only to those that have not used it yet.
"""

import threading


class CredentialSources:
    """uid -> the Secret and the content of it. Safe from any thread."""

    def __init__(self) -> None:
        self._sources: dict[str, str] = {}
        self._contents: dict[str, str] = {}
        self._lock = threading.Lock()

    def note(self, uid: str, source: str) -> bool:
        """Remember the source in use, `namespace/name` of the Secret; whether another
        one was used before.
        """
        with self._lock:
            before = self._sources.get(uid)
            self._sources[uid] = source
        return before is not None and before != source

    def use(self, uid: str, content: str) -> None:
        """The pass under way uses a Secret of this content: a hash, or "" for none, or
        while it is not known yet.
        """
        with self._lock:
            if content:
                self._contents[uid] = content
            else:
                self._contents.pop(uid, None)

    def uses(self, uid: str, content: str) -> bool:
        """Whether the last pass over an object used, or this one uses, a content."""
        with self._lock:
            return bool(content) and self._contents.get(uid) == content

    def forget(self, uid: str) -> None:
        with self._lock:
            self._sources.pop(uid, None)
            self._contents.pop(uid, None)
