"""Map a change of one object to reconciles of the objects that depend on it (D13).

An object that waits for its owner, a reference, a Secret or a ConfigMap is queued as
soon as that changes; its back-off is only a safety net. Runs on watch threads: short,
never blocking. To wake an object means to queue a reconcile of it.
"""

from functools import partial

import attrs

from asoreconcile.azure.arm import ids
from asoreconcile.azure.catalogue.conversion import KindConversionError
from asoreconcile.azure.catalogue.storage_codec import StorageCodec
from asoreconcile.azure.controllers.kind_registry import KindRegistry
from asoreconcile.azure.reconcile.model import annotation_table
from asoreconcile.azure.reconcile.model.annotation_bounds import bounded
from asoreconcile.azure.reconcile.model.annotations import (
    CLAIM,
    POLLER_TOKEN,
    RESOURCE_ID,
)
from asoreconcile.azure.reconcile.model.conditions import (
    EXPORT_REFUSED,
    find_ready,
    is_ready,
)
from asoreconcile.azure.reconcile.model.object_reference import ObjectReference
from asoreconcile.azure.reconcile.model.standing import says_accepted
from asoreconcile.azure.reconcile.state.dependency_index import (
    DependencyIndex,
    Relation,
    targets_of,
)
from asoreconcile.azure.reconcile.state.export_cache import EXPORTED
from asoreconcile.azure.reconcile.state.exported_objects import ExportedObjects
from asoreconcile.azure.reconcile.state.read_set import Waits, always
from asoreconcile.azure.reconcile.state.waiting import Waiting
from asoreconcile.base.log import Logger
from asoreconcile.base.objects import GroupKind
from asoreconcile.cache.entry import Entry
from asoreconcile.cache.events import Added, Deleted, Event, Updated
from asoreconcile.kube.resources import CONFIG_MAPS, NAMESPACES, SECRETS
from asoreconcile.runtime.application import Application

_log = Logger(__name__)

_NAMESPACE = GroupKind("", "Namespace")


