"""SIGINT and SIGTERM: the first requests a stop, the second exits the process
(MG-6).
"""

import os
import signal
import socket
import threading
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from types import FrameType
from typing import Any

from asoreconcile.base.threads import start_thread

_NUMBERS = (signal.SIGINT, signal.SIGTERM)
# The previous handlers of each active `stop_signals`, the outermost first.
_BEFORE: list[dict[int, Any]] = []


@contextmanager
def stop_signals(
    stop: Callable[[str], None], numbers: Collection[int] = _NUMBERS
) -> Iterator[None]:
    """Return a context in which the first signal calls `stop`, on a separate thread.

    stop: function that gets the signal's name; must not wait. numbers: the signals; if
    not given, SIGINT and SIGTERM. A second signal exits
    with status 1 at once. The previous handlers are restored after the block, and in a
    child process forked within it. Main thread only: raises ValueError on another.
    Raises OSError if no file descriptor is available, NoThreadError if no thread is.
    """
    if threading.current_thread() is not threading.main_thread():
        raise ValueError(
            "signals are handled on the main thread alone: run there, or without "
            "signals (`run(signals=False)`) and have `stop` called"
        )
    # The interpreter's C handler writes to it at once. A Python handler runs only when
    # the main thread runs bytecode: not while that waits for a lock, if the signal
    # arrived just before, or on another thread.
    reader, writer = socket.socketpair()
    writer.setblocking(False)

    def wait() -> None:
        count = 0
        with reader:
            while number := reader.recv(1):
                if number[0] not in numbers:  # of other handlers in this process
                    continue
                count += 1
                if count > 1:
                    # Not `sys.exit`: that waits for the threads that did not end.
                    os._exit(1)
                stop(signal.Signals(number[0]).name)

    thread = threading.Thread(target=wait, name="signals", daemon=True)
    try:
        start_thread(thread)
    except BaseException:
        reader.close()
        writer.close()
        raise
    before: dict[int, Any] = {}
    descriptor = -1
    _BEFORE.append(before)
    try:
        descriptor = signal.set_wakeup_fd(writer.fileno(), warn_on_full_buffer=False)
        for number in numbers:
            before[number] = signal.signal(number, _heard)
        yield
    finally:
        _BEFORE.remove(before)
        _put_back(before, descriptor)
        writer.close()
        thread.join()


def _heard(_number: int, _frame: FrameType | None) -> None:
    """Do nothing. This handler exists because Python installs its C handler only for a
    Python handler.
    """


def _put_back(before: Mapping[int, Any], descriptor: int) -> None:
    for number, handler in before.items():
        # None: installed by C code, which cannot be restored from here.
        signal.signal(number, signal.SIG_DFL if handler is None else handler)
    if before:
        signal.set_wakeup_fd(descriptor)


def _after_fork() -> None:
    """Forget the handlers in a forked child: its signals must not stop the parent."""
    if _BEFORE:
        _put_back(_BEFORE[0], -1)
        _BEFORE.clear()


os.register_at_fork(after_in_child=_after_fork)
