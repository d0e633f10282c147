"""Find the objects that deletion protection covers, and report those that vanish.

Runs on worker and watch threads; never blocks. Rule: OW-4.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import attrs

from asoreconcile.azure.arm import ids
from asoreconcile.azure.catalogue.kinds import KindVersion
from asoreconcile.azure.catalogue.storage_codec import as_far_as_readable
from asoreconcile.azure.controllers.kind_registry import KindRegistry, not_listed
from asoreconcile.azure.reconcile.model.annotation_bounds import bounded
from asoreconcile.azure.reconcile.model.annotations import (
    OPERATOR_NAMESPACE,
    RESOURCE_ID,
)
from asoreconcile.azure.reconcile.model.object_reference import ObjectReference
from asoreconcile.azure.reconcile.model.policy import Policy, policy_of
from asoreconcile.azure.reconcile.model.protection import DELETION_PROTECTION_ROW
from asoreconcile.azure.reconcile.model.switches import is_on, switched_by
from asoreconcile.base.errors import RetryError
from asoreconcile.base.log import Logger
from asoreconcile.base.objects import GroupKind
from asoreconcile.cache.entry import Entry
from asoreconcile.cache.events import Deleted, Event
from asoreconcile.cache.informer import Informer
from asoreconcile.kube.events import EventRecorder

_log = Logger(__name__)

_INDEX, _VALUE = "protected", "by its own annotation"


def index_protected(informer: Informer) -> None:
    """Add an index of the objects that their own annotation protects."""

    def values(entry: Entry) -> Iterable[str]:
        return (_VALUE,) if _is_protected(entry) else ()

    informer.add_index(_INDEX, values)


class ProtectedObjects:
    """Finds protected objects by the resource that contains theirs."""

    def __init__(self, kinds: KindRegistry, namespaces: Informer | None = None) -> None:
        """namespaces: None leaves out objects that only their Namespace protects."""
        self._kinds = kinds
        self._namespaces = namespaces

    def __call__(self, arm_id: str, uid: str) -> Sequence[ObjectReference]:
        """Return the protected objects whose resources are at or below an ARM id, and
        those that the object with this uid owns; without that object itself.

        An object protects what its spec names, whether it manages the resource or not.
        Raises RetryError while a kind whose resources may be below the id is not
        listed yet.
        """
        protected = ids.key(arm_id)
        return [
            node
            for node, entry in self._protected(arm_id)
            if entry.uid != uid
            and (
                any(owner.uid == uid for owner in entry.owners)
                or f"{ids.key(self._id_of(node, entry, arm_id))}/".startswith(
                    f"{protected}/"
                )
            )
        ]

    def _id_of(self, node: ObjectReference, entry: Entry, arm_id: str) -> str:
        """Return the id that an object has claimed, else the one that its spec makes;
        "" if it makes none, or if its owner is not known.

        arm_id: an id of the subscription of a resource without an owner.
        """
        claimed = bounded(entry.annotations).get(RESOURCE_ID)
        kind = self._kinds.running().get(node.group_kind)
        if claimed or kind is None or not kind.version.is_arm:
            return claimed or ""
        # With the first deletion: it needs the modules that call Azure.
        from asoreconcile.azure.reconcile.identity.identity import id_of

        version, obj = as_far_as_readable(kind.form, kind.version, entry.deep_copy())
        return id_of(
            version,
            obj,
            claim=None,
            objects=self._kinds,
            # It is looked for where the resource is that is to be deleted.
            subscription_of=lambda _: ids.subscription_of(arm_id) or "",
        )

    def _protected(self, arm_id: str) -> Iterator[tuple[ObjectReference, Entry]]:
        found: dict[ObjectReference, Entry] = {}
        for group_kind, kind in self._kinds.running().items():
            if not kind.informer.has_synced() and _may_be_below(kind.version, arm_id):
                raise not_listed(group_kind)
            for key in kind.informer.by_index(_INDEX, _VALUE):
                if (entry := kind.informer.entry(key)) is not None:
                    found[ObjectReference(group_kind, key)] = entry
        for name in self._protected_namespaces():
            found.update(self._kinds.entries_in(name))
        yield from found.items()

    def _protected_namespaces(self) -> Iterator[str]:
        if self._namespaces is None:
            return
        for key in self._namespaces.keys(None):
            entry = self._namespaces.entry(key)
            if entry is not None and _is_protected(entry):
                yield key.name


def _may_be_below(version: KindVersion, arm_id: str) -> bool:
    """Return whether a resource of a kind may be deleted together with an ARM id."""
    if not version.is_arm or version.scope == "Extension":
        return True
    try:
        above = ids.parse(arm_id)
    except ids.ArmIdError:
        return False  # an object of Entra contains no resource
    is_group = ids.is_resource_group(above)
    return is_group or f"{version.arm_type.lower()}/".startswith(
        f"{above.type.lower()}/"
    )


@attrs.frozen
class VanishedObjects:
    """Reports protected objects that were removed although the operator had not
    released them.

    The object can no longer show a condition, so an event is recorded in the operator's
    namespace.
    namespace: the operator's own. inherited: a Namespace's annotations. leads: whether
    this process reconciles.
    """

    recorder: EventRecorder
    namespace: str
    inherited: Callable[[str], Mapping[str, str]]
    default_policy: Policy
    leads: Callable[[], bool]

    def on_event(self, group_kind: GroupKind, event: Event) -> None:
        """Record an event if a protected object of this operator was removed."""
        if not isinstance(event, Deleted) or not self.leads():
            return
        own = bounded(event.entry.annotations)
        arm_id = own.get(RESOURCE_ID)
        if not arm_id or own.get(OPERATOR_NAMESPACE) != self.namespace:
            return
        inherited = self._inherited(event.key.namespace)
        policy = policy_of(own, inherited, self.default_policy)
        if (
            policy is None
            or not policy.deletes
            or not switched_by(own, inherited, DELETION_PROTECTION_ROW)
        ):
            return
        text = (
            f"{group_kind.kind} {event.key} was removed without the operator, as by a "
            f"removed finalizer. Its deletion protection keeps {arm_id} in Azure: "
            "apply the object again to manage the resource, or delete it by hand"
        )
        _log.warning("Protected object vanished", armId=arm_id, reason=text)
        self.recorder.event(
            _here(self.namespace), "Warning", "ProtectedObjectGone", text
        )

    def _inherited(self, namespace: str) -> Mapping[str, str]:
        try:
            return self.inherited(namespace)
        except RetryError:
            return {}  # the Namespace is gone, too


def _is_protected(entry: Entry) -> bool:
    return is_on(bounded(entry.annotations), DELETION_PROTECTION_ROW)


def _noted_id(entry: Entry) -> str:
    return bounded(entry.annotations).get(RESOURCE_ID) or ""


def _here(namespace: str) -> dict[str, object]:
    """Return the operator's Namespace as the object of an event in that namespace."""
    # The API server accepts an event only in the namespace of its object.
    return {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": namespace, "namespace": namespace},
    }
