"""Runs watches: each on its own thread, or all on a few shared threads."""

import threading
from collections.abc import Callable
from functools import partial

from asoreconcile.base.clock import Clock
from asoreconcile.base.threads import Threads
from asoreconcile.cache.reflector import Reflector
from asoreconcile.cache.watch_workers import WatchWorkers
from asoreconcile.kube.client import KubeClient

Join = Callable[[float], bool]
"""Waits up to some seconds for a watch to end; returns whether it has ended."""


class OwnThreads:
    """Each watch has its own thread; one more thread receives them all."""

    def __init__(self, client: KubeClient, threads: Threads) -> None:
        self.source = client.in_steps(threads)
        self._threads = threads

    def start(self, name: str, reflector: Reflector) -> Join:
        """Run a reflector until it is stopped. Raises RuntimeError if no thread can be
        started.
        """
        thread = self._threads.start(name, reflector.run, stopping=reflector.stopping)
        return partial(_joined, thread)

    def stop(self) -> None:
        """End the thread that receives; all watches must have been stopped."""
        self.source.close()


class SharedThreads(OwnThreads):
    """One thread receives all watches, and a few threads process them
    (`WatchWorkers`).
    """

    def __init__(self, client: KubeClient, *, clock: Clock, threads: Threads) -> None:
        super().__init__(client, threads)
        self.workers = WatchWorkers(clock=clock, threads=threads)

    def start(self, name: str, reflector: Reflector) -> Join:
        """Run a reflector until it is stopped. Raises as `WatchWorkers.start`."""
        task = self.workers.start(name, reflector.steps, stopping=reflector.stopping)
        return task.join

    def stop(self) -> None:
        """End the threads; all watches must have ended."""
        super().stop()
        self.workers.stop()


def _joined(thread: threading.Thread, timeout_seconds: float) -> bool:
    thread.join(timeout_seconds)
    return not thread.is_alive()
