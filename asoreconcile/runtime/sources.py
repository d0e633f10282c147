"""A controller's event sources, and the wait for their cache sync.

    source -> registration -> predicates -> handler -> keys in the queue

`cache.informer.Informer` is a source. No reconcile runs before every source has synced:
with half a cache, owners that are not listed yet would look deleted. The clock's timers
check it, so waiting needs no thread. Rules: CT-1, CT-2, CT-7, PQ-1.
"""

import threading
from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

import attrs

from asoreconcile.base.clock import Clock
from asoreconcile.base.errors import check_number, check_seconds
from asoreconcile.base.log import Logger
from asoreconcile.base.objects import ObjectKey
from asoreconcile.base.signatures import check_takes
from asoreconcile.cache.events import Event, EventHandler
from asoreconcile.queue.deadline_timer import DeadlineTimer
from asoreconcile.queue.workqueue import WorkQueue
from asoreconcile.runtime.handlers import Handler, enqueue_self, priority_of
from asoreconcile.runtime.predicates import Predicate, concerns, labelled
from asoreconcile.runtime.reconciler import Request

_log = Logger(__name__)
_CHECK_SECONDS = 0.1
# The pause between two checks, as a share of the time waited so far: three hundred
# kinds that check ten times a second would use a seventh of a core while an API server
# builds its caches.
_CHECK_SHARE = 0.1
# For kinds that are already late: there may be hundreds, if their CRDs are missing.
_SLOW_CHECK_SECONDS = 1.0


class HandlerRegistration(Protocol):
    """A handler that was added to a source."""

    def has_synced(self) -> bool:
        """Return whether the handler has returned from every event of the
        initial list.
        """

    def remove(self) -> None:
        """Remove the handler: no more events are delivered to it."""


class Source(Protocol):
    """Delivers the events of one kind. The controller does not start or stop it."""

    def add_handler(
        self, handler: EventHandler, *, resync_seconds: float = 0.0
    ) -> HandlerRegistration:
        """Deliver the current objects as `Added(initial=True)`, then every change.

        resync_seconds: how often to deliver everything again; 0 is never.
        """

    def has_synced(self) -> bool:
        """Return whether the initial list is in the cache."""


@attrs.frozen
class Watch:
    """One event source of a controller, with its handler and predicate.

    The functions run on the watch thread, so they must be short and never block.
    handler: maps an event to requests; see `runtime.handlers`.
    when: a predicate; all events count without one.
    resync_seconds: how often the source delivers everything again, as updates without a
    change; 0 is never.
    Raises TypeError for functions that cannot be called with an event, and TypeError or
    ValueError for an invalid time.
    """

    source: Source
    handler: Handler = enqueue_self
    when: Predicate | None = None
    resync_seconds: float = 0.0

    def __attrs_post_init__(self) -> None:
        check_seconds("resync_seconds", self.resync_seconds)
        check_number("resync_seconds", self.resync_seconds, least=0)
        check_takes(self.handler, "event", what="handler", lazy=True)
        if self.when is not None:
            # These functions make a predicate and take one argument, as a predicate
            # does. Passed by mistake, they would let every event pass, or none.
            when: object = self.when
            for maker in (concerns, labelled):
                if when is maker:
                    name = maker.__name__
                    raise TypeError(f"{name} is no predicate, {name}(...) is one")
            check_takes(self.when, "event", what="predicate")

    def requests(self, event: Event) -> Iterable[Request]:
        """Return the requests of an event that passes the predicate."""
        if self.when is None or self.when(event):
            return self.handler(event)
        return ()


class EventSources:
    """The event sources of a controller. Events are enqueued only between `open` and
    `close`. Safe from any thread.
    """

    def __init__(self, queue: WorkQueue[ObjectKey]) -> None:
        self._queue = queue
        self._lock = threading.Lock()
        self._opening = threading.Lock()
        self._waiting: list[Callable[[], None]] = []
        self._open = False
        self._closed = False
        self.registrations: list[HandlerRegistration] = []
        """The registrations at the sources; grows while it is open."""
        self.kinds: list[str] = []
        """The kinds of the sources, for the log."""
        self.sources: list[Source] = []

    def add(self, watch: Watch) -> None:
        """Add a source. If the sources are open, register at it at once."""

        # On the watch's thread: enqueue and return. A slow handler delays all handlers
        # of the kind.
        def on_event(event: Event) -> None:
            for request in watch.requests(event):
                if _log.shows_debug:
                    _log.debug(
                        "Reconcile is due",
                        controller=self._queue.name,
                        namespace=request.key.namespace,
                        name=request.key.name,
                        because=type(event).__name__,
                        of=str(event.key),
                        kind=_kind(watch.source),
                    )
                self._queue.add(request.key, priority=priority_of(event))

        def begin() -> None:
            self._register(
                watch.source.add_handler(on_event, resync_seconds=watch.resync_seconds)
            )

        with self._lock:
            self.kinds.append(_kind(watch.source))
            self.sources.append(watch.source)
            if not self._open:
                self._waiting.append(begin)
                return
        begin()

    def open(self) -> None:
        """Register at all sources, and enqueue their objects and events.

        Idempotent: returns when all are registered, even if another caller has opened
        them.
        """
        # A second caller registers nothing, and returns once all are registered.
        with self._opening:
            with self._lock:
                self._open = True
                waiting, self._waiting = self._waiting, []
            # Without that lock: a source delivers its current objects before it
            # returns.
            for begin in waiting:
                begin()

    def close(self) -> None:
        """Remove the handlers from all sources. Idempotent."""
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
        registration.remove()  # closed meanwhile, and `close` did not see it


def _kind(source: Source) -> str:
    """Return the kind of an informer, or the class name of another source."""
    resource = getattr(source, "resource", None)
    return str(getattr(resource, "group_kind", type(source).__name__))


class CacheSync:
    """Calls `opened` once, when every registration has synced.

    A kind that cannot sync delays only its own controller: this is logged after
    `timeout_seconds`, and the checks go on. Safe from any thread.
    """

    def __init__(
        self, clock: Clock, opened: Callable[[float], None], *, timeout_seconds: float
    ) -> None:
        """opened: function called with the seconds since `start`."""
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
        """Return whether all sources have synced. It never becomes False again."""
        return self._is_open

    def start(self, registrations: Sequence[HandlerRegistration]) -> None:
        """Start to check; opens at once if all have synced.

        registrations: registrations to check. The sequence may grow until all have
        synced.
        """
        self._registrations = registrations
        self._since = self._clock.monotonic()
        self.check()

    def check(self) -> None:
        """Call `opened` if all sources have synced; else check again later."""
        if self._is_open or self._closed:
            return
        if not all(item.has_synced() for item in self._registrations):
            self._later()
            return
        # `start` and a timer may get here at the same time: only one opens it.
        with self._lock:
            first, self._is_open = not self._is_open, True
        if first:
            self._opened(self._clock.monotonic() - self._since)

    def close(self) -> None:
        """Stop checking; `opened` is not called any more."""
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
