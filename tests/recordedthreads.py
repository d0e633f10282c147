"""The threads of one test, apart from other threads of the process.

`ScarceThreads` refuses the first ones, as a machine without free threads does.
"""

import threading
from collections.abc import Callable
from typing import Any

from asoreconcile.base.clock import Clock
from asoreconcile.base.threads import Threads


class RecordedThreads(Threads):
    """A `Threads` that records the started threads."""

    def __init__(self, clock: Clock | None = None) -> None:
        super().__init__(clock)
        self.started: list[threading.Thread] = []

    def start(
        self, name: str, target: Callable[[], None], **options: Any
    ) -> threading.Thread:
        thread = super().start(name, target, **options)
        self.started.append(thread)
        return thread

    def alive(self) -> list[threading.Thread]:
        """Return the threads that have not ended."""
        return [thread for thread in self.started if thread.is_alive()]

    def ended(self, seconds: float) -> bool:
        """Return whether all threads have ended, each within the time."""
        for thread in self.started:
            thread.join(seconds)
        return not self.alive()


class ScarceThreads(Threads):
    """A `Threads` that refuses the first ones, as CPython does on an
    exhausted machine.
    """

    refusals = 1

    def start(
        self, name: str, target: Callable[[], None], **options: Any
    ) -> threading.Thread:
        if self.refusals:
            self.refusals -= 1
            raise RuntimeError("can't start new thread")
        return super().start(name, target, **options)


def threads_that_wait(wait: Callable[[threading.Event, float], bool]) -> Threads:
    """Threads whose pauses are of the caller's making."""
    threads = Threads()
    vars(threads)["_wait"] = wait
    return threads
