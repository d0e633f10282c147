"""Ending with the process that started us, even if that one was killed."""

import os
import sys
import threading
from collections.abc import Callable

from asoreconcile.base.threads import start_thread


def on_stdin_end(stop: Callable[[], None]) -> None:
    """Call `stop`, on a thread of its own, once stdin has ended. Does not block.

    A parent keeps the other end of the pipe: when it dies, however it dies, the pipe
    closes. Raises NoThreadError where the machine starts none.
    """

    def watch() -> None:
        # Not the buffered stream: its lock would hold up the interpreter's end.
        while os.read(sys.stdin.fileno(), 4096):
            pass
        stop()

    start_thread(threading.Thread(target=watch, name="lifeline", daemon=True))
