"""Bounded caches that drop what was used least recently. Safe from any thread."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from functools import lru_cache, wraps
from typing import Any, Generic, TypeVar

LONGEST = 512
"""Characters."""
_SIZE = 1024
_Result = TypeVar("_Result")
K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class LruCache(Generic[K, V]):
    """A mapping of at most `size` entries.

    Iterating and `in` do not count as a use of an entry.
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self._lock = threading.Lock()
        self._values: OrderedDict[K, V] = OrderedDict()

    def get(self, key: K) -> V | None:
        """Return the value and count it as used now; None if it is not cached."""
        with self._lock:
            if key in self._values:
                self._values.move_to_end(key)
            return self._values.get(key)

    def put(self, key: K, value: V) -> V:
        """Cache a value and return it."""
        with self._lock:
            self._values[key] = value
            self._values.move_to_end(key)
            if len(self._values) > self._size:
                self._values.popitem(last=False)
        return value

    def pop(self, key: K) -> V | None:
        """Remove a value and return it; None if it is not cached."""
        with self._lock:
            return self._values.pop(key, None)

    def items(self) -> list[tuple[K, V]]:
        """Return all entries, the least recently used one first."""
        with self._lock:
            return list(self._values.items())

    def __iter__(self) -> Iterator[K]:
        return iter([key for key, _ in self.items()])

    def __contains__(self, key: object) -> bool:
        return key in self._values

    def __len__(self) -> int:
        return len(self._values)


def lru_cached(function: Callable[[str], _Result]) -> Callable[[str], _Result]:
    """Cache the last 1,024 results of a pure function of one string.

    Long strings are not cached, so that they cannot fill the memory; neither are
    errors.
    """
    cached = lru_cache(maxsize=_SIZE)(function)

    @wraps(function)
    def call(text: Any) -> _Result:
        # A value that is not a string, as responses may hold, is for `function` to
        # refuse.
        if isinstance(text, str) and len(text) <= LONGEST:
            return cached(text)
        return function(text)

    return call
