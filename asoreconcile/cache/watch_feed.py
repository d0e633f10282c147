"""One part of a kind, read into the kind's contents."""

import threading
from collections.abc import Callable

from asoreconcile.cache.indexer import Indexer
from asoreconcile.cache.initial_list import InitialList, StreamingSupport
from asoreconcile.cache.reflector import Reflector
from asoreconcile.cache.scope import WatchScope
from asoreconcile.cache.source import SteppedSource
from asoreconcile.cache.transform import EntryTransform
from asoreconcile.cache.unreadable import EntryReader, ReportUnreadable
from asoreconcile.cache.watch_runner import RunningWatch, WatchRunner
from asoreconcile.clock import Clock
from asoreconcile.objects import JsonObject, key_of, resource_version


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
        """What the contents are the state of."""
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
        """Begin to read; nothing if it does already. Any thread. Raises RuntimeError if
        the machine gives no thread; it may be tried again.
        """
        with self._lock:
            if self._running is None:
                name = f"watch {self.watch_scope.selection.resource.plural}"
                self._running = self._runner.start(name, self.reflector)

    def join(self, timeout_seconds: float) -> bool:
        """Whether it has ended, or never began."""
        return self._running is None or self._running.join(timeout_seconds)

    def replace(self, state: InitialList) -> None:
        """Take a whole state for what this part covers; the difference becomes
        events.
        """
        self._indexer.replace(state, self.watch_scope, initial=not self.synced)
        self.reading.replaced()
        self.version = state.version
        # Last: who sees it finds all of the state there, and the handlers were given
        # it.
        self.synced = True

    def apply(self, type: str, obj: JsonObject) -> None:  # noqa: A002 - see Sink
        """Take one watch event; an object that cannot be read is left out and
        reported.
        """
        entry = self.reading.event(type, obj)
        if entry is None:
            version = resource_version(obj)
            self._indexer.drop_unreadable(key_of(obj), version, self.watch_scope)
        else:
            # A transform may have dropped it from what is kept.
            version = entry.resource_version or resource_version(obj)
            self._indexer.apply(type, entry, self.watch_scope)
        self.version = version

    def advance(self, resource_version: str) -> None:
        """Note a bookmark: nothing of this part changed up to that version."""
        self._indexer.advance(resource_version, self.watch_scope)
        self.version = resource_version
