"""One kind in the cache: watches that feed it, readers, handlers that get the changes.

Reads never wait, and are never older than our own writes. Rules: IN-1 - IN-12, CA-2 -
CA-5, D21, TH-3.
"""

import random
from collections import ChainMap
from collections.abc import Callable, Iterable, Mapping, Sequence

from asoreconcile.cache.entry import Entry
from asoreconcile.cache.events import EventHandler
from asoreconcile.cache.indexer import Indexer
from asoreconcile.cache.initial_list import StreamingSupport
from asoreconcile.cache.processor import Registration
from asoreconcile.cache.scope import EVERYTHING, Scope, watch_scopes
from asoreconcile.cache.source import ListerWatcher
from asoreconcile.cache.store import IndexFunction
from asoreconcile.cache.transform import EntryTransform
from asoreconcile.cache.unreadable import (
    BadObjectError,
    ReportUnreadable,
    Unreadable,
    unreported,
)
from asoreconcile.cache.watch_feed import WatchFeed
from asoreconcile.cache.watch_runner import OwnThreads, WatchRunner
from asoreconcile.clock import Clock
from asoreconcile.errors import AsoreconcileError, StoppedError
from asoreconcile.kube.resources import ApiResource
from asoreconcile.lazy_event import LazyEvent
from asoreconcile.log import Logger
from asoreconcile.objects import (
    JsonObject,
    ObjectKey,
    key_of,
    resource_version,
    version_number,
)
from asoreconcile.threads import Threads

_log = Logger(__name__)


class NotCachedError(AsoreconcileError):
    """The cache does not watch this kind or namespace."""


