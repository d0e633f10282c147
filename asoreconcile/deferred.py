"""Values that are made when they are first asked for, and once."""

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class Deferred(Generic[T]):
    """Made by the first who asks; who comes meanwhile waits. Safe from any thread.

    For what takes long to load and may never be needed. A failure is raised to who
    asked, and the next one tries again.
    """

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._lock = threading.Lock()
        self._made: list[T] = []

    def __call__(self) -> T:
        """The value. Blocking while it is made; raises what making it raises."""
        if not self._made:
            with self._lock:
                if not self._made:
                    self._made.append(self._make())
        return self._made[0]
