"""Values that are computed once, on first use."""

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class Lazy(Generic[T]):
    """A value that the first caller computes while concurrent callers wait. Safe from
    any thread.

    It is used for values that are slow to load and may never be needed. An error is
    raised to the caller, and the next call tries again.
    """

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._lock = threading.Lock()
        self._made: list[T] = []

    def __call__(self) -> T:
        """Return the value. Blocks while it is computed; raises the exception of the
        computation.
        """
        if not self._made:
            with self._lock:
                if not self._made:
                    self._made.append(self._make())
        return self._made[0]
