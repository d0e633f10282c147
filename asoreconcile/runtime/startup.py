"""What a process does before anything of it runs: in order, on the caller's thread.

A cluster that is being set up starts its API server and our pod together, so what the
steps ask of it is asked again for a while.
"""

from collections.abc import Callable
from contextlib import suppress
from threading import Event

from asoreconcile import reconcile_context
from asoreconcile.clock import Clock
from asoreconcile.errors import StoppedError
from asoreconcile.kube.retrying import START_UP, is_passing
from asoreconcile.retry import retry
from asoreconcile.stop_signal import StopSignal


class StartUp:
    """Steps by name. Added on one thread, before they are run once."""

    def __init__(self, clock: Clock, stopping: Event) -> None:
        """stopping: set once the process is to stop; ends the pauses."""
        self._clock = clock
        self._stopping = stopping
        self._stop = StopSignal()
        self._steps: list[tuple[str, Callable[[], None]]] = []

    def add(self, name: str, step: Callable[[], None]) -> None:
        """name: what it does, for the log: `discover kinds`."""
        self._steps.append((name, step))

    def run(self) -> None:
        """Run all, each until it succeeds. Blocks for a quarter of a minute at most
        beside what the steps themselves take. Raises what a step raises that is not
        over in a moment.
        """
        # A stop is no failure: the manager, which is asked to run next, ends at once
        # and answers 0.
        context = reconcile_context.Context(self._clock, stop=self._stop)
        with suppress(StoppedError), reconcile_context.running(context):
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

    def stop(self, grace_seconds: float) -> None:
        """Have what a step asks of the API server end at once, a write within seconds.
        Any thread; does not wait.
        """
        self._stop.stop(self._clock.monotonic() + grace_seconds)
