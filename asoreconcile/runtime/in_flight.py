"""The reconciles that run now, and a report of those that do not end. Rule: CT-6.

A thread cannot be killed: what helps is to know where it hangs.
"""

import sys
import threading
import traceback

from asoreconcile.clock import Clock
from asoreconcile.log import Logger
from asoreconcile.objects import ObjectKey

_log = Logger(__name__)


class InFlightReconcile:
    """One running reconcile."""

    __slots__ = ("key", "reconcile_id", "reported", "since", "thread")

    def __init__(self, key: ObjectKey, reconcile_id: str, since: float) -> None:
        self.key = key
        self.reconcile_id = reconcile_id
        self.since = since
        self.thread = threading.get_ident()
        self.reported = False


class InFlightReconciles:
    """One controller's running reconciles. Safe from any thread."""

    def __init__(
        self, controller: str, *, clock: Clock, stuck_after_seconds: float
    ) -> None:
        self._controller = controller
        self._clock = clock
        self._stuck_after_seconds = stuck_after_seconds
        self._lock = threading.Lock()
        self._running: dict[int, InFlightReconcile] = {}

    def begin(self, key: ObjectKey, reconcile_id: str) -> InFlightReconcile:
        """Record that this thread starts one; end it with `end`."""
        begun = InFlightReconcile(key, reconcile_id, self._clock.monotonic())
        with self._lock:
            self._running[begun.thread] = begun
        return begun

    def end(self, ended: InFlightReconcile) -> None:
        with self._lock:
            self._running.pop(ended.thread, None)

    def describe(self) -> list[str]:
        """`controller namespace/name (12.3 s)` for each, the longest first."""
        now = self._clock.monotonic()
        return [
            f"{self._controller} {running.key} ({now - running.since:.1f} s)"
            for running in self._by_age()
        ]

    def longer_than(self, seconds: float) -> int:
        """How many have been running for longer than that."""
        now = self._clock.monotonic()
        return sum(now - running.since > seconds for running in self._by_age())

    def report_stuck(self) -> None:
        """Log each that is past its time, once, with its thread's stack."""
        now = self._clock.monotonic()
        for running in self._by_age():
            age = now - running.since
            if running.reported or age < self._stuck_after_seconds:
                continue
            running.reported = True
            _log.warning(
                "Reconcile does not end",
                controller=self._controller,
                namespace=running.key.namespace,
                name=running.key.name,
                reconcileID=running.reconcile_id,
                seconds=round(age, 1),
                stack=_stack(running.thread),
            )

    def _by_age(self) -> list[InFlightReconcile]:
        with self._lock:
            return sorted(self._running.values(), key=lambda running: running.since)


def _stack(thread: int) -> str:
    frame = sys._current_frames().get(thread)  # noqa: SLF001 - the only way to see it
    return "".join(traceback.format_stack(frame)) if frame else ""
