"""End this process together with its parent, even if the parent was killed."""

import os
import sys
import threading
from collections.abc import Callable

from asoreconcile.base.threads import start_thread


def on_stdin_end(stop: Callable[[], None]) -> None:
    """Call `stop` on a thread of its own once stdin has ended. Does not block.

    A parent keeps the other end of the pipe: when the parent dies, the pipe closes.
    Raises NoThreadError if the machine cannot start a thread.
    """

    def watch() -> None:
        # Not the buffered stream: its lock would hold up the interpreter's end.
        while os.read(sys.stdin.fileno(), 4096):
            pass
        stop()

    start_thread(threading.Thread(target=watch, name="lifeline", daemon=True))
