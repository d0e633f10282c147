"""A controller's events in, keys in its queue out. Rules: CT-2, CT-7, PQ-1."""

import threading
from collections.abc import Callable, Sequence

from asoreconcile.cache.events import Event
from asoreconcile.objects import ObjectKey
from asoreconcile.queue.workqueue import WorkQueue
from asoreconcile.runtime.handlers import Handler, priority_of
from asoreconcile.runtime.predicates import Predicate
from asoreconcile.runtime.source import Registration, Source


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
        self.registrations: list[Registration] = []
        """At the sources; grows while it is open."""

    def add(
        self,
        source: Source,
        *,
        handler: Handler,
        predicates: Sequence[Predicate],
        resync_seconds: float,
    ) -> None:
        """Let a source's events in, at once if it is open."""

        def on_event(event: Event) -> None:
            if all(predicate(event) for predicate in predicates):
                priority = priority_of(event)
                for request in handler(event):
                    self._queue.add(request.key, priority=priority)

        def begin() -> None:
            self._register(source.add_handler(on_event, resync_seconds=resync_seconds))

        with self._lock:
            if not self._open:
                self._waiting.append(begin)
                return
        begin()

    def open(self) -> None:
        """Take in what the sources hold, and all that comes. Idempotent: returns when
        all are registered, whoever has opened it.
        """
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

    def _register(self, registration: Registration) -> None:
        with self._lock:
            if not self._closed:
                self.registrations.append(registration)
                return
        registration.remove()  # closed meanwhile, and nobody else would
