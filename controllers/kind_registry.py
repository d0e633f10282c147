"""The running Azure kinds, each with an informer, a controller and a reconciler.

Kinds come and go with their CRDs while the process runs; a failure of one does not
affect the others. The registry is also the reconcilers' view of all Azure objects, for
owners and references.
"""

import threading
from collections.abc import Iterable, Iterator, Mapping

import attrs

from asoreconcile.azure.arm import ids
from asoreconcile.azure.catalogue.conversion import KindConversionError
from asoreconcile.azure.catalogue.kinds import KindVersion
from asoreconcile.azure.catalogue.names import azure_name
from asoreconcile.azure.catalogue.storage_codec import StorageCodec, as_far_as_readable
from asoreconcile.azure.controllers.settings import RateLimit
from asoreconcile.azure.reconcile.model import annotation_table
from asoreconcile.azure.reconcile.model.annotation_bounds import bounded, too_long
from asoreconcile.azure.reconcile.model.annotations import (
    CLAIM,
    FINALIZER,
    OPERATOR_NAMESPACE,
    RESOURCE_ID,
)
from asoreconcile.azure.reconcile.model.object_reference import ObjectReference
from asoreconcile.azure.reconcile.model.standing import may_move, stated_ids
from asoreconcile.azure.reconcile.state.memory import ObjectMemories
from asoreconcile.azure.reconcile.state.read_set import InFlightReads, Waits, always
from asoreconcile.base.backoff import ItemExponential, RateLimiter
from asoreconcile.base.clock import Clock
from asoreconcile.base.errors import RetryError
from asoreconcile.base.objects import GroupKind, JsonObject, ObjectKey
from asoreconcile.cache.entry import Entry
from asoreconcile.cache.events import Event, Updated
from asoreconcile.cache.informer import Informer
from asoreconcile.kube.resources import ApiResource
from asoreconcile.runtime.controller import Controller
from asoreconcile.runtime.predicates import generation_changed
from asoreconcile.runtime.worker import Throttle

_INDEX = "azure-id"


def index_azure_ids(informer: Informer, form: StorageCodec) -> None:
    """Add an index by Azure id to a kind's cache."""

    def values(entry: Entry) -> Iterable[str]:
        own = bounded(entry.annotations)
        found = stated_ids(own)
        # The spec may name another resource while Azure has accepted no PUT.
        if found and not may_move(own):
            return found
        try:
            obj = form.read(entry.shared_view())
        except KindConversionError:
            return found  # its own reconcile reports the error
        version = form.version(obj)
        name = azure_name(version, obj) if version.is_arm else ""
        return {*found, _unclaimed(name)} if name else found

    informer.add_index(_INDEX, values)


def with_id(informer: Informer, arm_id: str) -> set[ObjectKey]:
    """Return the objects claimed for an id, and those with its name that may still
    claim it.
    """
    name = arm_id.rpartition("/")[2]
    found = informer.by_index(_INDEX, ids.key(arm_id))
    return {*found, *informer.by_index(_INDEX, _unclaimed(name))}


def _unclaimed(name: str) -> str:
    return f"unclaimed {name.lower()}"


# ASO's limiter.
_BASE_SECONDS, _MAX_SECONDS = 1.0, 60.0


def failure_limiter(clock: Clock) -> RateLimiter:
    """Return the limiter of one controller, for reconciles that failed before they
    could write a condition (R4.1).
    """
    return ItemExponential(_BASE_SECONDS, _MAX_SECONDS, clock=clock)


def throttle_for(limit: RateLimit | None, clock: Clock) -> Throttle | None:
    """Return the throttle of all reconciles of the process; None does not limit. Rule:
    D8.
    """
    if limit is None:
        return None
    return Throttle(limit.qps, limit.bucket_size, clock=clock)


_NOT_SYNCED_SECONDS = 0.1


@attrs.frozen
class RunningKind:
    """One running kind: its version, informer, controller and the state of its
    reconciles.
    """

    version: KindVersion
    informer: Informer
    controller: Controller
    form: StorageCodec
    in_flight_reads: InFlightReads
    memories: ObjectMemories


