"""The Azure kinds that run: for each an informer, a controller and a reconciler.

Kinds come and go with their CRDs while the process runs; each one's trouble stays its
own. The set is also the view of all Azure objects that reconcilers look owners and
references up in.
"""

import threading
from collections.abc import Iterable, Mapping
from contextlib import suppress

import attrs

from asoreconcile.arm import ids
from asoreconcile.azure import policy
from asoreconcile.azure.annotations import (
    CREDENTIAL_FROM,
    FINALIZER,
    OPERATOR_NAMESPACE,
    RESOURCE_ID,
)
from asoreconcile.azure.export_cache import ROTATE
from asoreconcile.azure.memory import ObjectMemories
from asoreconcile.azure.object_reference import ObjectReference
from asoreconcile.azure.read_set import InFlightReads
from asoreconcile.azure.sync_mode import SYNC_MODE
from asoreconcile.cache.entry import Entry
from asoreconcile.cache.events import Event, Updated
from asoreconcile.cache.informer import Informer
from asoreconcile.catalogue.conversion import KindConversionError
from asoreconcile.catalogue.kinds import KindVersion
from asoreconcile.catalogue.storage_codec import StorageCodec
from asoreconcile.controllers.azure_ids import with_id
from asoreconcile.errors import RetryError
from asoreconcile.kube.resources import ApiResource
from asoreconcile.objects import GroupKind, JsonObject, ObjectKey
from asoreconcile.runtime.controller import Controller
from asoreconcile.runtime.predicates import generation_changed

_NOT_SYNCED_SECONDS = 0.1


@attrs.frozen
class RunningKind:
    """One kind that runs: its version, informer, controller and what its reconciles
    share.
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
        """Let a kind be found from now on, in place of the one that ran before."""
        with self._lock:
            self._running = {**self._running, kind.version.group_kind: kind}

    def remove(self, group_kind: GroupKind) -> RunningKind | None:
        """Let a kind be found no more; returns it, or None if it did not run."""
        with self._lock:
            remaining = dict(self._running)
            removed = remaining.pop(group_kind, None)
            self._running = remaining
        return removed

    def running(self) -> Mapping[GroupKind, RunningKind]:
        """The kinds as of now; the mapping does not change under the caller."""
        return self._running

    def get(self, group_kind: GroupKind, key: ObjectKey) -> JsonObject | None:
        """An object of a running kind, as a private copy.

        Raises RetryError while the kind's cache is filling: nobody may take an object
        that is not listed yet for one that does not exist.
        """
        kind = self._running.get(group_kind)
        if kind is None:
            return None
        if not kind.informer.has_synced():
            raise _not_listed(group_kind)
        obj = kind.informer.get(key)
        # Read at the version that people write, whatever version the cluster keeps it
        # at.
        return None if obj is None else kind.form.read(obj)

    def is_installed(self, group_kind: GroupKind) -> bool:
        """True while the kind runs here, which is what owners of that kind need."""
        return group_kind in self._running

    def served(self, group_kind: GroupKind) -> KindVersion | None:
        """The version that the kind is run at; None if it does not run."""
        kind = self._running.get(group_kind)
        return None if kind is None else kind.version

    def seen(self, group_kind: GroupKind) -> str:
        """The resource version that the cache of a kind has reached, or ""."""
        kind = self._running.get(group_kind)
        return "" if kind is None else kind.informer.synced_version

    def objects_with_arm_id(
        self, arm_id: str
    ) -> Iterable[tuple[KindVersion, JsonObject]]:
        """The objects that may stand for an ARM id, or for the id of something else
        that objects are claimed for (`azure.reconcile_scope.SharedDependencies`).

        Raises RetryError while a kind of the id's type is not listed yet.
        """
        # ARM answers ids in any casing.
        type_ = ids.parse(arm_id).type.lower() if "/" in arm_id else ""
        for group_kind, kind in self._running.items():
            if kind.version.arm_type.lower() != type_:
                continue
            if not kind.informer.has_synced():
                raise _not_listed(group_kind)
            for key in with_id(kind.informer, arm_id):
                entry = kind.informer.entry(key)
                if entry is not None:
                    with suppress(KindConversionError):  # its own reconcile says so
                        obj = kind.form.read(entry.load())
                        yield kind.form.version(obj), obj

    def entry(self, node: ObjectReference) -> Entry | None:
        """What is cached of an object now."""
        kind = self._running.get(node.group_kind)
        return None if kind is None else kind.informer.entry(node.key)

    def entries_in(self, namespace: str) -> Mapping[ObjectReference, Entry]:
        """All cached objects of all running kinds in a namespace. Takes no lock."""
        found: dict[ObjectReference, Entry] = {}
        for group_kind, kind in self._running.items():
            for key in kind.informer.keys(namespace):
                entry = kind.informer.entry(key)
                if entry is not None:
                    found[ObjectReference(group_kind, key)] = entry
        return found

    def wake(
        self, node: ObjectReference, changed: ObjectReference, version: str
    ) -> None:
        """Have an object reconciled, if its kind runs, because something it names is at
        another version now, or with "" is gone.
        """
        kind = self._running.get(node.group_kind)
        if kind is not None:
            kind.in_flight_reads.changed(node.key, changed, version)


def _not_listed(group_kind: GroupKind) -> RetryError:
    return RetryError(
        f"objects of {group_kind} are not listed yet",
        after_seconds=_NOT_SYNCED_SECONDS,
    )


def resource_of(version: KindVersion) -> ApiResource:
    """Where the API server has objects of a kind as they are kept."""
    return ApiResource(
        group=version.gvk.group,
        version=version.kept_as or version.gvk.version,
        plural=version.plural,
        kind=version.gvk.kind,
    )


def controller_name(version: KindVersion) -> str:
    """ASO's registered name, the label on its metrics: `resources_resourcegroup`."""
    group = version.gvk.group.removesuffix(".azure.com").replace(".", "")
    return f"{group}_{version.gvk.kind.lower()}"


