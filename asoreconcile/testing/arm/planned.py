"""Things planned for requests to come, each used up after a number of them."""

import re
import threading
from typing import Generic, TypeVar

Thing = TypeVar("Thing")


class Planned(Generic[Thing]):
    """What is to happen to ids or requests that match a pattern. Safe anywhere."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._things: list[tuple[re.Pattern[str], Thing]] = []

    def plan(self, pattern: str, thing: Thing, *, times: int = 1) -> None:
        """pattern: searched for without regard to case."""
        with self._lock:
            self._things += [(re.compile(pattern, re.IGNORECASE), thing)] * times

    def take(self, text: str) -> Thing | None:
        """The first thing planned for this one, which is then used up."""
        with self._lock:
            for index, (pattern, thing) in enumerate(self._things):
                if pattern.search(text):
                    del self._things[index]
                    return thing
        return None

    def clear(self) -> None:
        """Plan nothing any more."""
        with self._lock:
            self._things.clear()
