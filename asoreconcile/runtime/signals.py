"""SIGINT and SIGTERM: the first asks to stop, the second ends the process (MG-6)."""

import os
import signal
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import FrameType
from typing import Any

from asoreconcile.threads import begin

_NUMBERS = (signal.SIGINT, signal.SIGTERM)
# What handled them before, of all who are within `stop_signals`, the first one first.
_BEFORE: list[dict[int, Any]] = []


@contextmanager
def stop_signals(stop: Callable[[], None]) -> Iterator[None]:
    """Within it, call `stop`, on a thread of its own, when the process is asked to end.

    stop: must not wait. A second signal exits with status 1 at once. What handled
    signals before does so again after it, and in a process that is forked meanwhile.
    Main thread only: raises ValueError on another. Raises OSError without a descriptor,
    NoThreadError without a thread.
    """
    if threading.current_thread() is not threading.main_thread():
        raise ValueError(
            "signals are handled on the main thread alone: run there, or without "
            "signals (`run(signals=False)`) and have `stop` called"
        )
    # The interpreter's own handler writes to it at once. One of Python's runs when the
    # main thread does: not while that waits for a lock, if the signal came just before
    # it began to, or on another thread.
    reader, writer = socket.socketpair()
    writer.setblocking(False)

    def wait() -> None:
        count = 0
        with reader:
            while number := reader.recv(1):
                if number[0] not in _NUMBERS:  # of other handlers in this process
                    continue
                count += 1
                if count > 1:
                    # Not `sys.exit`: that waits for threads, which is what did not end.
                    os._exit(1)
                stop()

    thread = threading.Thread(target=wait, name="signals", daemon=True)
    try:
        begin(thread)
    except BaseException:
        reader.close()
        writer.close()
        raise
    before: dict[int, Any] = {}
    descriptor = -1
    _BEFORE.append(before)
    try:
        descriptor = signal.set_wakeup_fd(writer.fileno(), warn_on_full_buffer=False)
        for number in _NUMBERS:
            before[number] = signal.signal(number, _heard)
        yield
    finally:
        _BEFORE.remove(before)
        _put_back(before, descriptor)
        writer.close()
        thread.join()


def _heard(_number: int, _frame: FrameType | None) -> None:
    """Without a handler of Python's the interpreter has none."""


def _put_back(before: Mapping[int, Any], descriptor: int) -> None:
    for number, handler in before.items():
        # None: by code that is not Python's, which cannot be put back from here.
        signal.signal(number, signal.SIG_DFL if handler is None else handler)
    if before:
        signal.set_wakeup_fd(descriptor)


def _after_fork() -> None:
    """A signal to the forked process is none to the one that it was forked from."""
    if _BEFORE:
        _put_back(_BEFORE[0], -1)
        _BEFORE.clear()


os.register_at_fork(after_in_child=_after_fork)
