"""The parts that everything in a process shares: clock, threads, metrics, shares."""

from collections.abc import Callable
from typing import Self

import attrs
from prometheus_client import CollectorRegistry, ProcessCollector

from asoreconcile.base.clock import Clock, SystemClock
from asoreconcile.base.threads import Threads
from asoreconcile.observability.metrics import RuntimeMetrics
from asoreconcile.queue.worker_shares import WorkerShares


@attrs.frozen
class ProcessParts:
    """The parts of which a process has one each.

    threads: starts the process's long-running threads, and restarts one that dies.
    metrics: `/metrics` serves their registry.
    shares: the worker time that namespaces use, over all controllers.
    close: stops the timers of a clock that was created here; does not wait.
    """

    clock: Clock
    threads: Threads
    metrics: RuntimeMetrics
    shares: WorkerShares
    close: Callable[[], None] = lambda: None

    @classmethod
    def of(cls, clock: Clock | None) -> Self:
        """Make the parts of a process.

        clock: None is the system clock.
        """
        threads = Threads(clock)
        # Not prometheus-client's global registry, in which two applications of one
        # process would collide.
        registry = CollectorRegistry()
        ProcessCollector(registry=registry)
        metrics = RuntimeMetrics(registry)
        metrics.threads(threads)
        if clock is not None:
            return cls(clock, threads, metrics, _shares(clock, metrics))
        # Its timer thread is restarted like all others.
        own = SystemClock(start_thread=threads.start)
        return cls(own, threads, metrics, _shares(own, metrics), own.close)


def _shares(clock: Clock, metrics: RuntimeMetrics) -> WorkerShares:
    shares = WorkerShares(clock)
    metrics.worker_shares(shares.above)
    return shares
