"""The handlers of an informer: they get its events, and resyncs now and then.

Handlers are called inline, one after the other, in the order of the stream: they must
only note or enqueue. A handler that takes its time gets a thread of its own, and holds
up nobody but itself. What one raises is logged and counted, and goes no further. Rules:
IN-5 - IN-9.
"""

import threading
from collections.abc import Callable, Iterable
from queue import SimpleQueue

import attrs

from asoreconcile.cache.entry import Entry
from asoreconcile.cache.events import Added, Event, EventHandler, Updated
from asoreconcile.clock import Clock, Timer
from asoreconcile.log import Logger

_log = Logger(__name__)

# Each resync queues every object: more often, there would be time for nothing else.
_SHORTEST_RESYNC_SECONDS = 1.0


@attrs.frozen
class HandlerOptions:
    """How a handler is called; `Informer.add_handler` says what each means."""

    resync_seconds: float = 0.0
    own_thread: bool = False

    def period_seconds(self) -> float:
        """Seconds between two resyncs, 1 at least; 0 is never."""
        if not self.resync_seconds:
            return 0.0
        return max(self.resync_seconds, _SHORTEST_RESYNC_SECONDS)


@attrs.define(eq=False)
class Registration:
    """One handler's place at an informer (`runtime.sources.HandlerRegistration`)."""

    handler: EventHandler
    _processor: "Processor"
    _synced: Callable[[], bool]
    resync_seconds: float
    active: bool = True
    timer: Timer | None = None
    listener: "ProcessorListener | None" = None

    def has_synced(self) -> bool:
        """Whether the handler has returned from every event of the first state."""
        # In this order: nothing initial comes once the informer has synced.
        return self._synced() and not (
            self.listener and self.listener.has_initial_left()
        )

    def remove(self) -> None:
        """Deliver nothing more, but for a call that has begun. Idempotent."""
        self._processor.remove(self)


class ProcessorListener:
    """Events that wait for one handler, and the thread that brings them. Rule: IN-6."""

    def __init__(self, call: Callable[[Event], None]) -> None:
        """call: raises nothing."""
        self._call = call
        self._waiting: SimpleQueue[Event | None] = SimpleQueue()
        # Each is counted by one thread only, so that neither needs a lock.
        self._initial_put = 0
        self._initial_done = 0
        self._thread = threading.Thread(target=self._run, name="handler", daemon=True)
        self._thread.start()

    def has_initial_left(self) -> bool:
        """True while objects of the first list wait for the handler (IN-5)."""
        return self._initial_done < self._initial_put

    def put(self, event: Event) -> None:
        """Append an event. Call from one thread at a time."""
        if isinstance(event, Added) and event.initial:
            self._initial_put += 1
        self._waiting.put(event)

    def end(self) -> None:
        """Let the thread end once it has delivered what waits."""
        self._waiting.put(None)

    def join(self, timeout_seconds: float) -> bool:
        """Whether the handler has returned; at once when called from within it."""
        if self._thread is not threading.current_thread():
            self._thread.join(timeout_seconds)
        return not self._thread.is_alive()

    def _run(self) -> None:
        while (event := self._waiting.get()) is not None:
            self._call(event)
            if isinstance(event, Added) and event.initial:
                self._initial_done += 1


class Processor:
    """Calls handlers. The caller serialises `distribute`, `add` and resyncs."""

    def __init__(self, clock: Clock, *, synced: Callable[[], bool]) -> None:
        self._clock = clock
        self._synced = synced
        self._lock = threading.Lock()
        # Both are replaced and never changed: `distribute` goes over them without the
        # lock.
        self._registrations: tuple[Registration, ...] = ()
        self._listeners: tuple[ProcessorListener, ...] = ()
        self.failures = 0
        """Calls that raised."""

    def add(
        self,
        handler: EventHandler,
        present: Iterable[Entry],
        options: HandlerOptions,
        *,
        resync: Callable[[Registration], None],
    ) -> Registration:
        """Add a handler: it gets what is there, then all that `distribute` distributes.

        resync: called about as often as the options say, on a thread of its own.
        """
        registration = Registration(
            handler,
            self,
            self._synced,
            options.period_seconds(),
        )
        if options.own_thread:
            listener = ProcessorListener(lambda event: self._call(registration, event))
            registration.listener = listener
            # Threads that have ended are let go of here: handlers come and go with
            # kinds.
            running = (one for one in self._listeners if not one.join(0))
            self._listeners = (*running, listener)
        # Before it is among the others: the caller's lock keeps changes out until then,
        # so that what is there comes before what changes.
        for entry in present:
            self._deliver(registration, Added(entry, initial=True))
        with self._lock:
            self._registrations = (*self._registrations, registration)
        if registration.resync_seconds:
            self._schedule(registration, resync)
        return registration

    def remove(self, registration: Registration) -> None:
        """Give a handler no more events; what waits for it is still delivered."""
        with self._lock:
            if not registration.active:
                return
            registration.active = False
            self._registrations = tuple(
                one for one in self._registrations if one is not registration
            )
            if registration.timer is not None:
                registration.timer.cancel()
        if registration.listener is not None:
            registration.listener.end()

    def remove_all(self) -> None:
        """Give no handler any more events."""
        for registration in self._registrations:
            self.remove(registration)

    def join(self, timeout_seconds: float) -> bool:
        """Wait for handlers on threads of their own; whether all have returned."""
        deadline = self._clock.monotonic() + timeout_seconds
        ended = [
            listener.join(max(0.0, deadline - self._clock.monotonic()))
            for listener in self._listeners
        ]
        return all(ended)

    def distribute(self, event: Event) -> None:
        """Bring an event to every handler, in the order in which events happened."""
        for registration in self._registrations:
            self._deliver(registration, event)

    def resync(self, registration: Registration, present: Iterable[Entry]) -> None:
        """Deliver everything as updates without a change: a resync."""
        for entry in present:
            self._deliver(registration, Updated(entry, entry))

    def _deliver(self, registration: Registration, event: Event) -> None:
        if registration.listener is None:
            self._call(registration, event)
        else:
            registration.listener.put(event)

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
        # What waited for the handler's own thread may come after its removal.
        if not registration.active:
            return
        try:
            registration.handler(event)
        except BaseException:  # noqa: BLE001 - one handler must not end the watch of all
            self.failures += 1
            _log.exception("Event handler failed", object=str(event.key))
