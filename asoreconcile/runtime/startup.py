"""Start-up steps: run in order, while the caller waits, before the process starts
anything.

While a cluster is being set up, its API server may start together with our pod. So
failing steps are retried for a while.
"""

from collections.abc import Callable
from contextvars import copy_context
from functools import partial
from threading import Event

from asoreconcile.base import reconcile_context
from asoreconcile.base.clock import Clock
from asoreconcile.base.errors import StoppedError, is_own_stop
from asoreconcile.base.log import Logger
from asoreconcile.base.retry import retry
from asoreconcile.base.stop_signal import StopSignal
from asoreconcile.kube.retrying import START_UP, is_passing
from asoreconcile.runtime.worker_pool import start_daemon

_log = Logger(__name__)


class StartUp:
    """Steps by name. Add them on one thread; `run` runs them once."""

    def __init__(self, clock: Clock, stopping: Event) -> None:
        """stopping: set when the process must stop; ends the pauses."""
        self._clock = clock
        self._stopping = stopping
        self._stop = StopSignal()
        self._steps: list[tuple[str, Callable[[], object]]] = []

    def add(self, name: str, step: Callable[[], object]) -> None:
        """Add a step.

        name: description of the step for the log: `discover kinds`.
        """
        self._steps.append((name, step))

    def run(self) -> None:
        """Run all steps, each until it succeeds.

        The retries add at most 15 seconds to the steps' own time. Raises the error of a
        step if it is not transient or persists.
        """
        context = reconcile_context.Context(self._clock, stop=self._stop)
        try:
            with reconcile_context.running(context):
                for name, step in self._steps:
                    if self._stopping.is_set():
                        return
                    retry(
                        partial(self._bounded, name, step),
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

    def _bounded(self, name: str, step: Callable[[], object]) -> None:
        """Run a step, and leave it behind if it blocks until the end of a stop's grace.

        The step runs on its own thread, in this thread's context, because only waits
        for the API server can be interrupted. Raises the exception of the step.
        """
        raised: list[BaseException] = []
        ended, left = Event(), Event()

        def run() -> None:
            try:
                step()
            except BaseException as error:  # noqa: BLE001 - raised below
                raised.append(error)
            finally:
                ended.set()
                left.set()

        def leave() -> None:
            end = self._stop.deadline
            self._clock.call_at(
                self._clock.monotonic() if end is None else end, left.set
            )

        start_daemon(name, partial(copy_context().run, run))
        with self._stop.calling(leave):
            left.wait()
        if not ended.is_set():
            _log.error("Step does not end", step=name)
            raise StoppedError(f"{name} did not end within the grace")
        if raised:
            raise raised[0]

    def stop(self, grace_seconds: float) -> None:
        """Cancel a step's API requests, reads at once and writes within seconds; a step
        that still runs after grace_seconds is left behind. Any thread; does not wait.
        """
        self._stop.stop(self._clock.monotonic() + grace_seconds)