class KindRegistry:
    """The running kinds. Safe from any thread; reads take no lock."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: Mapping[GroupKind, RunningKind] = {}

    def add(self, kind: RunningKind) -> None:
        """Add a kind, replacing the one that ran before."""
        with self._lock:
            self._running = {**self._running, kind.version.group_kind: kind}

    def remove(self, group_kind: GroupKind) -> RunningKind | None:
        """Remove a kind; return it, or None if it did not run."""
        with self._lock:
            remaining = dict(self._running)
            removed = remaining.pop(group_kind, None)
            self._running = remaining
        return removed

    def running(self) -> Mapping[GroupKind, RunningKind]:
        """Return the running kinds; the mapping does not change later."""
        return self._running

    def get(self, group_kind: GroupKind, key: ObjectKey) -> JsonObject | None:
        """Return an object of a running kind, as a private copy.

        Raises RetryError while the kind's cache is filling: an object that is not
        listed yet must not count as absent.
        """
        kind = self._running.get(group_kind)
        if kind is None:
            return None
        if not kind.informer.has_synced():
            raise not_listed(group_kind)
        obj = kind.informer.get(key)
        # Read at the version that people write, whatever version the cluster keeps it
        # at.
        return None if obj is None else kind.form.read(obj)

    def is_installed(self, group_kind: GroupKind) -> bool:
        """Return whether the kind runs here."""
        return group_kind in self._running

    def served(self, group_kind: GroupKind) -> KindVersion | None:
        """Return the version at which the kind runs; None if it does not run."""
        kind = self._running.get(group_kind)
        return None if kind is None else kind.version

    def seen(self, group_kind: GroupKind) -> str:
        """Return the resource version that the cache of a kind has reached, or ""."""
        kind = self._running.get(group_kind)
        return "" if kind is None else kind.informer.synced_version

    def objects_with_arm_id(
        self, arm_id: str
    ) -> Iterable[tuple[KindVersion, JsonObject]]:
        """Return the objects that may represent an ARM id, or an id outside ARM
        (`SharedDependencies`).

        Raises RetryError while a kind of the id's type is not listed yet.
        """
        # ARM answers ids in any casing.
        type_ = ids.parse(arm_id).type.lower() if "/" in arm_id else ""
        for group_kind, kind in self._running.items():
            if kind.version.arm_type.lower() != type_:
                continue
            if not kind.informer.has_synced():
                raise not_listed(group_kind)
            yield from _objects(kind, with_id(kind.informer, arm_id))

    def objects_of(
        self, group_kind: GroupKind
    ) -> Iterable[tuple[KindVersion, JsonObject]]:
        """Return the objects of a kind, each with its version; none if the kind does
        not run.

        Raises RetryError while the kind is not listed yet.
        """
        kind = self._running.get(group_kind)
        if kind is None:
            return
        if not kind.informer.has_synced():
            raise not_listed(group_kind)
        yield from _objects(kind, kind.informer.keys(None))

    def entry(self, node: ObjectReference) -> Entry | None:
        """Return the cached entry of an object."""
        kind = self._running.get(node.group_kind)
        return None if kind is None else kind.informer.entry(node.key)

    def entries_in(self, namespace: str | None) -> Mapping[ObjectReference, Entry]:
        """Return all cached objects of all running kinds.

        namespace: the namespace of the objects; None for all. Takes no lock.
        """
        found: dict[ObjectReference, Entry] = {}
        for group_kind, kind in self._running.items():
            for key in kind.informer.keys(namespace):
                entry = kind.informer.entry(key)
                if entry is not None:
                    found[ObjectReference(group_kind, key)] = entry
        return found

    def wake(
        self,
        node: ObjectReference,
        changed: ObjectReference,
        version: str,
        waits: Waits = always,
    ) -> None:
        """Queue a reconcile of an object, if its kind runs, because a target that it
        names has a new version, or with "" was deleted. waits: argument of
        `InFlightReads.changed`.
        """
        kind = self._running.get(node.group_kind)
        if kind is not None:
            kind.in_flight_reads.changed(node.key, changed, version, waits)


def _objects(
    kind: RunningKind, keys: Iterable[ObjectKey]
) -> Iterator[tuple[KindVersion, JsonObject]]:
    for key in keys:
        entry = kind.informer.entry(key)
        if entry is not None:
            yield as_far_as_readable(kind.form, kind.version, entry.deep_copy())


def not_listed(group_kind: GroupKind) -> RetryError:
    return RetryError(
        f"objects of {group_kind} are not listed yet",
        after_seconds=_NOT_SYNCED_SECONDS,
    )


def resource_of(version: KindVersion) -> ApiResource:
    """Return the API resource of a kind's stored objects."""
    return ApiResource(
        group=version.gvk.group,
        version=version.kept_as or version.gvk.version,
        plural=version.plural,
        kind=version.gvk.kind,
    )


def controller_name(version: KindVersion) -> str:
    """Return the name under which ASO registers the kind's controller, which metrics
    have as a label: `resources_resourcegroup`.
    """
    group = version.gvk.group.removesuffix(".azure.com").replace(".", "")
    return f"{group}_{version.gvk.kind.lower()}"


def needs_reconcile(event: Event) -> bool:
    """Return whether a change of an object is a reason to reconcile it. Pure; reads
    headers.

    Creations and deletions are reasons. An update is a reason if the spec changed, an
    annotation that people write changed with an effect (`annotation_table`), the
    operator's claim was removed, or the object was assigned to another operator.
    Rule: R6.1.
    """
    if not isinstance(event, Updated):
        return True
    old, new = event.old, event.new
    if generation_changed(event) or old.uid != new.uid:
        return True
    if not new.has_annotations_of(old):
        before, after = (bounded(one.annotations) for one in (old, new))
        if (
            annotation_table.needs_reconcile(before, after, deleting=new.deleting)
            or _changed_hands(before, after)
            # A record that was too long holds the object until it is mended.
            or too_long(before) != too_long(after)
        ):
            return True
    return _is_stripped(old, new)


def _is_stripped(old: Entry, new: Entry) -> bool:
    """Return whether another client has removed the operator's finalizer or
    annotations, as a replace does.

    Until they are restored, a deletion would leave the resource behind.
    """
    if FINALIZER in old.finalizers and FINALIZER not in new.finalizers:
        return not new.deleting
    if new.has_annotations_of(old):
        return False
    before, after = old.annotations, new.annotations
    return any(
        name in before and name not in after
        for name in (OPERATOR_NAMESPACE, RESOURCE_ID, CLAIM)
    )


def _changed_hands(old: Mapping[str, str], new: Mapping[str, str]) -> bool:
    """Return whether the object was assigned to another operator.

    No other change would cause a reconcile by that operator.
    """
    before, after = old.get(OPERATOR_NAMESPACE), new.get(OPERATOR_NAMESPACE)
    return bool(before) and bool(after) and before != after
