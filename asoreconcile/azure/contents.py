"""Which content of its credential's Secret each object uses, in memory only.

Another content is worth a pass, but only to those that have not used it yet.
"""

import threading

from asoreconcile.objects import ObjectKey


class UsedContents:
    """key -> a hash of the content. Safe from any thread."""

    def __init__(self) -> None:
        self._contents: dict[ObjectKey, str] = {}
        self._lock = threading.Lock()

    def use(self, key: ObjectKey, content: str) -> None:
        """The pass under way uses a content; "" for no Secret's."""
        with self._lock:
            if content:
                self._contents[key] = content
            else:
                self._contents.pop(key, None)

    def forget(self, key: ObjectKey) -> None:
        """The object went, or its pass looks for a credential anew."""
        self.use(key, "")

    def has_used(self, key: ObjectKey, content: str) -> bool:
        """Whether the last pass over an object used a content, or this one does."""
        with self._lock:
            return bool(content) and self._contents.get(key) == content
