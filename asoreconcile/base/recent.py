"""A cache for functions of short strings that are called with the same text often.

Only short strings are cached: long ones must not fill the memory.
"""

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import Any, TypeVar

LONGEST = 512
"""Characters."""
_KEPT = 1024
_Reading = TypeVar("_Reading")


def recent(read: Callable[[str], _Reading]) -> Callable[[str], _Reading]:
    """A decorator for a pure function of one string: its last 1,024 results are cached
    and shared by all callers. Safe from any thread; errors are not cached.
    """
    kept = lru_cache(maxsize=_KEPT)(read)

    @wraps(read)
    def look(text: Any) -> _Reading:
        # `read` refuses values that are not strings, as responses may hold.
        if isinstance(text, str) and len(text) <= LONGEST:
            return kept(text)
        return read(text)

    return look
