"""Where a watch runs: on a thread of its own, or with all others on a few."""

import threading
from typing import Protocol

import attrs

from asoreconcile.cache.reflector import Reflector
from asoreconcile.cache.source import (
    BlockingSource,
    ListerWatcher,
    SteppedSource,
    StreamingClient,
)
from asoreconcile.cache.watch_workers import WatchWorkers
from asoreconcile.clock import Clock
from asoreconcile.threads import Threads


class RunningWatch(Protocol):
    """A watch that was begun."""

    def join(self, timeout_seconds: float) -> bool:
        """Whether it has ended, within the time."""


class WatchRunner(Protocol):
    """Runs reflectors, and has what they read from."""

    @property
    def source(self) -> SteppedSource:
        """What reflectors that run here read from."""

    def start(self, name: str, reflector: Reflector) -> RunningWatch:
        """Run a reflector until it is stopped. Raises RuntimeError if the machine gives
        no thread.
        """


class OwnThreads:
    """Each watch on a thread of its own, which waits for it."""

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
    """All watches on one thread that receives, and a few that read (`WatchWorkers`)."""

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
        """End the threads; all watches have to have ended."""
        self._streams.close()
        self.workers.stop()