@attrs.frozen(eq=False)
class EventMapping:
    """Event handlers that update the dependency index and wake dependents.

    waiting: objects that wait for another one with the same Azure id.
    exported: versions of exported objects.
    """

    _kinds: KindRegistry
    _dependents: DependencyIndex
    _waiting: Waiting
    _exported: ExportedObjects = attrs.field(factory=ExportedObjects)

    def setup_with(self, app: Application) -> None:
        """Register for watch events of Namespaces, Secrets and ConfigMaps.
        `KindBuilder` registers it for the objects of each kind.
        """
        # Metadata only: no cache of the process holds the data of a Secret. The
        # reconcile that needs it reads it.
        namespaces = app.informer(NAMESPACES, metadata_only=True)
        namespaces.add_handler(self.on_namespace)
        for resource in (SECRETS, CONFIG_MAPS):
            on_event = partial(self.on_secret_or_config_map, resource.group_kind)
            app.informer(resource, metadata_only=True).add_handler(on_event)

    def on_azure_object(self, form: StorageCodec, event: Event) -> None:
        """Handle a change of an Azure object: index its references, and wake its
        dependents.
        """
        node = ObjectReference(form.group_kind, event.key)
        if self._waiting.behind(node) and _may_let_go(event):
            self._wake_younger(node, _version_now(event))
        match event:
            case Added(entry=entry, initial=initial):
                self._index(form, node, entry)
                # At the start every object is reconciled anyway.
                is_id = not initial and RESOURCE_ID in entry.annotations
                self._wake_waiting(node, entry, _News(is_ready=True, is_id=is_id))
            case Updated(old=old, new=new):
                if (
                    old.generation != new.generation
                    or old.uid != new.uid
                    or old.annotations.get(EXPORTED) != new.annotations.get(EXPORTED)
                ):
                    self._index(form, node, new)
                if not new.has_annotations_of(
                    old
                ) and annotation_table.frees_containers(
                    bounded(old.annotations), bounded(new.annotations)
                ):
                    self._wake_leaving(node)
                # The cheap check first: most objects have no dependents, and `_news_of`
                # parses the status.
                if self._dependents.of(node):
                    self._wake_waiting(node, new, _news_of(old, new))
            case Deleted():
                self._wake_leaving(node)
                self._dependents.update(node, {})
                self._wake_unready(node)

    def forget(self, group_kind: GroupKind) -> None:
        """Drop the dependencies of a stopped kind's objects, so that none is woken."""
        self._dependents.forget_kind(group_kind)
        self._waiting.forget_kind(group_kind)

    def on_secret_or_config_map(self, group_kind: GroupKind, event: Event) -> None:
        """Handle a change of a Secret or ConfigMap: wake the objects that read it, and
        those that export to it unless the change is their own write.
        """
        if isinstance(event, Added) and event.initial:
            return  # the objects that name it are in the initial list themselves
        if (
            isinstance(event, Updated)
            and event.old.resource_version == event.new.resource_version
        ):
            return
        changed, version = ObjectReference(group_kind, event.key), _version_now(event)
        if not version:
            self._exported.forget(changed)
        for node, relation in self._dependents.of(changed):
            is_export = relation is Relation.EXPORT
            waits = partial(self._differs, node, changed, version)
            self._wake(node, changed, version, waits if is_export else always)

    def _differs(
        self, node: ObjectReference, exported: ObjectReference, version: str
    ) -> bool:
        """Return whether an exported object was deleted, or changed by another writer.

        An export that was refused waits for its retry or for the deletion: another
        owner's object may change often.
        """
        if not version:
            return True
        entry = self._kinds.entry(node)
        if entry is None or self._exported.is_known(exported, version):
            return False
        ready = find_ready((entry.shared_view().get("status") or {}).get("conditions"))
        return ready is None or ready.get("reason") != EXPORT_REFUSED

    def on_namespace(self, event: Event) -> None:
        """Handle a changed annotation of a Namespace: wake the objects that inherit it,
        if the change concerns them. Rules: R6.3, R6.4, OW-4, OW-7.
        """
        if not isinstance(event, Updated):
            return
        before, after = (bounded(one.annotations) for one in (event.old, event.new))
        # Most updates concern no object: do not go through all objects for them.
        if not any(
            annotation_table.inherits_change({}, before, after, deleting=deleting)
            for deleting in (True, False)
        ):
            return
        for older in self._waiting.awaited_in(event.key.name):
            self._wake_younger(older, _version_now(event))
        namespace = ObjectReference(_NAMESPACE, event.key)
        for node, entry in self._kinds.entries_in(event.key.name).items():
            if annotation_table.inherits_change(
                bounded(entry.annotations), before, after, deleting=entry.deleting
            ):
                self._wake(node, namespace, _version_now(event))

    def wake_children(self, parent: ObjectReference) -> None:
        """Wake all objects below an object, in any namespace, because its resource is
        gone or was made again.
        """
        above, seen = [parent], {parent}
        while above:
            owner = above.pop()
            for node, relation in self._dependents.of(owner):
                if relation is Relation.OWNER and node not in seen:
                    seen.add(node)
                    above.append(node)
                    self._wake(node, parent, "")
        entry = self._kinds.entry(parent)
        arm_id = "" if entry is None else bounded(entry.annotations).get(RESOURCE_ID)
        if arm_id:
            self._wake_below(ids.key(arm_id) + "/", parent, seen)

    def _wake_below(
        self, above: str, parent: ObjectReference, seen: set[ObjectReference]
    ) -> None:
        """Wake the objects whose owner is given by its ARM id."""
        for node, entry in self._kinds.entries_in(None).items():
            arm_id = bounded(entry.annotations).get(RESOURCE_ID) or ""
            if node not in seen and ids.key(arm_id).startswith(above):
                self._wake(node, parent, "")

    def _index(self, form: StorageCodec, node: ObjectReference, entry: Entry) -> None:
        try:
            obj = form.read(entry.shared_view())
        except KindConversionError:
            # Its own reconcile reports the error; its references cannot be known.
            self._dependents.update(node, {})
            return
        self._dependents.update(node, targets_of(form.version(obj), obj))

    def _wake_waiting(self, target: ObjectReference, now: Entry, news: "_News") -> None:
        """Wake the dependents of a target for which its change matters.

        The state of a dependent does not matter here: its reconcile in flight may have
        read the target before the change, and may not have written yet that it waits.
        now: the target's present state.
        """
        if news == _News():
            return
        for node, relation in self._dependents.of(target):
            waits = partial(self._waits, node, relation, news)
            self._wake(node, target, now.resource_version, waits)

    def _waits(self, node: ObjectReference, relation: Relation, news: "_News") -> bool:
        entry = self._kinds.entry(node)
        return entry is not None and _waits(entry, relation, news)

    def _wake_younger(self, older: ObjectReference, version: str) -> None:
        """Wake objects that wait for this one's Azure id: one of them may take over."""
        for node in self._waiting.behind(older):
            self._wake(node, older, version)

    def _wake_unready(self, gone: ObjectReference) -> None:
        """Wake dependents that are not Ready: Azure may have deleted them with their
        owner.
        """
        for node, _ in self._dependents.of(gone):
            self._wake(node, gone, "", partial(self._is_unready, node))

    def _is_unready(self, node: ObjectReference) -> bool:
        entry = self._kinds.entry(node)
        return entry is not None and not is_ready(entry.shared_view())

    def _wake_leaving(self, gone: ObjectReference) -> None:
        """Wake objects in deletion that a deleted or released object referred to: their
        deletion may be allowed now (DE2, OW-4).
        """
        # The index still has its references: they are cleared after this.
        for target in self._dependents.targets(gone):
            entry = self._kinds.entry(target)
            if entry is not None and entry.deleting:
                self._wake(target, gone, "")

    def _wake(
        self,
        node: ObjectReference,
        changed: ObjectReference,
        version: str,
        waits: Waits = always,
    ) -> None:
        def is_due() -> bool:
            if not waits():
                return False
            _log.debug(
                "Waking",
                controllerKind=str(node.group_kind),
                namespace=node.key.namespace,
                name=node.key.name,
                because=f"{changed.group_kind.kind} {changed.key}",
            )
            return True

        self._kinds.wake(node, changed, version, is_due)


