"""The gate before a controller's first reconcile: its sources must have synced.

Working on half a cache would take missing owners for deleted ones. Checked on the
clock's timers, so that waiting costs no thread. Rules: CT-1, CT-2.
"""

import threading
from collections.abc import Callable, Sequence

from asoreconcile.clock import Clock
from asoreconcile.log import Logger
from asoreconcile.queue.deadline_timer import DeadlineTimer
from asoreconcile.runtime.source import Registration

_log = Logger(__name__)

_CHECK_SECONDS = 0.1
_SLOW_CHECK_SECONDS = 1.0


class CacheSync:
    """Calls `opened` once, when every registration has synced.

    A kind that cannot sync keeps only its own gate shut: that is logged after
    `timeout_seconds`, and watched on. Safe from any thread.
    """

    def __init__(
        self, clock: Clock, opened: Callable[[], None], *, timeout_seconds: float
    ) -> None:
        self._clock = clock
        self._opened = opened
        self._timeout_seconds = timeout_seconds
        self._lock = threading.Lock()
        self._registrations: Sequence[Registration] = ()
        self._since = 0.0
        self._late = False
        self._closed = False
        self._is_open = False
        self._alarm = DeadlineTimer(clock, self.check)

    @property
    def is_open(self) -> bool:
        return self._is_open

    def start(self, registrations: Sequence[Registration]) -> None:
        """Begin to check; opens at once if all have synced.

        registrations: may grow later; until the gate opens, new ones count too.
        """
        self._registrations = registrations
        self._since = self._clock.monotonic()
        self.check()

    def check(self) -> None:
        """Open the gate if all sources synced; else check again later."""
        if self._is_open or self._closed:
            return
        if not all(item.has_synced() for item in self._registrations):
            self._later()
            return
        with self._lock:
            first, self._is_open = not self._is_open, True
        if first:
            self._opened()

    def close(self) -> None:
        """Stop checking; a gate that is not open yet stays closed."""
        self._closed = True
        self._alarm.cancel()

    def _later(self) -> None:
        now = self._clock.monotonic()
        waited = now - self._since
        if waited >= self._timeout_seconds and not self._late:
            self._late = True
            _log.warning("Sources have not synced; still waiting", seconds=waited)
        self._alarm.set(now + (_SLOW_CHECK_SECONDS if self._late else _CHECK_SECONDS))
