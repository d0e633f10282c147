"""Runs watches: each on its own thread, or all on a few shared threads."""

import threading
from typing import Protocol

import attrs

from asoreconcile.base.clock import Clock
from asoreconcile.base.threads import Threads
from asoreconcile.cache.reflector import Reflector
from asoreconcile.cache.source import (
    BlockingSource,
    ListerWatcher,
    SteppedSource,
    StreamingClient,
)
from asoreconcile.cache.watch_workers import WatchWorkers


class RunningWatch(Protocol):
    """A started watch."""

    def join(self, timeout_seconds: float) -> bool:
        """Wait up to the timeout; returns whether it has ended."""


class WatchRunner(Protocol):
    """Runs reflectors and provides their source."""

    @property
    def source(self) -> SteppedSource:
        """The source for reflectors that run here."""

    def start(self, name: str, reflector: Reflector) -> RunningWatch:
        """Run a reflector until it is stopped. Raises RuntimeError if no thread can be
        started.
        """


class OwnThreads:
    """Each watch blocks its own thread."""

    def __init__(self, client: ListerWatcher, threads: Threads) -> None:
        self.source: SteppedSource = BlockingSource(client)
        self._threads = threads

    def start(self, name: str, reflector: Reflector) -> RunningWatch:
        """See `WatchRunner`."""
        return _OnThread(
            self._threads.start(name, reflector.run, stopping=reflector.stopping)
        )


@attrs.frozen
class _OnThread:
    thread: threading.Thread

    def join(self, timeout_seconds: float) -> bool:
        self.thread.join(timeout_seconds)
        return not self.thread.is_alive()


class SharedThreads:
    """One thread receives all watches, and a few threads process them
    (`WatchWorkers`).
    """

    def __init__(
        self, client: StreamingClient, *, clock: Clock, threads: Threads
    ) -> None:
        self._streams = client.in_steps(threads)
        self.source: SteppedSource = self._streams
        self.workers = WatchWorkers(clock=clock, threads=threads)

    def start(self, name: str, reflector: Reflector) -> RunningWatch:
        """See `WatchRunner`. Raises as `WatchWorkers.start`."""
        return self.workers.start(name, reflector.steps, stopping=reflector.stopping)

    def stop(self) -> None:
        """End the threads; all watches must have ended."""
        self._streams.close()
        self.workers.stop()
