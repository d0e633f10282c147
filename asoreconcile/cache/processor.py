"""The handlers of an informer: they get its events, and resyncs now and then.

Handlers are called inline, one after the other, in the order of the stream: they must
only note or enqueue. What takes its time is a controller's business: a queue of keys
stays small, a line of events would not. What a handler raises is logged and counted,
and goes no further. Rules: IN-5 - IN-9.
"""

import threading
from collections.abc import Callable, Iterable

import attrs

from asoreconcile.cache.entry import Entry
from asoreconcile.cache.events import Added, Event, EventHandler, Updated
from asoreconcile.clock import Clock, Timer
from asoreconcile.log import Logger

_log = Logger(__name__)

# Each resync queues every object: more often, there would be time for nothing else.
_SHORTEST_RESYNC_SECONDS = 1.0


@attrs.define(eq=False)
class Registration:
    """One handler's place at an informer (`runtime.sources.HandlerRegistration`)."""

    handler: EventHandler
    _processor: "Processor"
    _synced: Callable[[], bool]
    resync_seconds: float
    active: bool = True
    timer: Timer | None = None

    def has_synced(self) -> bool:
        """Whether the handler has returned from every event of the first state."""
        # It is called before the next event is read.
        return self._synced()

    def remove(self) -> None:
        """Deliver nothing more, but for a call that has begun. Idempotent."""
        self._processor.remove(self)


class Processor:
    """Calls handlers. The caller serialises `distribute`, `add` and resyncs."""

    def __init__(self, clock: Clock, *, synced: Callable[[], bool]) -> None:
        self._clock = clock
        self._synced = synced
        self._lock = threading.Lock()
        # Replaced and never changed: `distribute` goes over them without the lock.
        self._registrations: tuple[Registration, ...] = ()
        self.failures = 0
        """Calls that raised."""

    def add(
        self,
        handler: EventHandler,
        present: Iterable[Entry],
        *,
        resync_seconds: float,
        resync: Callable[[Registration], None],
    ) -> Registration:
        """Add a handler: it gets what is there, then all that `distribute` distributes.

        resync: called about every `resync_seconds`, 1 at least, on a thread of its own;
        0 is never.
        """
        if resync_seconds:
            resync_seconds = max(resync_seconds, _SHORTEST_RESYNC_SECONDS)
        registration = Registration(handler, self, self._synced, resync_seconds)
        # Before it is among the others: the caller's lock keeps changes out until then,
        # so that what is there comes before what changes.
        for entry in present:
            self._call(registration, Added(entry, initial=True))
        with self._lock:
            self._registrations = (*self._registrations, registration)
        if registration.resync_seconds:
            self._schedule(registration, resync)
        return registration

    def remove(self, registration: Registration) -> None:
        """Give a handler no more events; a call that has begun goes on."""
        with self._lock:
            if not registration.active:
                return
            registration.active = False
            self._registrations = tuple(
                one for one in self._registrations if one is not registration
            )
            if registration.timer is not None:
                registration.timer.cancel()

    def remove_all(self) -> None:
        """Give no handler any more events."""
        for registration in self._registrations:
            self.remove(registration)

    def distribute(self, event: Event) -> None:
        """Bring an event to every handler, in the order in which events happened."""
        for registration in self._registrations:
            self._call(registration, event)

    def resync(self, registration: Registration, present: Iterable[Entry]) -> None:
        """Deliver everything as updates without a change: a resync."""
        for entry in present:
            self._call(registration, Updated(entry, entry))

    def _schedule(
        self, registration: Registration, resync: Callable[[Registration], None]
    ) -> None:
        def due() -> None:
            # Many objects may take a while: not on the thread of all timers.
            try:
                threading.Thread(target=run, name="resync", daemon=True).start()
            except RuntimeError as error:  # no thread to be had
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
        # Handlers remove themselves and each other in the middle of an event.
        if not registration.active:
            return
        try:
            registration.handler(event)
        except BaseException:  # noqa: BLE001 - one handler must not end the watch of all
            self.failures += 1
            _log.exception("Event handler failed", object=str(event.key))