# Annotations that people write, and of which every change is to be acted on.
_INSTRUCTIONS = (CREDENTIAL_FROM, ROTATE, SYNC_MODE)


def needs_reconcile(event: Event) -> bool:
    """Whether a change of an object is a reason to reconcile it. Pure; reads headers.

    Its creation and end are; an update is when the spec changed, the policy changed so
    that it matters now, another annotation that says what to do changed (credential,
    sync mode, rotation of exported keys), or somebody took away what makes the object
    ours or gave it to another operator. Rule: R6.1.
    """
    if not isinstance(event, Updated):
        return True
    old, new = event.old, event.new
    if generation_changed(event) or old.uid != new.uid:
        return True
    if not new.has_annotations_of(old):
        before, after = old.annotations, new.annotations
        if (
            policy.concerns(before, after, deleting=new.deleting)
            or any(before.get(name) != after.get(name) for name in _INSTRUCTIONS)
            or _changed_hands(before, after)
        ):
            return True
    return _is_stripped(old, new)


def _is_stripped(old: Entry, new: Entry) -> bool:
    """Whether a replace or a careless pruner took our marks: until they are back, a
    deletion would leave the resource behind.
    """
    if FINALIZER in old.finalizers and FINALIZER not in new.finalizers:
        return not new.deleting
    if new.has_annotations_of(old):
        return False
    before, after = old.annotations, new.annotations
    return any(
        name in before and name not in after
        for name in (OPERATOR_NAMESPACE, RESOURCE_ID)
    )


def _changed_hands(old: Mapping[str, str], new: Mapping[str, str]) -> bool:
    """Whether somebody gave it from one operator to another: nothing else would have
    the new one look at it.
    """
    before, after = old.get(OPERATOR_NAMESPACE), new.get(OPERATOR_NAMESPACE)
    return bool(before) and bool(after) and before != after
