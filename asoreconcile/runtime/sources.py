"""Where a controller's events come from, and the wait until all of it is in the cache.

    source -> registration -> predicates -> handler -> keys in the queue

`cache.informer.Informer` is a source. No reconcile runs before every source has synced:
working on half a cache would take missing owners for deleted ones. That is checked on
the clock's timers, so that waiting costs no thread. Rules: CT-1, CT-2, CT-7, PQ-1.
"""

import threading
from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

import attrs

from asoreconcile.cache.events import Event, EventHandler
from asoreconcile.clock import Clock
from asoreconcile.log import Logger
from asoreconcile.objects import ObjectKey
from asoreconcile.queue.deadline_timer import DeadlineTimer
from asoreconcile.queue.workqueue import WorkQueue
from asoreconcile.runtime.handlers import Handler, enqueue_self, priority_of
from asoreconcile.runtime.predicates import Predicate
from asoreconcile.runtime.reconciler import Request

_log = Logger(__name__)
_CHECK_SECONDS = 0.1
# The pause between two checks, as a share of the time waited so far: three hundred
# kinds that look ten times a second would take a seventh of a core while an API server
# makes its caches.
_CHECK_SHARE = 0.1
# For kinds that are late already: hundreds may be, where their CRDs are missing.
_SLOW_CHECK_SECONDS = 1.0


class HandlerRegistration(Protocol):
    """A handler that was added to a source."""

    def has_synced(self) -> bool:
        """Whether the handler has returned from every event of the first list."""

    def remove(self) -> None:
        """Remove the handler: nothing more is delivered to it."""


class Source(Protocol):
    """Delivers the events of one kind. Someone else starts and stops it."""

    def add_handler(
        self, handler: EventHandler, *, resync_seconds: float = 0.0
    ) -> HandlerRegistration:
        """Deliver what is there now as `Added(initial=True)`, then every change.

        resync_seconds: how often to deliver everything again; 0 is never.
        """

    def has_synced(self) -> bool:
        """Whether the first list is in the cache."""


@attrs.frozen
class Watch:
    """One source of a controller's events, and what they mean to it.

    The functions run on the watch thread: short, and never blocking.
    handler: maps an event to requests; see `runtime.handlers`.
    when: which events count; all without it.
    resync_seconds: how often the source delivers everything again, as updates without a
    change; 0 is never.
    """

    source: Source
    handler: Handler = enqueue_self
    when: Predicate | None = None
    resync_seconds: float = 0.0

    def requests(self, event: Event) -> Iterable[Request]:
        """Whom an event concerns, if it counts."""
        if self.when is None or self.when(event):
            return self.handler(event)
        return ()


class EventSources:
    """Takes nothing in before it is opened, and nothing more once it is closed.

    Safe from any thread.
    """

    def __init__(self, queue: WorkQueue[ObjectKey]) -> None:
        self._queue = queue
        self._lock = threading.Lock()
        self._opening = threading.Lock()
        self._waiting: list[Callable[[], None]] = []
        self._open = False
        self._closed = False
        self.registrations: list[HandlerRegistration] = []
        """At the sources; grows while it is open."""

    def add(self, watch: Watch) -> None:
        """Let a source's events in, at once if it is open."""

        # On the watch's thread: it enqueues and returns. What a handler costs, all of
        # the kind's handlers wait for.
        def on_event(event: Event) -> None:
            for request in watch.requests(event):
                self._queue.add(request.key, priority=priority_of(event))

        def begin() -> None:
            self._register(
                watch.source.add_handler(on_event, resync_seconds=watch.resync_seconds)
            )

        with self._lock:
            if not self._open:
                self._waiting.append(begin)
                return
        begin()

    def open(self) -> None:
        """Take in what the sources hold, and all that comes. Idempotent: returns when
        all are registered, whoever has opened it.
        """
        # A second caller opens nothing, and returns only once all are registered.
        with self._opening:
            with self._lock:
                self._open = True
                waiting, self._waiting = self._waiting, []
            # Without that lock: a source delivers what it holds before it returns.
            for begin in waiting:
                begin()

    def close(self) -> None:
        """Have no source deliver any more. Idempotent."""
        with self._lock:
            self._closed = True
            registrations = tuple(self.registrations)
            self.registrations.clear()
        for registration in registrations:
            registration.remove()

    def _register(self, registration: HandlerRegistration) -> None:
        with self._lock:
            if not self._closed:
                self.registrations.append(registration)
                return
        registration.remove()  # closed meanwhile, and nobody else would


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
        self._registrations: Sequence[HandlerRegistration] = ()
        self._since = 0.0
        self._late = False
        self._closed = False
        self._is_open = False
        self._timer = DeadlineTimer(clock, self.check)

    @property
    def is_open(self) -> bool:
        """True once all sources have synced; it never becomes False again."""
        return self._is_open

    def start(self, registrations: Sequence[HandlerRegistration]) -> None:
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
        # `start` and a timer may get here at once: one of them opens.
        with self._lock:
            first, self._is_open = not self._is_open, True
        if first:
            self._opened()

    def close(self) -> None:
        """Stop checking; a gate that is not open yet stays closed."""
        self._closed = True
        self._timer.cancel()

    def _later(self) -> None:
        now = self._clock.monotonic()
        waited = now - self._since
        if waited >= self._timeout_seconds and not self._late:
            self._late = True
            _log.warning("Sources have not synced; still waiting", seconds=waited)
        pause = max(_CHECK_SECONDS, _CHECK_SHARE * waited)
        slow = self._late or pause > _SLOW_CHECK_SECONDS
        self._timer.set(now + (_SLOW_CHECK_SECONDS if slow else pause))
