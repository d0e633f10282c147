"""Events that cost almost nothing until a thread waits for them.

A `threading.Event` has a condition, two locks and a queue of waiters: 1 KB. A
controller and its watch have five, and no thread waits for them before they end.
"""

import os
import threading

_MAKING = threading.Lock()


def _after_fork() -> None:
    """Replace the lock in a forked child: if another thread held it at the fork, it
    would never be released.
    """
    global _MAKING  # noqa: PLW0603 - the one lock of the process
    _MAKING = threading.Lock()


os.register_at_fork(after_in_child=_after_fork)


class LazyEvent(threading.Event):
    """Like `threading.Event`, but only a flag until the first `wait` that has to
    block.
    """

    def __init__(self) -> None:
        # Do not call the base's: it creates what this class saves. All its methods are
        # overridden.
        self._is_set = False
        self._waiting: threading.Condition | None = None

    def __repr__(self) -> str:
        return f"<LazyEvent: {'set' if self._is_set else 'unset'}>"

    def is_set(self) -> bool:
        """Whether it is set now."""
        return self._is_set

    def set(self) -> None:
        """Set it, and wake all waiters. Any thread."""
        # First: a thread that starts to wait after the check below finds it set.
        self._is_set = True
        waiting = self._waiting
        if waiting is not None:
            with waiting:
                waiting.notify_all()

    def clear(self) -> None:
        """Reset it."""
        self._is_set = False

    def wait(self, timeout: float | None = None) -> bool:
        """Block until it is set (True) or the timeout in seconds has passed (False)."""
        if self._is_set:
            return True
        with _MAKING:
            if self._waiting is None:
                self._waiting = threading.Condition(threading.Lock())
            waiting = self._waiting
        with waiting:
            return self.is_set() or waiting.wait(timeout)
