"""Events that cost next to nothing until somebody waits for them.

A `threading.Event` is a condition, two locks and a queue of those that wait: 1 KB. A
controller and its watch have five, which nobody waits for before they end.
"""

import os
import threading

_MAKING = threading.Lock()


def _after_fork() -> None:
    """Held by another thread at the fork, it would never be given back here."""
    global _MAKING  # noqa: PLW0603 - the one lock of the process
    _MAKING = threading.Lock()


os.register_at_fork(after_in_child=_after_fork)


class LazyEvent(threading.Event):
    """As `threading.Event`; made of one flag until the first `wait` that has to."""

    def __init__(self) -> None:
        # Not the base's: it makes what is to be saved. All that it offers is here.
        self._is_set = False
        self._waiting: threading.Condition | None = None

    def __repr__(self) -> str:
        return f"<LazyEvent: {'set' if self._is_set else 'unset'}>"

    def is_set(self) -> bool:
        """Whether it is set now."""
        return self._is_set

    def set(self) -> None:
        """Set it, and wake all that wait. Any thread."""
        # First: who begins to wait after the look below finds it set.
        self._is_set = True
        waiting = self._waiting
        if waiting is not None:
            with waiting:
                waiting.notify_all()

    def clear(self) -> None:
        """Set it back."""
        self._is_set = False

    def wait(self, timeout: float | None = None) -> bool:
        """Block until it is set (True) or the time, in seconds, is over (False)."""
        if self._is_set:
            return True
        with _MAKING:
            if self._waiting is None:
                self._waiting = threading.Condition(threading.Lock())
            waiting = self._waiting
        with waiting:
            return self.is_set() or waiting.wait(timeout)
