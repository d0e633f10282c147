"""The informer of one kind: its watches, reads from the cache, and event handlers.

Reads never wait, and never return a state older than this process's own writes. Rules:
IN-1 - IN-12, CA-2 - CA-5, D21, TH-3.
"""

import random
import threading
from collections import ChainMap
from collections.abc import Callable, Iterable, Mapping, Sequence

from asoreconcile.base.clock import Clock
from asoreconcile.base.errors import (
    AsoreconcileError,
    StoppedError,
    check_is,
    check_number,
    check_seconds,
)
from asoreconcile.base.log import Logger
from asoreconcile.base.objects import (
    JsonObject,
    ObjectKey,
    key_of,
    resource_version,
    version_number,
)
from asoreconcile.base.signatures import check_takes
from asoreconcile.base.threads import Threads
from asoreconcile.cache.entry import Entry
from asoreconcile.cache.events import EventHandler
from asoreconcile.cache.indexer import Indexer
from asoreconcile.cache.initial_list import InitialList, StreamingSupport
from asoreconcile.cache.processor import Registration
from asoreconcile.cache.reflector import Reflector
from asoreconcile.cache.scope import EVERYTHING, Scope, WatchScope, watch_scopes
from asoreconcile.cache.store import IndexFunction
from asoreconcile.cache.transform import EntryTransform
from asoreconcile.cache.unreadable import (
    BadObjectError,
    EntryReader,
    ReportUnreadable,
    Unreadable,
    unreported,
)
from asoreconcile.cache.watch_runner import SharedThreads
from asoreconcile.cache.watch_workers import WatchTask
from asoreconcile.kube.client import KubeClient
from asoreconcile.kube.label_selector import LabelTest, label_test
from asoreconcile.kube.resources import ApiResource
from asoreconcile.kube.selection import Selection, check_selector


