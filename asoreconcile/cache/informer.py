"""One kind in the cache: its reflector, its store, and handlers that hear of changes.

The store changes first, then handlers are called, in the order of the stream, on the
watch thread: they must only note or enqueue. What one raises is logged and goes no
further. Rules: IN-1 - IN-11, TH-3.
"""

import random
import threading
from collections.abc import Callable, Iterable, Sequence

import attrs

from asoreconcile.cache.entry import Entry
from asoreconcile.cache.events import Added, Deleted, Event, EventHandler, Updated
from asoreconcile.cache.overlay import Overlay
from asoreconcile.cache.reflector import Reflector, Source
from asoreconcile.cache.store import IndexFunction, Store
from asoreconcile.clock import Clock
from asoreconcile.kube.resources import ApiResource
from asoreconcile.log import Logger
from asoreconcile.objects import JsonObject, ObjectKey, metadata

_log = Logger(__name__)

_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
_WHOLE_CLUSTER: tuple[str | None, ...] = (None,)


@attrs.define(eq=False)
class Registration:
    """One handler's place at an informer (`runtime.source.Registration`)."""

    handler: EventHandler
    _informer: "Informer"
    active: bool = True

    def has_synced(self) -> bool:
        """Whether the handler has returned from every event of the first list."""
        return self._informer.has_synced()

    def remove(self) -> None:
        """Deliver nothing more."""
        self.active = False


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
        uniform: Callable[[float, float], float] = random.uniform,
    ) -> None:
        """metadata_only: objects without spec, status or data.
        namespaces: None watches the whole cluster; else one watch a namespace.
        """
        self.resource = resource
        self._clock = clock
        self._store = Store()
        self._overlay = Overlay()
        self._lock = threading.RLock()
        self._registrations: list[Registration] = []
        self._parts = [
            _Part(self, namespace) for namespace in namespaces or _WHOLE_CLUSTER
        ]
        for part in self._parts:
            part.reflector = Reflector(
                client,
                resource,
                part,
                clock=clock,
                uniform=uniform,
                namespace=part.namespace,
                label_selector=label_selector,
                metadata_only=metadata_only,
            )

    def add_handler(self, handler: EventHandler) -> Registration:
        """Have a handler called for what is there now (`Added(initial=True)`), before
        this returns, and for every change after. Rule: IN-7.
        """
        registration = Registration(handler, self)
        with self._lock:
            for key in self._store.keys(None):
                entry = self._store.get(key)
                if entry is not None:
                    _call(registration, Added(entry, initial=True))
            self._registrations = [*self._registrations, registration]
        return registration

    def has_synced(self) -> bool:
        """Whether the first list is in the cache, and handlers have heard of it."""
        return all(part.synced for part in self._parts)

    def start(self) -> None:
        """Begin to list and watch, on a thread of its own. Idempotent."""
        for part in self._parts:
            part.start()

    def stop(self, timeout_seconds: float) -> list[str]:
        """End; names the informer if its thread still runs after the time."""
        self.ask_to_stop()
        return self.join(timeout_seconds)

    def ask_to_stop(self) -> None:
        """Wake the watch threads so that they end; does not wait for them."""
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
        """The header of an object, as `get`."""
        return self._overlay.newest(key, self._store.get(key))

    def keys(self, namespace: str | None = None) -> list[ObjectKey]:
        return self._store.keys(namespace)

    def list(self, namespace: str | None = None) -> list[JsonObject]:
        """Private copies of all objects, sorted by key."""
        found = (self.get(key) for key in self.keys(namespace))
        return [obj for obj in found if obj is not None]

    def add_index(self, name: str, function: IndexFunction) -> None:
        self._store.add_index(name, function)

    def by_index(self, name: str, value: str) -> Sequence[ObjectKey]:
        return self._store.by_index(name, value)

    def record_write(self, obj: JsonObject) -> None:
        """Tell the answer of a write, so that reads are not older than it (D21)."""
        entry = _entry(obj)
        self._overlay.record(entry, stored=self._store.get(entry.key))

    @property
    def last_error(self) -> str:
        """Why the kind is not in sync, or "" when all is well."""
        return next((p.reflector.last_error for p in self._parts), "")

    def seconds_since_activity(self) -> float:
        """How long the quietest watch has said nothing, bookmarks included."""
        now = self._clock.monotonic()
        return max(now - part.reflector.last_activity for part in self._parts)

    def take(self, type_: str, obj: JsonObject) -> None:
        """One event of a watch."""
        entry = _entry(obj)
        with self._lock:
            if type_ == "DELETED":
                self._remove(entry.key, entry, observed=True)
            else:
                self._put(entry, initial=False)

    def replace(self, entries: Iterable[Entry], version: str, *, part: "_Part") -> None:
        """A list: deletions first, then what came or changed (IN-1, IN-4)."""
        with self._lock:
            present = {entry.key: entry for entry in entries}
            for key in self._store.keys(part.namespace):
                if key not in present:
                    self._remove(key, None, observed=False)
            for entry in present.values():
                self._put(entry, initial=not part.synced)
            self._overlay.passed(version)
            part.synced = True

    def passed(self, version: str) -> None:
        self._overlay.passed(version)

    def _put(self, entry: Entry, *, initial: bool) -> None:
        """Caller holds the lock."""
        self._overlay.observed(entry)
        old = self._store.put(entry)
        if old is None:
            self._tell(Added(entry, initial=initial))
        elif old.uid != entry.uid:
            # Deleted and made anew while nobody looked.
            self._tell(Deleted(old, observed=False))
            self._tell(Added(entry, initial=initial))
        else:
            self._tell(Updated(old, entry))

    def _remove(self, key: ObjectKey, final: Entry | None, *, observed: bool) -> None:
        """Caller holds the lock."""
        old = self._store.remove(key)
        last = final or old
        if last is not None:
            self._overlay.deleted(last)
        if old is not None:
            self._tell(Deleted(last or old, observed=observed))

    def _tell(self, event: Event) -> None:
        for registration in self._registrations:
            _call(registration, event)


class _Part:
    """One namespace's share of an informer, or the whole cluster's."""

    reflector: Reflector

    def __init__(self, informer: Informer, namespace: str | None) -> None:
        self.namespace = namespace
        self.synced = False
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

    def entry(self, obj: JsonObject) -> Entry:
        return _entry(obj)

    def replace(self, entries: Sequence[Entry], resource_version: str) -> None:
        self._informer.replace(entries, resource_version, part=self)

    def apply(self, type: str, obj: JsonObject) -> None:  # noqa: A002 - see Sink
        self._informer.take(type, obj)

    def passed(self, resource_version: str) -> None:
        self._informer.passed(resource_version)


def _call(registration: Registration, event: Event) -> None:
    if not registration.active:
        return
    try:
        registration.handler(event)
    except Exception:  # noqa: BLE001 - one handler must not end the watch of all
        _log.exception("Event handler failed", object=str(event.key))


def _entry(obj: JsonObject) -> Entry:
    """An object as cached: without what nobody reads from a cache.

    Changes the metadata of `obj`, which nobody else holds.
    """
    meta = metadata(obj)
    meta.pop("managedFields", None)
    notes = meta.get("annotations")
    if notes and _LAST_APPLIED in notes:
        del notes[_LAST_APPLIED]
    return Entry(obj)
