"""Handlers of an informer: who hears of events, and who is told all again now and then.

Handlers are called inline, one after the other, in the order of the stream: they must
only note or enqueue. What one raises is logged and counted, and goes no further. Rules:
IN-6 - IN-9.
"""

import threading
from collections.abc import Callable, Iterable

import attrs

from asoreconcile.cache.entry import Entry
from asoreconcile.cache.events import Added, Event, EventHandler, Updated
from asoreconcile.clock import Clock, Timer
from asoreconcile.log import Logger

_log = Logger(__name__)

_SHORTEST_RESYNC_SECONDS = 1.0


@attrs.define(eq=False)
class Registration:
    """One handler's place at an informer (`runtime.source.Registration`)."""

    handler: EventHandler
    _delivery: "Delivery"
    _synced: Callable[[], bool]
    resync_seconds: float = 0.0
    active: bool = True
    timer: Timer | None = None

    def has_synced(self) -> bool:
        """Whether the handler has returned from every event of the first list."""
        return self._synced()

    def remove(self) -> None:
        """Deliver nothing more, but for a call that has begun. Idempotent."""
        self._delivery.remove(self)


class Delivery:
    """Calls handlers. The caller serialises `tell`, `introduce` and resyncs."""

    def __init__(self, clock: Clock, *, synced: Callable[[], bool]) -> None:
        self._clock = clock
        self._synced = synced
        self._lock = threading.Lock()
        self._registrations: tuple[Registration, ...] = ()
        self.failures = 0
        """Calls that raised."""

    def introduce(
        self,
        handler: EventHandler,
        present: Iterable[Entry],
        *,
        resync: Callable[[Registration], None],
        resync_seconds: float,
    ) -> Registration:
        """Tell a new handler what is there, then all that `tell` is told.

        resync: called about every resync_seconds, on a thread of its own; 0 is never.
        """
        registration = Registration(
            handler,
            self,
            self._synced,
            max(resync_seconds, _SHORTEST_RESYNC_SECONDS) if resync_seconds else 0.0,
        )
        for entry in present:
            self._call(registration, Added(entry, initial=True))
        with self._lock:
            self._registrations = (*self._registrations, registration)
        if registration.resync_seconds:
            self._schedule(registration, resync)
        return registration

    def remove(self, registration: Registration) -> None:
        with self._lock:
            registration.active = False
            self._registrations = tuple(
                one for one in self._registrations if one is not registration
            )
            if registration.timer is not None:
                registration.timer.cancel()

    def remove_all(self) -> None:
        for registration in self._registrations:
            self.remove(registration)

    def tell(self, event: Event) -> None:
        for registration in self._registrations:
            self._call(registration, event)

    def tell_again(self, registration: Registration, present: Iterable[Entry]) -> None:
        """A resync: everything, as updates without a change."""
        for entry in present:
            self._call(registration, Updated(entry, entry))

    def _schedule(
        self, registration: Registration, resync: Callable[[Registration], None]
    ) -> None:
        def due() -> None:
            # Many objects may take a while: not on the thread of all timers.
            threading.Thread(target=run, name="resync", daemon=True).start()

        def run() -> None:
            resync(registration)
            self._schedule(registration, resync)

        deadline = self._clock.monotonic() + registration.resync_seconds
        with self._lock:
            if registration.active:
                registration.timer = self._clock.call_at(deadline, due)

    def _call(self, registration: Registration, event: Event) -> None:
        if not registration.active:
            return
        try:
            registration.handler(event)
        except Exception:  # noqa: BLE001 - one handler must not end the watch of all
            self.failures += 1
            _log.exception("Event handler failed", object=str(event.key))