class WatchFeed:
    """One watch of an informer: its reflector, the sink of its events, and its
    runner.
    """

    def __init__(
        self,
        watch_scope: WatchScope,
        indexer: Indexer,
        transform: EntryTransform,
        *,
        clock: Clock,
        uniform: Callable[[float, float], float],
        streaming: StreamingSupport,
        report: ReportUnreadable,
        runner: SharedThreads,
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
            runner.source,
            watch_scope.selection,
            self,
            clock=clock,
            uniform=uniform,
            streaming=streaming,
        )
        self._indexer = indexer
        self._lock = threading.Lock()
        self._task: WatchTask | None = None

    def start(self) -> None:
        """Start to list and watch; idempotent. Any thread. Raises RuntimeError if no
        thread can be started; the call may be repeated.
        """
        with self._lock:
            if self._task is None:
                name = f"watch {self.watch_scope.selection.resource.plural}"
                self._task = self._runner.start(name, self.reflector)

    def join(self, timeout_seconds: float) -> bool:
        """Wait for the end of the watch. Returns whether it has ended or never
        started.
        """
        return self._task is None or self._task.join(timeout_seconds)

    def replace(self, state: InitialList) -> None:
        """Replace the state of the objects that this watch covers; the differences
        become events.
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
        """Record a bookmark: the objects of this watch have no further changes up to
        that version.
        """
        self._indexer.advance(resource_version, self.watch_scope)
        self.version = resource_version


_log = Logger(__name__)


class NotCachedError(AsoreconcileError):
    """The cache does not watch this kind or namespace."""


class Informer:
    """A cached, watched kind. Reads are safe from any thread and never block long."""

    def __init__(
        self,
        client: KubeClient,
        resource: ApiResource,
        scope: Scope = EVERYTHING,
        *,
        clock: Clock,
        metadata_only: bool = False,
        default: Scope = EVERYTHING,
        streaming: StreamingSupport | None = None,
        threads: Threads | None = None,
        runner: SharedThreads | None = None,
        uniform: Callable[[float, float], float] = random.uniform,
        report: ReportUnreadable = unreported,
    ) -> None:
        """scope: objects to cache, by one watch for the whole cluster or one for each
        namespace. If its transform fails, the object is left out. metadata_only:
        whether to leave out spec, status and data. default: scope for everything that
        `scope` leaves open. Rules: CA-2, IN-10. report: function called with each
        object that cannot be read. streaming: knowledge about streamed lists, shared by
        the informers of a server; None expects support.
        threads: starts the threads; share one per process to report threads that died.
        runner: runs the watches on threads shared with other informers, and replaces
        `client` as their source; None starts threads for this informer alone.
        """
        self.resource = resource
        self.report = report
        self._clock = clock
        self._stopped = threading.Event()
        self._has_synced = False
        self._transform = EntryTransform(
            resource,
            metadata_only=metadata_only,
            transform=scope.transform or default.transform,
        )
        scopes = watch_scopes(
            resource, scope, default=default, metadata_only=metadata_only
        )
        namespaces = {one.namespace for one in scopes if one.namespace is not None}
        self._indexer = Indexer(clock, synced=self.has_synced, namespaces=namespaces)
        streaming = streaming or StreamingSupport()
        self._own: SharedThreads | None = None
        if runner is None:
            threads = threads or Threads(clock)
            runner = self._own = SharedThreads(client, clock=clock, threads=threads)
        self._feeds = [
            WatchFeed(
                watch_scope,
                self._indexer,
                self._transform,
                clock=clock,
                uniform=uniform,
                streaming=streaming,
                report=report,
                runner=runner,
            )
            for watch_scope in scopes
        ]
        self._namespaces = namespaces
        self._others = any(scope.namespace is None for scope in scopes)
        # The usual case, on a hot path: every read comes through here.
        self._covers_all = any(
            scope.namespace is None and not scope.others for scope in scopes
        )

    def add_handler(
        self,
        handler: EventHandler,
        *,
        resync_seconds: float = 0.0,
    ) -> Registration:
        """Add an event handler. Before this returns, it is called for the current
        objects (`Added(initial=True)`); after that, for every change.

        handler: runs on the watch's thread, so it must only enqueue.
        resync_seconds: the resync period: every object is delivered again as `Updated`
        with equal versions; 0 is never, and 1 s the least.
        Raises StoppedError once stopped, TypeError if the handler cannot be called with
        an event, and for an invalid time. Rules: IN-6, IN-7, IN-8.
        """
        check_takes(handler, "event", what="handler")
        check_seconds("resync_seconds", resync_seconds)
        if self._stopped.is_set():
            raise StoppedError(f"the informer of {self.resource.gvk} has stopped")
        registration = self._indexer.add_handler(handler, resync_seconds)
        if self._stopped.is_set():  # meanwhile: `stop` did not see this handler
            registration.remove()
        return registration

    @property
    def has_handlers(self) -> bool:
        """Return whether an event handler is registered."""
        return self._indexer.processor.has_handlers

    def has_synced(self) -> bool:
        """Return whether the initial list is in the cache and handlers have been called
        for it.
        """
        # Once true it stays true; reads of objects of other kinds ask often.
        if not self._has_synced:
            self._has_synced = all(feed.synced for feed in self._feeds)
        return self._has_synced

    def start(self) -> None:
        """Start to list and watch. Idempotent; any thread. Raises RuntimeError if no
        thread can be started; the call may be repeated.
        """
        for feed in self._feeds:
            feed.start()

    def stop(self, timeout_seconds: float) -> list[str]:
        """Stop; returns the informer's name if its thread still runs after the
        timeout.
        """
        self.ask_to_stop()
        return self.join(timeout_seconds)

    def ask_to_stop(self) -> None:
        """Wake the watch threads so that they end; does not wait for them."""
        # First: a later `add_handler` sees it, and removes its handler again.
        self._stopped.set()
        self._indexer.processor.remove_all()
        for feed in self._feeds:
            feed.reflector.stop()
        if self._own is not None:
            self._own.stop()

    def join(self, timeout_seconds: float) -> list[str]:
        """Wait for the threads after `ask_to_stop`; returns what `stop` returns."""
        deadline = self._clock.monotonic() + timeout_seconds
        ended = [
            feed.join(max(0.0, deadline - self._clock.monotonic()))
            for feed in self._feeds
        ]
        return [] if all(ended) else [f"watch of {self.resource.gvk}"]

    def get(self, key: ObjectKey) -> JsonObject | None:
        """Return a private copy of an object, never older than this process's last
        write to it.
        """
        entry = self.entry(key)
        return None if entry is None else entry.deep_copy()

    def entry(self, key: ObjectKey) -> Entry | None:
        """Return the cache entry of an object; as new as `get`. Raises NotCachedError.
        Rule: CA-3.
        """
        self._check_watched(key.namespace)
        return self._indexer.entry(key)

    def keys(self, namespace: str | None = None) -> list[ObjectKey]:
        """Return the keys, sorted; including objects we wrote that the watch has not
        delivered yet.
        """
        if namespace:
            self._check_watched(namespace)
        return self._indexer.keys(namespace or None)

    def list(
        self,
        namespace: str | None = None,
        *,
        labels: Mapping[str, str] | None = None,
        label_selector: str = "",
        index: tuple[str, str] | None = None,
        limit: int | None = None,
    ) -> Sequence[JsonObject]:
        """Return private copies of objects, sorted by key.

        labels: labels that an object must have. label_selector: any selector, as the
        server reads it: `app=mine,tier notin (test),!old`; ValueError for a text that
        is not one. index: a name and a value, as in `by_index`; KeyError for an unknown
        index. limit: the most objects, 1 or more. Decodes only the selected objects.
        Rule: CA-4.
        """
        wanted = _label_test(labels, label_selector)
        if limit is not None:
            check_number("limit", limit, least=1)
        found: list[JsonObject] = []
        for entry in self._chosen(namespace, index):
            if limit is not None and len(found) >= limit:
                break
            if wanted is None or wanted(entry.labels):
                found.append(entry.deep_copy())
        return found

    def add_index(self, name: str, function: IndexFunction) -> None:
        """Add an index over present and future objects. Rule: IN-11.

        function: returns the index values of an entry. Raises TypeError if it cannot
        be called with one.
        """
        check_takes(function, "entry", what="function of an Entry", lazy=True)
        self._indexer.add_index(name, function)

    def by_index(self, name: str, value: str) -> Sequence[ObjectKey]:
        """Return the keys with this index value, sorted, including our own writes."""
        return self._indexer.by_index(name, value)

    def record_write(self, obj: JsonObject) -> None:
        """Record the response of a write, so that reads are not older than it (D21).

        Ignores objects in namespaces that are not watched. Only the server evaluates
        selectors: an object they exclude is visible until the watch has caught up.
        """
        namespace = key_of(obj).namespace
        if not self._watches(namespace):
            return
        # The watch is often faster.
        if not self._indexer.mutations.is_new(namespace, resource_version(obj)):
            return
        try:
            entry = self._transform.entry_of_copy(obj)
        except BadObjectError as error:  # the write is done; the watch reports it
            _log.info("Not keeping the answer of a write", reason=str(error))
        else:
            self._indexer.mutations.record(entry)

    def record_deletion(self, key: ObjectKey, uid: str) -> None:
        """Record that the server has deleted an object, so that reads do not return it
        (D21).
        """
        if self._watches(key.namespace):
            self._indexer.mutations.record_deletion(key, uid)

    def is_behind(self, obj: JsonObject) -> bool:
        """Return whether the watch has not delivered this version of an object, nor a
        later change.
        """
        return self._indexer.mutations.is_new(
            key_of(obj).namespace, resource_version(obj)
        )

    @property
    def selections(self) -> Sequence[Selection]:
        """The selections that the watches cover."""
        return [feed.watch_scope.selection for feed in self._feeds]

    @property
    def synced_version(self) -> str:
        """The resource version of the cache's state, or "" before the initial list.

        With several watches it is the lowest of their versions. Rule: IN-11.
        """
        return min(
            # The lowest: a reader must wait for the slowest watch.
            (feed.version for feed in self._feeds),
            key=version_number,
        )

    @property
    def unreadable(self) -> Mapping[ObjectKey, Unreadable]:
        """The objects on the server that the cache leaves out because it cannot read
        them.
        """
        bad = [feed.reading.bad for feed in self._feeds]
        return bad[0] if len(bad) == 1 else dict(ChainMap(*map(dict, bad)))

    def renew(self, since: float) -> int:
        """Reopen the watches that have received nothing since a given time; return
        their number.

        They resume from their version, so that no event is lost or delivered twice.
        """
        return sum(feed.reflector.renew(since) for feed in self._feeds)

    @property
    def last_error(self) -> str:
        """Return why the kind is not in sync, or "" if it is."""
        errors = (feed.reflector.last_error for feed in self._feeds)
        return next((error for error in errors if error), "")

    def seconds_since_activity(self) -> float:
        """Return the longest time, in seconds, for which one of the watches has
        received no event or bookmark.
        """
        now = self._clock.monotonic()
        return max(now - feed.reflector.last_activity for feed in self._feeds)

    def _chosen(
        self, namespace: str | None, index: tuple[str, str] | None
    ) -> Iterable[Entry]:
        if index is None:
            keys = self.keys(namespace)
        else:
            keys = self._indexer.by_index(*index)
            if namespace:
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
        return self._others or namespace in self._namespaces


def _label_test(labels: Mapping[str, str] | None, selector: str) -> LabelTest | None:
    """Return one test for both, or None for all objects."""
    check_selector("label_selector", selector)
    match = label_test(selector) if selector else None
    if labels is None:
        return match
    check_is("labels", labels, Mapping)
    stated = labels.items()
    if match is None:
        return lambda found: stated <= found.items()
    return lambda found: stated <= found.items() and match(found)
