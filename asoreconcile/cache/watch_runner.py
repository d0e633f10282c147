"""Runs watches: one thread receives them all, and a few threads process them."""

from asoreconcile.base.clock import Clock
from asoreconcile.base.threads import Threads
from asoreconcile.cache.reflector import Reflector
from asoreconcile.cache.watch_workers import WatchTask, WatchWorkers
from asoreconcile.kube.client import KubeClient


class SharedThreads:
    """The threads of an informer's watches, or of those of all informers."""

    def __init__(self, client: KubeClient, *, clock: Clock, threads: Threads) -> None:
        self.source = client.in_steps(threads)
        self.workers = WatchWorkers(clock=clock, threads=threads)

    def start(self, name: str, reflector: Reflector) -> WatchTask:
        """Run a reflector until it is stopped. Raises as `WatchWorkers.start`."""
        return self.workers.start(name, reflector.steps, stopping=reflector.stopping)

    def stop(self) -> None:
        """End the threads; all watches must have been stopped."""
        self.source.close()
        self.workers.stop()