class Informer:
    """A cached, watched kind. Reads are safe from any thread and never block long."""

    def __init__(
        self,
        client: ListerWatcher,
        resource: ApiResource,
        scope: Scope = EVERYTHING,
        *,
        clock: Clock,
        metadata_only: bool = False,
        default: Scope = EVERYTHING,
        streaming: StreamingSupport | None = None,
        threads: Threads | None = None,
        runner: WatchRunner | None = None,
        uniform: Callable[[float, float], float] = random.uniform,
        report: ReportUnreadable = unreported,
    ) -> None:
        """scope: what to cache of the kind: one watch for the whole cluster, or one
        for each of its namespaces. Where its transform fails, the object is left out.
        metadata_only: objects without spec, status or data.
        default: what counts where the scope says nothing. Rules: CA-2, IN-10.
        report: called with objects that cannot be read.
        streaming: shared by the informers of a server; None expects support.
        threads: shared by all of a process that shows what died of it.
        runner: where its watches run, with those of others; None gives each a thread of
        its own. Then `client` is not asked.
        """
        self.resource = resource
        self._clock = clock
        self._stopped = LazyEvent()
        self._has_synced = False
        self._transform = EntryTransform(
            resource,
            metadata_only=metadata_only,
            transform=scope.transform or default.transform,
        )
        self._indexer = Indexer(clock, synced=self.has_synced)
        streaming = streaming or StreamingSupport()
        runner = runner or OwnThreads(client, threads or Threads.timed_by(clock))
        self._feeds = [
            WatchFeed(
                runner.source,
                watch_scope,
                self._indexer,
                self._transform,
                clock=clock,
                uniform=uniform,
                streaming=streaming,
                report=report,
                runner=runner,
            )
            for watch_scope in watch_scopes(
                resource, scope, default=default, metadata_only=metadata_only
            )
        ]
        scopes = [feed.watch_scope for feed in self._feeds]
        # As nearly always: each look at an object asks.
        self._covers_all = any(
            scope.namespace is None and not scope.others for scope in scopes
        )

    def add_handler(
        self,
        handler: EventHandler,
        *,
        resync_seconds: float = 0.0,
    ) -> Registration:
        """Have a handler called for what is there now (`Added(initial=True)`), before
        this returns, and for every change after.

        handler: runs on the watch's thread, which waits for it: it only notes or
        enqueues.
        resync_seconds: how often to deliver everything to it again, as `Updated` with
        equal versions; 0 is never, and 1 s the least.
        Raises StoppedError once stopped. Rules: IN-6, IN-7, IN-8.
        """
        if self._stopped.is_set():
            raise StoppedError(f"the informer of {self.resource.gvk} has stopped")
        registration = self._indexer.add_handler(handler, resync_seconds)
        if self._stopped.is_set():  # meanwhile, and nobody else would remove it
            registration.remove()
        return registration

    def has_synced(self) -> bool:
        """Whether the first state is in the cache, and handlers have been called."""
        # Once it is so it stays so: each look at an object of another kind asks.
        if not self._has_synced:
            self._has_synced = all(feed.synced for feed in self._feeds)
        return self._has_synced

    def start(self) -> None:
        """Begin to list and watch. Idempotent; any thread. Raises RuntimeError if the
        machine gives no thread; it may be tried again.
        """
        for feed in self._feeds:
            feed.start()

    def stop(self, timeout_seconds: float) -> list[str]:
        """End; names the informer if its thread still runs after the time."""
        self.ask_to_stop()
        return self.join(timeout_seconds)

    def ask_to_stop(self) -> None:
        """Wake the watch threads so that they end; does not wait for them."""
        # First: who adds a handler from here on sees it, and removes the handler again.
        self._stopped.set()
        self._indexer.processor.remove_all()
        for feed in self._feeds:
            feed.reflector.stop()

    def join(self, timeout_seconds: float) -> list[str]:
        """Wait for the threads after `ask_to_stop`; answers as `stop`."""
        deadline = self._clock.monotonic() + timeout_seconds
        ended = [
            feed.join(max(0.0, deadline - self._clock.monotonic()))
            for feed in self._feeds
        ]
        return [] if all(ended) else [f"watch of {self.resource.gvk}"]

    def get(self, key: ObjectKey) -> JsonObject | None:
        """A private copy of an object, never older than our own last write to it."""
        entry = self.entry(key)
        return None if entry is None else entry.load()

    def entry(self, key: ObjectKey) -> Entry | None:
        """The header of an object, as `get`. Raises NotCachedError. Rule: CA-3."""
        self._check_watched(key.namespace)
        return self._indexer.entry(key)

    def keys(self, namespace: str | None = None) -> list[ObjectKey]:
        """Sorted; with objects of ours that the watch has not delivered yet."""
        if namespace is not None:
            self._check_watched(namespace)
        return self._indexer.keys(namespace)

    def list(
        self,
        namespace: str | None = None,
        *,
        labels: Mapping[str, str] | None = None,
        index: tuple[str, str] | None = None,
        limit: int | None = None,
    ) -> Sequence[JsonObject]:
        """Private copies of objects, sorted by key.

        labels: those an object must have. index: a name and a value, as `by_index`;
        KeyError for no such index. Only what is chosen is decoded. Rule: CA-4.
        """
        found: list[JsonObject] = []
        for entry in self._chosen(namespace, index):
            if limit is not None and len(found) >= limit:
                break
            if labels is None or labels.items() <= entry.labels.items():
                found.append(entry.load())
        return found

    def add_index(self, name: str, function: IndexFunction) -> None:
        """Index what is there and all that comes. Rule: IN-11."""
        self._indexer.add_index(name, function)

    def by_index(self, name: str, value: str) -> Sequence[ObjectKey]:
        """The keys that an index gives a value, sorted, our own writes included."""
        return self._indexer.by_index(name, value)

    def record_write(self, obj: JsonObject) -> None:
        """Tell the answer of a write, so that reads are not older than it (D21).

        An object of a namespace that is not watched is none of ours. Selectors are the
        server's to judge: what they leave out shows until the watch has caught up.
        """
        namespace = key_of(obj).namespace
        if not self._watches(namespace):
            return
        # The watch is often the faster one.
        if not self._indexer.is_new(namespace, resource_version(obj)):
            return
        try:
            entry = self._transform.entry_of_copy(obj)
        except BadObjectError as error:  # the write is done; the watch will report it
            _log.info("Not keeping the answer of a write", reason=str(error))
        else:
            self._indexer.record(entry)

    def record_deletion(self, key: ObjectKey, uid: str) -> None:
        """Tell that the server has deleted an object, so that reads miss it (D21)."""
        if self._watches(key.namespace):
            self._indexer.record_deletion(key, uid)

    @property
    def synced_version(self) -> str:
        """The resource version that the cache is the state of, or "" before the first.

        With several watches, the lowest of them. Rule: IN-11.
        """
        return min(
            # The lowest: for what it does not cover yet, a reader has to wait.
            (feed.version for feed in self._feeds),
            key=version_number,
        )

    @property
    def unreadable(self) -> Mapping[ObjectKey, Unreadable]:
        """Objects that the server has and the cache leaves out: it cannot read them."""
        bad = [feed.reading.bad for feed in self._feeds]
        return bad[0] if len(bad) == 1 else dict(ChainMap(*map(dict, bad)))

    def renew(self, since: float) -> int:
        """Open the watches again that have heard nothing since a moment of the clock;
        how many. They go on from where they are: nothing is missed or delivered twice.
        """
        return sum(feed.reflector.renew(since) for feed in self._feeds)

    @property
    def last_error(self) -> str:
        """Why the kind is not in sync, or "" when all is well."""
        errors = (feed.reflector.last_error for feed in self._feeds)
        return next((error for error in errors if error), "")

    @property
    def handler_failures(self) -> int:
        """How many calls of handlers have raised."""
        return self._indexer.processor.failures

    def seconds_since_activity(self) -> float:
        """How long the quietest watch has said nothing, bookmarks included."""
        now = self._clock.monotonic()
        return max(now - feed.reflector.last_activity for feed in self._feeds)

    def _chosen(
        self, namespace: str | None, index: tuple[str, str] | None
    ) -> Iterable[Entry]:
        if index is None:
            keys = self.keys(namespace)
        else:
            keys = self._indexer.by_index(*index)
            if namespace is not None:
                keys = [key for key in keys if key.namespace == namespace]
        entries = (self._indexer.entry(key) for key in keys)
        return (entry for entry in entries if entry is not None)

    def _check_watched(self, namespace: str) -> None:
        if not (self._covers_all or self._watches(namespace)):
            raise NotCachedError(
                f"{self.resource.gvk} is not watched in namespace {namespace!r}"
            )

    def _watches(self, namespace: str) -> bool:
        if self._covers_all:
            return True
        return any(feed.watch_scope.covers(namespace) for feed in self._feeds)
