"""The parts that everything in a process shares: clock, threads and metrics."""

from collections.abc import Callable
from typing import Self

import attrs
from prometheus_client import CollectorRegistry, ProcessCollector

from asoreconcile.base.clock import Clock, SystemClock
from asoreconcile.base.threads import Threads
from asoreconcile.observability.metrics import RuntimeMetrics


@attrs.frozen
class ProcessParts:
    """The parts of which a process has one each.

    threads: starts the process's long-running threads, and restarts one that dies.
    metrics: `/metrics` serves their registry.
    close: stops the timers of a clock that was created here; does not wait.
    """

    clock: Clock
    threads: Threads
    metrics: RuntimeMetrics
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
            return cls(clock, threads, metrics)
        # Its timer thread is restarted like all others.
        own = SystemClock(start_thread=threads.start)
        return cls(own, threads, metrics, own.close)
