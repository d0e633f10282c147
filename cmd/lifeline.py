"""Ending with the process that started us, even if that one was killed."""

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def end_with_stdin(*, enabled: bool) -> Iterator[None]:
    """Within the block, end of input on stdin acts as SIGTERM to this process.

    A parent keeps the other end of the pipe: when it dies, however it dies, the pipe
    closes.
    """
    if enabled:
        threading.Thread(target=_watch, name="lifeline", daemon=True).start()
    yield


def _watch() -> None:
    while sys.stdin.buffer.read1(4096):
        pass
    os.kill(os.getpid(), signal.SIGTERM)
