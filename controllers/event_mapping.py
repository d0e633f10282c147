"""Which objects a change elsewhere wakes (D13).

An object that waits for its owner, a reference, a Secret or a ConfigMap is looked at as
soon as that changes; its back-off is only a safety net. Runs on watch threads: short,
and never blocking.
"""

from collections.abc import Mapping
from functools import partial
from typing import Literal, Protocol

from asoreconcile.azure import policy
from asoreconcile.azure.annotations import POLLER_TOKEN, RECONCILE_POLICY, RESOURCE_ID
from asoreconcile.azure.conditions import find_ready, is_ready
from asoreconcile.azure.dependency_index import DependencyIndex, Relation, targets_of
from asoreconcile.azure.object_reference import ObjectReference
from asoreconcile.azure.sync_mode import SYNC_MODE
from asoreconcile.azure.waiting import Waiting
from asoreconcile.cache.entry import Entry
from asoreconcile.cache.events import Added, Deleted, Event, Updated
from asoreconcile.catalogue.conversion import KindConversionError
from asoreconcile.catalogue.storage_codec import StorageCodec
from asoreconcile.kube.resources import CONFIG_MAPS, NAMESPACES, SECRETS
from asoreconcile.log import Logger
from asoreconcile.objects import GroupKind
from asoreconcile.runtime.application import Application

_log = Logger(__name__)

_NAMESPACE = GroupKind("", "Namespace")


class RunningKinds(Protocol):
    """The kinds that run now (`controllers.kind_registry.KindRegistry`)."""

    def entry(self, node: ObjectReference) -> Entry | None:
        """The cached object that a node stands for; None if it or its kind is not
        there.
        """

    def entries_in(self, namespace: str) -> Mapping[ObjectReference, Entry]:
        """All cached objects of all running kinds in a namespace."""

    def wake(
        self, node: ObjectReference, changed: ObjectReference, version: str
    ) -> None:
        """Queue the reconcile of `node`, because `changed` got a new version.

        Never blocks.
        """


class EventMapping:
    """Event handlers that keep the index of dependents and wake them."""

    def __init__(
        self,
        kinds: RunningKinds,
        dependents: DependencyIndex,
        waiting: Waiting | None = None,
    ) -> None:
        """waiting: objects that wait for an older one of the same Azure id."""
        self._kinds = kinds
        self._dependents = dependents
        self._waiting = waiting or Waiting()

    def setup_with(self, app: Application) -> None:
        """Have an application tell it of Namespaces, Secrets and ConfigMaps. Kinds tell
        it of their objects as they are built (`KindBuilder`).
        """
        # Headers alone: what a Secret says is read by the reconcile that needs it, and
        # no cache of the process ever holds it.
        namespaces = app.informer(NAMESPACES, metadata_only=True)
        namespaces.add_handler(self.on_namespace)
        for resource in (SECRETS, CONFIG_MAPS):
            on_event = partial(self.on_secret_or_config_map, resource.group_kind)
            app.informer(resource, metadata_only=True).add_handler(on_event)

    def on_azure_object(self, form: StorageCodec, event: Event) -> None:
        """One of our kinds changed: index what it names, wake objects that name it."""
        node = ObjectReference(form.group_kind, event.key)
        if _may_let_go(event):
            self._wake_younger(node, _version_now(event))
        match event:
            case Added(entry=entry):
                self._index(form, node, entry)
                self._wake_waiting(node, entry)
            case Updated(old=old, new=new):
                if old.generation != new.generation or old.uid != new.uid:
                    self._index(form, node, new)
                # The cheap question first: most objects are named by nobody, and
                # `_news_of` parses the status.
                news = self._dependents.of(node) and _news_of(old, new)
                if news:
                    self._wake_waiting(node, new, news)
            case Deleted():
                self._wake_leaving(node)
                self._dependents.update(node, {})
                self._wake_unready(node)

    def forget(self, group_kind: GroupKind) -> None:
        """A kind runs no more: its objects depend on nothing, and none is woken."""
        self._dependents.forget_kind(group_kind)
        self._waiting.forget_kind(group_kind)

    def on_secret_or_config_map(self, group_kind: GroupKind, event: Event) -> None:
        """A Secret or ConfigMap changed: wake who reads it, or, if it went, who writes
        it too.
        """
        if isinstance(event, Added) and event.initial:
            return  # the objects that name it are in the initial list themselves
        if (
            isinstance(event, Updated)
            and event.old.resource_version == event.new.resource_version
        ):
            return
        changed = ObjectReference(group_kind, event.key)
        gone = isinstance(event, Deleted)
        for node, relation in self._dependents.of(changed):
            # A change of what we wrote is mostly our own write coming back; its end has
            # to be mended.
            if relation is not Relation.EXPORT or gone:
                self._wake(node, changed, _version_now(event))

    def on_namespace(self, event: Event) -> None:
        """A Namespace's policy or sync mode changed: wake the objects that inherit it
        and to which that matters now. Rules: R6.3, R6.4.
        """
        if not isinstance(event, Updated):
            return
        before, after = event.old.annotations, event.new.annotations
        # As if all were being deleted: which objects are is asked of each below.
        other_policy = policy.concerns(before, after, deleting=True)
        other_mode = before.get(SYNC_MODE) != after.get(SYNC_MODE)
        if not (other_policy or other_mode):
            return
        for older in self._waiting.awaited_in(event.key.name):
            self._wake_younger(older, _version_now(event))
        namespace = ObjectReference(_NAMESPACE, event.key)
        for node, entry in self._kinds.entries_in(event.key.name).items():
            by_policy = RECONCILE_POLICY not in entry.annotations and policy.concerns(
                before, after, deleting=entry.deleting
            )
            by_mode = (
                other_mode and SYNC_MODE not in entry.annotations and not entry.deleting
            )
            if by_policy or by_mode:
                self._wake(node, namespace, _version_now(event))

    def _index(self, form: StorageCodec, node: ObjectReference, entry: Entry) -> None:
        try:
            obj = form.read(entry.peek())
        except KindConversionError:
            # Its own reconcile says so; nothing can be known of what it names.
            self._dependents.update(node, {})
            return
        self._dependents.update(node, targets_of(form.version(obj), obj))

    def _wake_waiting(
        self, target: ObjectReference, now: Entry, news: "_News" = "whole"
    ) -> None:
        """now: the target as it is. news: what its change is to who names it."""
        for node, relation in self._dependents.of(target):
            entry = self._kinds.entry(node)
            if entry is not None and _waits(entry, relation, news):
                self._wake(node, target, now.resource_version)

    def _wake_younger(self, older: ObjectReference, version: str) -> None:
        """Wake objects that wait for this one's Azure id: one may take over."""
        for node in self._waiting.behind(older):
            self._wake(node, older, version)

    def _wake_unready(self, gone: ObjectReference) -> None:
        """What was polled on its way out may be found gone with its owner."""
        for node, _ in self._dependents.of(gone):
            entry = self._kinds.entry(node)
            if entry is not None and not is_ready(entry.load()):
                self._wake(node, gone, "")

    def _wake_leaving(self, gone: ObjectReference) -> None:
        """What was in use by an object that went may be let go by Azure now (DE2)."""
        # The index still knows what it named: that is cleared after this.
        for target in self._dependents.targets(gone):
            entry = self._kinds.entry(target)
            if entry is not None and entry.deleting:
                self._wake(target, gone, "")

    def _wake(
        self, node: ObjectReference, changed: ObjectReference, version: str
    ) -> None:
        _log.debug(
            "Waking",
            controllerKind=str(node.group_kind),
            namespace=node.key.namespace,
            name=node.key.name,
            because=f"{changed.group_kind.kind} {changed.key}",
        )
        self._kinds.wake(node, changed, version)


