"""Notice a reconcile that kept every other thread of the process from running.

A single call of C code, such as a regular expression that backtracks, holds the
interpreter's lock until it ends: no watch is read, no lease is renewed and no probe is
answered meanwhile, and no thread can end it. Afterwards the watchdog finds out which
worker it was, by the CPU clock of each worker's thread, and its controller reconciles
that object last from then on.

A process that was stopped, or got no CPU time, is not held: then no worker has used
most of the time.
"""

import threading
import time
from collections.abc import Callable, Iterable
from typing import Protocol

import attrs

from asoreconcile.base.log import Logger
from asoreconcile.base.objects import ObjectKey
from asoreconcile.base.threads import Threads
from asoreconcile.runtime.worker import InFlightReconcile, InFlightReconciles, stack_of

HELD_SECONDS = 2.0
"""A longer time without any other thread is noticed."""
_EVERY_SECONDS = 0.25
# CPU time that the worker has used meanwhile, and its part of all CPU time of the
# process. It may be less than the time that passed, as other processes run, too.
_LEAST_CPU_SECONDS = HELD_SECONDS / 2
_LEAST_PART = 0.8

_log = Logger(__name__)


class Watched(Protocol):
    """A controller, as the watchdog sees it."""

    name: str

    @property
    def in_flight_reconciles(self) -> InFlightReconciles:
        """The reconciles that run now, and those that ended a moment ago."""

    def take_last(self, key: ObjectKey, held_seconds: float) -> None:
        """Reconcile an object last from now on, because it held the process."""


@attrs.define(eq=False)
class Watchdog:
    """A service that watches the workers of all controllers.

    controllers: returns the present controllers. held: called with the controller and
    the seconds, for metrics.
    """

    _controllers: Callable[[], Iterable[Watched]]
    _held: Callable[[str, float], None]
    _threads: Threads = attrs.field(factory=Threads)
    _stopping: threading.Event = attrs.field(init=False, factory=threading.Event)
    _thread: threading.Thread | None = attrs.field(init=False, default=None)
    _last: float | None = attrs.field(init=False, default=None)
    _process_cpu: float = attrs.field(init=False, default=0.0)
    _cpu: dict[InFlightReconcile, float] = attrs.field(init=False, factory=dict)

    def start(self) -> None:
        """Start to watch, on a separate thread."""
        self._thread = self._threads.start(
            "watchdog", self._run, stopping=self._stopping
        )

    def stop(self, timeout_seconds: float) -> list[str]:
        """Stop watching."""
        self._stopping.set()
        if self._thread is None:
            return []
        self._thread.join(timeout_seconds)
        return ["watchdog"] if self._thread.is_alive() else []

    def _run(self) -> None:
        # In real time: CPU clocks are real, too.
        while not self._stopping.wait(_EVERY_SECONDS):
            self.look(time.monotonic(), time.process_time())
        self._last = None

    def look(self, now: float, process_cpu: float) -> None:
        """Compare with the last look, and blame a reconcile if this look is late.

        now: `time.monotonic()`. process_cpu: CPU seconds of the process so far.
        """
        if self._last is not None:
            gap = now - self._last - _EVERY_SECONDS
            if gap >= HELD_SECONDS:
                self._blame(gap, process_cpu - self._process_cpu)
        self._last, self._process_cpu = now, process_cpu
        self._cpu = {
            one: one.cpu_seconds()
            for controller in self._controllers()
            for one in controller.in_flight_reconciles.running()
        }

    def _blame(self, gap: float, all_cpu: float) -> None:
        found = [
            (one.cpu_seconds() - self._cpu.get(one, one.cpu_at_begin), one, controller)
            for controller in self._controllers()
            for one in controller.in_flight_reconciles.running_or_ended()
        ]
        used, one, controller = max(
            found, key=lambda each: each[0], default=(0.0, None, None)
        )
        if one is None or controller is None:
            return
        if used < _LEAST_CPU_SECONDS or used < all_cpu * _LEAST_PART:
            return
        _log.error(
            "A reconcile held the process: its object is taken last from now on",
            controller=controller.name,
            namespace=one.key.namespace,
            name=one.key.name,
            reconcileID=one.reconcile_id,
            seconds=round(gap, 1),
            cpuSeconds=round(used, 1),
            stack=stack_of(one.thread) if not one.has_ended else "",
        )
        self._held(controller.name, gap)
        controller.take_last(one.key, gap)
