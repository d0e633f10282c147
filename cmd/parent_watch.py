"""Detects that this process should end: its parent has ended, or a signal has
arrived.
"""

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from asoreconcile.base.threads import start_thread
from asoreconcile.runtime.signals import stop_signals


@contextmanager
def stop_event() -> Iterator[threading.Event]:
    """Return a context whose event Ctrl-C, SIGTERM and the end of the terminal set.

    A second signal exits with status 1 at once. A signal that is ignored, as under
    nohup, stays ignored. Main thread only. Raises as `stop_signals`.
    """
    stop = threading.Event()
    numbers = [
        number
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
        if signal.getsignal(number) != signal.SIG_IGN
    ]
    with stop_signals(lambda _: stop.set(), numbers):
        yield stop


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
