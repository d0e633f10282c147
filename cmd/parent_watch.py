"""Detects that this process should end: its parent has ended, or a signal has
arrived.
"""

import os
import signal
import sys
import threading
from collections.abc import Callable

from asoreconcile.base.threads import start_thread


def stop_event() -> threading.Event:
    """Return an event that Ctrl-C, SIGTERM and the end of the terminal set from now on.

    A signal that is ignored, as under nohup, stays ignored.
    """
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, lambda *_: stop.set())
    return stop


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
