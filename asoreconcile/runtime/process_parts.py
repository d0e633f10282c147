"""What everything in one process is made with: its clock, its threads, its metrics."""

from collections.abc import Callable
from typing import Self

import attrs
from prometheus_client import CollectorRegistry, ProcessCollector

from asoreconcile.clock import Clock, SystemClock
from asoreconcile.metrics import RuntimeMetrics
from asoreconcile.threads import Threads


@attrs.frozen
class ProcessParts:
    """One of each for a process.

    threads: where all that runs for as long as the process does is started, and started
    again if it dies. metrics: their registry is what `/metrics` shows.
    close: ends the timers of a clock that was made here, and does not wait.
    """

    clock: Clock
    threads: Threads
    metrics: RuntimeMetrics
    close: Callable[[], None] = lambda: None

    @classmethod
    def of(cls, clock: Clock | None) -> Self:
        """clock: None is the system's."""
        threads = Threads.timed_by(clock) if clock else Threads()
        # Not the library's global registry, in which two applications of one process
        # would collide.
        registry = CollectorRegistry()
        ProcessCollector(registry=registry)
        metrics = RuntimeMetrics(registry)
        metrics.threads(threads)
        if clock is not None:
            return cls(clock, threads, metrics)
        # Its timers run on a thread that is started again like all others.
        own = SystemClock(start_thread=threads.start)
        return cls(own, threads, metrics, own.close)
