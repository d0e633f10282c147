"""Staying up until a signal comes, or a parent process ends."""

import signal
import threading
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from asoreconcile.cmd.parent_watch import on_stdin_end


def serve(server: AbstractContextManager[Any], *, until_stdin_closes: bool) -> None:
    """Block until SIGINT or SIGTERM, then close the server. Main thread only."""
    stopped = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stopped.set())
    if until_stdin_closes:
        on_stdin_end(stopped.set)
    with server:
        stopped.wait()


def write_private(path: str, text: str) -> None:
    """Write a file that holds secrets: its owner alone may read it."""
    target = Path(path)
    target.unlink(missing_ok=True)
    target.touch(mode=0o600)
    target.write_text(text)