# What a change of an object is to those that name it: all that they wait for may be
# there now, or its Azure id alone.
_News = Literal["whole", "id"]


def _news_of(old: Entry, new: Entry) -> _News | None:
    """None: it helps nobody on; that the object is Ready no more does not, either."""
    if old.uid != new.uid:
        return "whole"
    has_id = not new.has_annotations_of(old) and (
        old.annotations.get(RESOURCE_ID) != new.annotations.get(RESOURCE_ID)
    )
    # What it was is asked last: it would have to be parsed for that.
    if is_ready(new.peek()) and (has_id or not is_ready(old.peek())):
        return "whole"
    return "id" if has_id else None


def _waits(entry: Entry, relation: Relation, news: _News) -> bool:
    """Whether a change of what an object names can help it on.

    Not while an operation runs: Azure says when to ask about that. And what waits for
    its owner is helped on by its owner alone, and not before that is Ready.
    """
    if POLLER_TOKEN in entry.annotations:
        return False
    ready = find_ready((entry.peek().get("status") or {}).get("conditions"))
    if ready is None:
        return True
    if ready.get("status") == "True":
        # Of an older spec: its reconcile of the new one may be finding something
        # missing.
        return (ready.get("observedGeneration") or 0) < entry.generation
    if ready.get("reason") != "WaitingForOwner":
        return True
    return relation is Relation.OWNER and news == "whole"


def _may_let_go(event: Event) -> bool:
    """Whether an object may manage its Azure id no more."""
    match event:
        case Added():
            return False
        case Updated(old=old, new=new):
            if old.uid != new.uid or old.generation != new.generation:
                return True
            if new.has_annotations_of(old):
                return False
            before, after = old.annotations, new.annotations
            return any(
                before.get(name) != after.get(name)
                for name in (RESOURCE_ID, RECONCILE_POLICY)
            )
        case Deleted():
            return True


def _version_now(event: Event) -> str:
    """The resource version that an object is at, or "" when it is gone."""
    match event:
        case Added(entry=entry) | Updated(new=entry):
            return entry.resource_version
        case Deleted():
            return ""
