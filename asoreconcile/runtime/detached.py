"""A manager run on a thread of its own for as long as a block lasts, as tests do."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from asoreconcile.runtime.manager import Manager
from asoreconcile.runtime.worker_pool import start_daemon


@contextmanager
def detached(name: str, run: Callable[[], int], manager: Manager) -> Iterator[None]:
    """Run, and stop at the end of the block. run: blocks; its answer is the exit code.

    Blocks at the end until all has stopped. Raises RuntimeError if the exit code is not
    0.
    """
    codes: list[int] = []
    ended = threading.Event()

    def run_whole() -> None:
        try:
            codes.append(run())
        finally:
            ended.set()

    start_daemon(name, run_whole)
    try:
        yield
    finally:
        manager.stop()
        ended.wait()
    if codes != [0]:
        raise RuntimeError(f"{name} ended badly: {manager.failure!r}")
