"""Start-up steps: run in order, on the caller's thread, before the process starts
anything.

While a cluster is being set up, its API server may start together with our pod. So
failing steps are retried for a while.
"""

from collections.abc import Callable
from threading import Event

from asoreconcile.base import reconcile_context
from asoreconcile.base.clock import Clock
from asoreconcile.base.errors import StoppedError, is_own_stop
from asoreconcile.base.retry import retry
from asoreconcile.base.stop_signal import StopSignal
from asoreconcile.kube.retrying import START_UP, is_passing


class StartUp:
    """Steps by name. Add them on one thread; `run` runs them once."""

    def __init__(self, clock: Clock, stopping: Event) -> None:
        """stopping: set when the process must stop; ends the pauses."""
        self._clock = clock
        self._stopping = stopping
        self._stop = StopSignal()
        self._steps: list[tuple[str, Callable[[], object]]] = []

    def add(self, name: str, step: Callable[[], object]) -> None:
        """name: description of the step for the log: `discover kinds`."""
        self._steps.append((name, step))

    def run(self) -> None:
        """Run all steps, each until it succeeds. The retries add at most 15 seconds to
        the steps' own time. Raises a step's error if it is not transient or does not go
        away.
        """
        context = reconcile_context.Context(self._clock, stop=self._stop)
        try:
            with reconcile_context.running(context):
                for name, step in self._steps:
                    if self._stopping.is_set():
                        return
                    retry(
                        step,
                        backoff=START_UP,
                        when=is_passing,
                        clock=self._clock,
                        stop=self._stopping,
                        what=name,
                    )
        except StoppedError as error:
            # A stop is not a failure: the manager, which runs next, ends at once and
            # returns 0.
            if not is_own_stop(error, self._stopping, self._stop):
                raise

    def stop(self, grace_seconds: float) -> None:
        """Cancel a step's API requests: reads at once, writes within seconds. Any
        thread; does not wait.
        """
        self._stop.stop(self._clock.monotonic() + grace_seconds)
