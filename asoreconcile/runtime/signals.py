"""SIGINT and SIGTERM: the first asks to stop, the second ends the process (MG-6)."""

import os
import signal
import threading
from collections.abc import Callable
from queue import SimpleQueue
from types import FrameType

_installed = threading.Event()


def on_stop_signal(stop: Callable[[], None]) -> None:
    """Call `stop`, on a thread of its own, when the process is asked to end.

    A second signal exits with status 1 at once. Main thread only. Raises RuntimeError
    if it was called before in this process.
    """
    if _installed.is_set():
        raise RuntimeError("stop signals are handled already")
    _installed.set()
    # A handler may interrupt its own thread inside a lock; SimpleQueue.put is the one
    # way out of it that is safe then.
    received: SimpleQueue[int] = SimpleQueue()
    count = 0

    def handle(number: int, _frame: FrameType | None) -> None:
        nonlocal count
        count += 1
        if count > 1:
            os._exit(1)
        received.put(number)

    def wait() -> None:
        received.get()
        stop()

    threading.Thread(target=wait, name="signals", daemon=True).start()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, handle)
