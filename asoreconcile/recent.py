"""Readings of texts that are asked for again and again, kept while they are recent.

Of short texts alone: whoever sends long ones must not fill the memory with them.
"""

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import Any, TypeVar

LONGEST = 512
"""Characters."""
_KEPT = 1024
_Reading = TypeVar("_Reading")


def recent(read: Callable[[str], _Reading]) -> Callable[[str], _Reading]:
    """A decorator for a pure function of one text: its last 1,024 results are kept, and
    shared by all who ask. Safe from any thread; what it raises is not kept.
    """
    kept = lru_cache(maxsize=_KEPT)(read)

    @wraps(read)
    def look(text: Any) -> _Reading:
        # What is no text, as answers may hold, is for `read` to refuse.
        if isinstance(text, str) and len(text) <= LONGEST:
            return kept(text)
        return read(text)

    return look
