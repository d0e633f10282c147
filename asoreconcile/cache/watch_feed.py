"""Feeds one part of a kind, such as a namespace, into the kind's indexer."""

import threading
from collections.abc import Callable

from asoreconcile.base.clock import Clock
from asoreconcile.base.objects import JsonObject, key_of, resource_version
from asoreconcile.cache.indexer import Indexer
from asoreconcile.cache.initial_list import InitialList, StreamingSupport
from asoreconcile.cache.reflector import Reflector
from asoreconcile.cache.scope import WatchScope
from asoreconcile.cache.source import SteppedSource
from asoreconcile.cache.transform import EntryTransform
from asoreconcile.cache.unreadable import EntryReader, ReportUnreadable
from asoreconcile.cache.watch_runner import RunningWatch, WatchRunner


class WatchFeed:
    """A reflector, its sink, and what runs it."""

    def __init__(
        self,
        source: SteppedSource,
        watch_scope: WatchScope,
        indexer: Indexer,
        transform: EntryTransform,
        *,
        clock: Clock,
        uniform: Callable[[float, float], float],
        streaming: StreamingSupport,
        report: ReportUnreadable,
        runner: WatchRunner,
    ) -> None:
        self._runner = runner
        self.watch_scope = watch_scope
        self.synced = False
        self.version = ""
        """The resource version of the feed's state."""
        self.reading = EntryReader(
            watch_scope.selection.resource,
            transform.entry,
            transform.entry_of_event,
            report,
        )
        self.entry = self.reading.entry
        self.reflector = Reflector(
            source,
            watch_scope.selection,
            self,
            clock=clock,
            uniform=uniform,
            streaming=streaming,
        )
        self._indexer = indexer
        self._lock = threading.Lock()
        self._running: RunningWatch | None = None

    def start(self) -> None:
        """Start to list and watch; idempotent. Any thread. Raises RuntimeError if no
        thread can be started; the call may be repeated.
        """
        with self._lock:
            if self._running is None:
                name = f"watch {self.watch_scope.selection.resource.plural}"
                self._running = self._runner.start(name, self.reflector)

    def join(self, timeout_seconds: float) -> bool:
        """Wait for its end; returns whether it has ended or never started."""
        return self._running is None or self._running.join(timeout_seconds)

    def replace(self, state: InitialList) -> None:
        """Replace the whole state of this part; the differences become
        events.
        """
        self._indexer.replace(state, self.watch_scope, initial=not self.synced)
        self.reading.replaced()
        self.version = state.version
        # Last: a reader that sees it finds the whole state, already passed to the
        # handlers.
        self.synced = True

    def apply(self, type: str, obj: JsonObject) -> None:  # noqa: A002 - see Sink
        """Apply one watch event; an unreadable object is left out and
        reported.
        """
        entry = self.reading.event(type, obj)
        if entry is None:
            version = resource_version(obj)
            self._indexer.drop_unreadable(key_of(obj), version, self.watch_scope)
        else:
            # A transform may have dropped it.
            version = entry.resource_version or resource_version(obj)
            self._indexer.apply(type, entry, self.watch_scope)
        self.version = version

    def advance(self, resource_version: str) -> None:
        """Record a bookmark: this part has no further changes up to that version."""
        self._indexer.advance(resource_version, self.watch_scope)
        self.version = resource_version
