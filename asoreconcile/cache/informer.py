"""One kind in the cache: its reflectors, its store, and handlers that hear of changes.

The store changes first, then handlers are called, in the order of the stream, on the
watch thread. Reads never wait, and are never older than our own writes. Rules: IN-1 -
IN-12, CA-2 - CA-5, D21, TH-3.
"""

import random
import threading
from collections.abc import Callable, Sequence

from asoreconcile.cache.delivery import Delivery, Registration
from asoreconcile.cache.entry import Entry
from asoreconcile.cache.events import Added, Deleted, EventHandler, Updated
from asoreconcile.cache.overlay import Overlay
from asoreconcile.cache.reflector import Reflector
from asoreconcile.cache.shaping import Shape, Transform
from asoreconcile.cache.source import Selection, Source
from asoreconcile.cache.state import State, StreamingSupport
from asoreconcile.cache.store import IndexFunction, Store
from asoreconcile.clock import Clock
from asoreconcile.errors import AsoError, StoppedError
from asoreconcile.kube.resources import ApiResource
from asoreconcile.objects import JsonObject, ObjectKey, copy_json


class NotCachedError(AsoError):
    """The informer does not watch that namespace: it cannot say what is there."""


class Informer:
    """A cached, watched kind. Reads are safe from any thread and never block long."""

    def __init__(
        self,
        client: Source,
        resource: ApiResource,
        *,
        clock: Clock,
        metadata_only: bool = False,
        namespaces: Sequence[str] | None = None,
        label_selector: str = "",
        field_selector: str = "",
        transform: Transform | None = None,
        streaming: StreamingSupport | None = None,
        uniform: Callable[[float, float], float] = random.uniform,
    ) -> None:
        """metadata_only: objects without spec, status or data.
        namespaces: None watches the whole cluster; else one watch a namespace.
        transform: what is kept of an object; must not fail (IN-10).
        streaming: shared by the informers of a server; None expects support.
        """
        self.resource = resource
        self._clock = clock
        self._namespaces = None if namespaces is None else frozenset(namespaces)
        self._store = Store()
        self._overlay = Overlay()
        self._shape = Shape(resource, metadata_only=metadata_only, transform=transform)
        self._lock = threading.RLock()
        self._delivery = Delivery(clock, synced=self.has_synced)
        self._stopped = False
        streaming = streaming or StreamingSupport()
        self._parts = []
        for namespace in _parts(namespaces):
            selection = Selection(
                resource, namespace, label_selector, field_selector, metadata_only
            )
            part = _Part(self, namespace, self._shape)
            part.reflector = Reflector(
                client,
                selection,
                part,
                clock=clock,
                uniform=uniform,
                streaming=streaming,
            )
            self._parts.append(part)

    def add_handler(
        self, handler: EventHandler, *, resync_seconds: float = 0.0
    ) -> Registration:
        """Have a handler called for what is there now (`Added(initial=True)`), before
        this returns, and for every change after.

        resync_seconds: how often to tell it everything again, as `Updated` with equal
        versions; 0 is never, and 1 s the least. Raises StoppedError once stopped.
        Rules: IN-7, IN-8.
        """
        with self._lock:
            if self._stopped:
                raise StoppedError(f"the informer of {self.resource.gvk} has stopped")
            return self._delivery.introduce(
                handler,
                self._stored(),
                resync=self._resync,
                resync_seconds=resync_seconds,
            )

    def has_synced(self) -> bool:
        """Whether the first list is in the cache, and handlers have heard of it."""
        return all(part.synced for part in self._parts)

    def start(self) -> None:
        """Begin to list and watch, on threads of its own. Idempotent."""
        for part in self._parts:
            part.start()

    def stop(self, timeout_seconds: float) -> list[str]:
        """End; names the informer if its thread still runs after the time."""
        self.ask_to_stop()
        return self.join(timeout_seconds)

    def ask_to_stop(self) -> None:
        """Wake the watch threads so that they end; does not wait for them."""
        self._stopped = True
        self._delivery.remove_all()
        for part in self._parts:
            part.reflector.stop()

    def join(self, timeout_seconds: float) -> list[str]:
        deadline = self._clock.monotonic() + timeout_seconds
        running = False
        for part in self._parts:
            left = max(0.0, deadline - self._clock.monotonic())
            running = not part.join(left) or running
        return [f"watch of {self.resource.gvk}"] if running else []

    def get(self, key: ObjectKey) -> JsonObject | None:
        """A private copy of an object, never older than our own last write to it."""
        entry = self.entry(key)
        return None if entry is None else entry.load()

    def entry(self, key: ObjectKey) -> Entry | None:
        """The header of an object, as `get`. Raises NotCachedError. Rule: CA-3."""
        self._check_watched(key.namespace)
        return self._overlay.newest(key, self._store.get(key))

    def keys(self, namespace: str | None = None) -> list[ObjectKey]:
        """Sorted; with objects of ours that the watch has not delivered yet."""
        if namespace is not None:
            self._check_watched(namespace)
        found = self._store.keys(namespace)
        added = {
            entry.key
            for entry in self._overlay.entries()
            if namespace is None or entry.key.namespace == namespace
        }
        return sorted({*found, *added}) if added else found

    def list(self, namespace: str | None = None) -> list[JsonObject]:
        """Private copies of all objects, sorted by key."""
        found = (self.get(key) for key in self.keys(namespace))
        return [obj for obj in found if obj is not None]

    def add_index(self, name: str, function: IndexFunction) -> None:
        self._store.add_index(name, function)

    def by_index(self, name: str, value: str) -> Sequence[ObjectKey]:
        """The keys that an index gives a value, sorted, our own writes included."""
        found = self._store.by_index(name, value)
        written = self._overlay.entries()
        if not written:
            return found
        keys = set(found)
        for answer in written:
            newest = self._overlay.newest(answer.key, self._store.get(answer.key))
            if newest is answer:
                given = self._store.values_of(name, answer)
                (keys.add if value in given else keys.discard)(answer.key)
        return sorted(keys)

    def record_write(self, obj: JsonObject) -> None:
        """Tell the answer of a write, so that reads are not older than it (D21)."""
        self._overlay.record(self._shape.entry(copy_json(obj)))

    @property
    def last_error(self) -> str:
        """Why the kind is not in sync, or "" when all is well."""
        errors = (part.reflector.last_error for part in self._parts)
        return next((error for error in errors if error), "")

    @property
    def handler_failures(self) -> int:
        """How many calls of handlers have raised."""
        return self._delivery.failures

    def seconds_since_activity(self) -> float:
        """How long the quietest watch has said nothing, bookmarks included."""
        now = self._clock.monotonic()
        return max(now - part.reflector.last_activity for part in self._parts)

    def take(self, type_: str, entry: Entry, *, namespace: str | None = None) -> None:
        """One event of a watch (of a namespace)."""
        with self._lock:
            old = (
                self._store.remove(entry.key)
                if type_ == "DELETED"
                else self._store.put(entry)
            )
            self._overlay.passed(entry.resource_version, namespace=namespace)
            if type_ != "DELETED":
                self._tell_put(old, entry, initial=False)
            elif old is not None:
                self._delivery.tell(Deleted(entry))

    def replace(self, state: State, *, part: "_Part") -> None:
        """The whole state: deletions first, then what came or changed (IN-1, IN-4)."""
        with self._lock:
            gone, put = self._store.replace(state.entries, part.namespace)
            self._overlay.passed(state.version, namespace=part.namespace)
            for last in gone:
                self._delivery.tell(Deleted(last, observed=False))
            for old, entry in put:
                self._tell_put(old, entry, initial=not part.synced)
            part.synced = True

    def passed(self, version: str, *, namespace: str | None) -> None:
        """A bookmark."""
        self._overlay.passed(version, namespace=namespace)

    def _tell_put(self, old: Entry | None, entry: Entry, *, initial: bool) -> None:
        """Caller holds the lock."""
        if old is None:
            self._delivery.tell(Added(entry, initial=initial))
        elif old.uid != entry.uid:
            # Deleted and made anew while nobody looked.
            self._delivery.tell(Deleted(old, observed=False))
            self._delivery.tell(Added(entry, initial=initial))
        elif not old.resource_version or old.resource_version != entry.resource_version:
            self._delivery.tell(Updated(old, entry))

    def _resync(self, registration: Registration) -> None:
        with self._lock:
            self._delivery.tell_again(registration, self._stored())

    def _stored(self) -> Sequence[Entry]:
        return self._store.entries()

    def _check_watched(self, namespace: str) -> None:
        if self._namespaces is not None and namespace not in self._namespaces:
            raise NotCachedError(
                f"{self.resource.gvk} is not watched in namespace {namespace!r}"
            )


class _Part:
    """One namespace's share of an informer, or the whole cluster's."""

    reflector: Reflector

    def __init__(self, informer: Informer, namespace: str | None, shape: Shape) -> None:
        self.namespace = namespace
        self.synced = False
        self.entry = shape.entry
        self._informer = informer
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(
                target=self.reflector.run,
                name=f"watch {self._informer.resource.plural}",
                daemon=True,
            )
            self._thread.start()

    def join(self, timeout_seconds: float) -> bool:
        if self._thread is None:
            return True
        self._thread.join(timeout_seconds)
        return not self._thread.is_alive()

    def replace(self, state: State) -> None:
        self._informer.replace(state, part=self)

    def apply(self, type: str, obj: JsonObject) -> None:  # noqa: A002 - see Sink
        self._informer.take(type, self.entry(obj), namespace=self.namespace)

    def passed(self, resource_version: str) -> None:
        self._informer.passed(resource_version, namespace=self.namespace)


def _parts(namespaces: Sequence[str] | None) -> Sequence[str | None]:
    if namespaces is None:
        return (None,)
    if not namespaces:
        raise ValueError("no namespaces to watch: None watches the whole cluster")
    return tuple(dict.fromkeys(namespaces))