@attrs.frozen
class _News:
    """The meaning of an object's change for its dependents.

    is_ready: whether everything that dependents wait for may exist now. is_id: whether
    the object has another Azure id than before, which Ready dependents have to PUT.
    is_accepted: whether Azure has accepted a PUT, so that others may refer to the
    resource (OW-5).
    """

    is_ready: bool = False
    is_id: bool = False
    is_accepted: bool = False


def _news_of(old: Entry, new: Entry) -> _News:
    then, now = (bounded(one.annotations) for one in (old, new))
    before, after = (one.get(RESOURCE_ID) or "" for one in (then, now))
    is_id = bool(after) and after.lower() != before.lower()
    if old.uid != new.uid:
        return _News(is_ready=True, is_id=is_id)
    # The old object is checked last, as that needs parsing.
    is_news = is_ready(new.shared_view()) and (is_id or not is_ready(old.shared_view()))
    is_accepted = says_accepted(now) and not says_accepted(then)
    return _News(is_ready=is_news, is_id=is_id, is_accepted=is_accepted)


def _waits(entry: Entry, relation: Relation, news: _News) -> bool:
    """Return whether a change of an object's target can let the object progress.

    It cannot while an operation runs, because Azure decides when to poll. An object
    with WaitingForOwner progresses only if its owner becomes Ready.
    """
    if POLLER_TOKEN in entry.annotations:
        return False
    ready = find_ready((entry.shared_view().get("status") or {}).get("conditions"))
    if ready is None:
        return True
    if ready.get("status") == "True":
        # Ready is of an older spec: the reconcile of the new one may find a target
        # missing.
        is_older = (ready.get("observedGeneration") or 0) < entry.generation
        return is_older or news.is_id
    if ready.get("reason") == "WaitingForOwner":
        return relation is Relation.OWNER and news.is_ready
    return news.is_ready or news.is_id or relation is Relation.INPUT


def _may_let_go(event: Event) -> bool:
    """Return whether an object may have stopped managing its Azure id."""
    match event:
        case Added():
            return False
        case Updated(old=old, new=new):
            if old.uid != new.uid or old.generation != new.generation:
                return True
            if _is_stuck(new) and not _is_stuck(old):
                return True
            if new.has_annotations_of(old):
                return False
            before, after = (bounded(one.annotations) for one in (old, new))
            return annotation_table.frees_rivals(before, after) or any(
                before.get(name) != after.get(name) for name in (RESOURCE_ID, CLAIM)
            )
        case Deleted():
            return True


def _is_stuck(entry: Entry) -> bool:
    """Return whether a person must correct the object. Its claim may lapse then."""
    found = (entry.shared_view().get("status") or {}).get("conditions")
    return (find_ready(found) or {}).get("severity") == "Error"


def _version_now(event: Event) -> str:
    """Return the object's present resource version, or "" if it is gone."""
    match event:
        case Added(entry=entry) | Updated(new=entry):
            return entry.resource_version
        case Deleted():
            return ""
