"""The event handlers of an informer, and their resyncs.

Handlers are called one after the other on the watch thread, in the order of the stream.
They must only record or enqueue. Longer work belongs in a controller: a queue of keys
stays small, a queue of events would not. A handler's exception is logged and counted,
and affects nothing else. Rules: IN-5 - IN-9.
"""

import threading
from collections.abc import Callable, Iterable

import attrs

from asoreconcile.base.clock import Clock, Timer
from asoreconcile.base.log import Logger
from asoreconcile.cache.entry import Entry
from asoreconcile.cache.events import Added, Event, EventHandler, Updated

_log = Logger(__name__)

# Each resync queues every object: a shorter period would leave no time for other work.
_SHORTEST_RESYNC_SECONDS = 1.0


@attrs.define(eq=False)
class Registration:
    """One handler's registration at an informer
    (`runtime.sources.HandlerRegistration`).
    """

    handler: EventHandler
    _processor: "Processor"
    _synced: Callable[[], bool]
    resync_seconds: float
    active: bool = True
    timer: Timer | None = None

    def has_synced(self) -> bool:
        """Return whether the handler has returned from every event of the
        initial list.
        """
        # It is called before the next event is read. A removed handler waits for
        # nothing: its informer may have left before its first list.
        return not self.active or self._synced()

    def remove(self) -> None:
        """Deliver no more events; a call that has started goes on. Idempotent."""
        self._processor.remove(self)


class Processor:
    """Calls the handlers. The caller serialises `distribute`, `add` and resyncs."""

    def __init__(self, clock: Clock, *, synced: Callable[[], bool]) -> None:
        self._clock = clock
        self._synced = synced
        self._lock = threading.Lock()
        self._registrations: dict[Registration, None] = {}
        # Replaced, never changed: `distribute` iterates without the lock. None if a
        # handler came or went.
        self._called: tuple[Registration, ...] | None = ()

    def add(
        self,
        handler: EventHandler,
        present: Iterable[Entry],
        *,
        resync_seconds: float,
        resync: Callable[[Registration], None],
    ) -> Registration:
        """Add a handler: it gets the current objects, then all distributed events.

        resync: function called about every `resync_seconds` (at least 1) on a separate
        thread; with 0 it is never called.
        """
        if resync_seconds:
            resync_seconds = max(resync_seconds, _SHORTEST_RESYNC_SECONDS)
        registration = Registration(handler, self, self._synced, resync_seconds)
        # Before it is listed: the caller's lock holds changes back, so that the current
        # objects come before later changes.
        for entry in present:
            self._call(registration, Added(entry, initial=True))
        with self._lock:
            self._registrations[registration] = None
            self._called = None
        if registration.resync_seconds:
            self._schedule(registration, resync)
        return registration

    def remove(self, registration: Registration) -> None:
        """Remove a handler; a call that has started goes on."""
        with self._lock:
            if not registration.active:
                return
            registration.active = False
            self._registrations.pop(registration, None)
            self._called = None
            if registration.timer is not None:
                registration.timer.cancel()

    @property
    def has_handlers(self) -> bool:
        """Return whether a handler is registered."""
        return bool(self._registrations)

    def remove_all(self) -> None:
        """Remove all handlers."""
        for registration in self._all():
            self.remove(registration)

    def distribute(self, event: Event) -> None:
        """Deliver an event to every handler, in the order of events."""
        for registration in self._called or self._all():
            self._call(registration, event)

    def _all(self) -> tuple[Registration, ...]:
        with self._lock:
            if self._called is None:
                self._called = tuple(self._registrations)
            return self._called

    def resync(self, registration: Registration, present: Iterable[Entry]) -> None:
        """Resync a handler: deliver every object as an update without a change."""
        for entry in present:
            self._call(registration, Updated(entry, entry))

    def _schedule(
        self, registration: Registration, resync: Callable[[Registration], None]
    ) -> None:
        def due() -> None:
            # It may be slow with many objects: not on the timer thread.
            try:
                threading.Thread(target=run, name="resync", daemon=True).start()
            except RuntimeError as error:  # no thread is available
                _log.warning("Resync put off", error=str(error))
                self._schedule(registration, resync)

        def run() -> None:
            try:
                resync(registration)
            finally:
                self._schedule(registration, resync)

        deadline = self._clock.monotonic() + registration.resync_seconds
        with self._lock:
            if registration.active:
                registration.timer = self._clock.call_at(deadline, due)

    def _call(self, registration: Registration, event: Event) -> None:
        # Handlers may remove themselves and each other during an event.
        if not registration.active:
            return
        try:
            registration.handler(event)
        except BaseException:  # noqa: BLE001 - one handler must not end the watch of all
            _log.exception("Event handler failed", object=str(event.key))
