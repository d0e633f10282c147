"""SIGINT and SIGTERM: the first asks to stop, the second ends the process (MG-6)."""

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from queue import SimpleQueue
from types import FrameType


@contextmanager
def stop_signals(stop: Callable[[], None]) -> Iterator[None]:
    """Within it, call `stop`, on a thread of its own, when the process is asked to end.

    A second signal exits with status 1 at once. What handled signals before does so
    again after it. Main thread only: raises ValueError on another.
    """
    # A handler may interrupt its own thread inside a lock; SimpleQueue.put is the one
    # way out of it that is safe then.
    received: SimpleQueue[int | None] = SimpleQueue()
    count = 0

    def handle(number: int, _frame: FrameType | None) -> None:
        nonlocal count
        count += 1
        if count > 1:
            # Not `sys.exit`: that waits for threads, which is what did not end.
            os._exit(1)
        received.put(number)

    def wait() -> None:
        if received.get() is not None:
            stop()

    threading.Thread(target=wait, name="signals", daemon=True).start()
    before = {}
    try:
        for number in (signal.SIGINT, signal.SIGTERM):
            before[number] = signal.signal(number, handle)
        yield
    finally:
        for number, handler in before.items():
            # None: by code that is not Python's, which cannot be put back from here.
            signal.signal(number, signal.SIG_DFL if handler is None else handler)
        received.put(None)
