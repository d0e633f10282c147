"""The dependencies that reconciles share.

All kinds share one `SharedDependencies`; the reconciles of one kind share a
`KindRuntime`.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Protocol

import attrs

from asoreconcile.azure.arm import ids
from asoreconcile.azure.arm.client import ArmClient
from asoreconcile.azure.arm.collection_reads import CollectionReads
from asoreconcile.azure.arm.condition_error import ConditionError
from asoreconcile.azure.arm.credentials import CredentialError
from asoreconcile.azure.catalogue.kinds import Catalogue, KindVersion
from asoreconcile.azure.catalogue.storage_codec import StorageCodec
from asoreconcile.azure.expressions.api import Expressions
from asoreconcile.azure.graph.client import GraphClient
from asoreconcile.azure.middleware.chain import Extensions
from asoreconcile.azure.reconcile.model.decisions import SyncCause
from asoreconcile.azure.reconcile.model.object_reference import ObjectReference
from asoreconcile.azure.reconcile.model.owner import Objects
from asoreconcile.azure.reconcile.model.policy import Policy
from asoreconcile.azure.reconcile.model.record_key import RecordKey
from asoreconcile.azure.reconcile.model.sync_mode import (
    ForeignTags,
    SyncMode,
    Undeclared,
)
from asoreconcile.azure.reconcile.scope.owner_reads import OwnerReads
from asoreconcile.azure.reconcile.state.claims_under_way import ClaimsUnderWay
from asoreconcile.azure.reconcile.state.exported_objects import ExportedObjects
from asoreconcile.azure.reconcile.state.memory import ObjectMemories
from asoreconcile.azure.reconcile.state.parent_writes import ParentWrites
from asoreconcile.azure.reconcile.state.read_set import InFlightReads
from asoreconcile.azure.reconcile.state.requeue_backoff import RequeueBackoff
from asoreconcile.azure.reconcile.state.sync_metrics import Confirmed
from asoreconcile.azure.reconcile.state.waiting import Waiting
from asoreconcile.base.clock import Clock
from asoreconcile.base.objects import GroupKind, JsonObject, ObjectKey
from asoreconcile.cache.informer import Informer
from asoreconcile.cache.unreadable import Unreadable
from asoreconcile.kube.client import KubeClient
from asoreconcile.kube.events import EventRecorder, NamedRecorder
from asoreconcile.kube.resources import ApiResource
from asoreconcile.kube.selection import Selection


def no_graph() -> GraphClient:
    """Raise the error of a connection without a client of Microsoft Graph."""
    raise CredentialError("this connection has no way to Microsoft Graph")


@attrs.frozen
class Connection:
    """The connection to ARM for one object: a client, and the origin of its credential.

    source: `namespace/name` of the Secret that the credential came from.
    content: a hash of that Secret's data; "" for the operator's settings.
    tenant_id, client_id: ids in the credential; "" if only the machine's identity
    service knows them.
    graph: the client of Microsoft Graph with the same credential; made on first use.
    Raises ConditionError `CredentialError` if Graph's address is not known.
    """

    client: ArmClient
    subscription_id: str
    source: str
    content: str = ""
    tenant_id: str = ""
    client_id: str = ""
    graph: Callable[[], GraphClient] = attrs.field(
        default=no_graph, eq=False, repr=False
    )

    def principal(self) -> tuple[str, str, str]:
        """Return the principal that writes. The same body sent by another principal
        counts as another PUT.
        """
        parts = (self.tenant_id, self.client_id, self.subscription_id)
        tenant, client, subscription = (part.lower() for part in parts)
        return tenant, client, subscription

    def require_subscription_of(self, arm_id: str) -> None:
        """Check that a resource is in the credential's subscription. Raises
        ConditionError `SubscriptionMismatch` (Error) for another
        subscription: R8.6.

        Azure tells a credential of another subscription that the resource does not
        exist. That answer must not be mistaken for a deletion.
        """
        stated = ids.subscription_of(arm_id)
        if stated is not None and stated.lower() != self.subscription_id.lower():
            raise ConditionError(
                f"the resource is in subscription {stated}, but the credential from "
                f"{self.source} is for {self.subscription_id}: use a credential of the "
                "resource's subscription",
                reason="SubscriptionMismatch",
                severity="Error",
            )


class ConnectionResolver(Protocol):
    """Finds the credential for an object (R8.1)."""

    def for_object(self, obj: JsonObject) -> Connection:
        """Return the connection of an object's credential. Raises ConditionError
        `CredentialError` if the object has no credential.
        """


class ServedKinds(Objects, Protocol):
    """A view of the Azure objects in the cluster, and of the version at which each kind
    is served.
    """

    def served(self, group_kind: GroupKind) -> KindVersion | None:
        """Return the version at which an installed kind is served."""


class NamespaceReader(Protocol):
    """Reads annotations of Namespaces (`controllers.namespace_annotations`)."""

    def __call__(self, namespace: str) -> Mapping[str, str]:
        """Return the annotations from the cache. Raises RetryError, ConditionError."""

    def live(self, namespace: str, *, since: float) -> Mapping[str, str]:
        """Return the annotations from a read that began at `since` or later. Raises
        ConditionError.
        """


@attrs.frozen
class SharedDependencies:
    """The dependencies that all kinds share.

    namespace_annotations: reads the annotations of a Namespace. namespace: the
    operator's own namespace, which it writes on its objects. is_credential: whether
    some object names a Secret as its credential. why_secrets_unchecked: why it was not
    checked that an object's writer may get the Secrets that its spec names; "" if it
    was, or need not be. is_granted: returns whether a
    kind's objects in a namespace may write an id because another namespace manages a
    resource above it and grants the write. objects_with_arm_id: returns the objects
    that may represent an ARM id, each with its version: those that have claimed it, and
    unclaimed ones with its name. Raises RetryError while some are not listed yet.
    wake_children: queues a reconcile of every object below an object.
    children_of: returns the objects whose spec names an object as their owner.
    protected_below: takes an ARM id and an object's uid; returns the protected objects
    whose resources are below the id, or that the object owns. objects_of: returns the
    objects of a kind, each with its version. Both raise as `objects_with_arm_id`.
    waiting: objects that wait for another one of the same id. claims_under_way: ids
    that objects are claiming. export_loop, leads_to: methods of `DependencyIndex`.
    wait_for_references: whether a PUT waits for the objects that its spec refers to, if
    no annotation says otherwise. collection_reads: reads of whole lists; None if each
    resource is read by its own GET. force_put_seconds: seconds after which a resource
    gets a PUT even without drift, if Azure does not show all its values; None for
    never. count_sync: called at each sync that reads first, with its result and whether
    it PUTs. count_replaced: called at each PUT that replaces foreign values, with its
    kind. count_confirmation: called at each read that a PUT or DELETE waits for.
    predecessor_renewed: time at which the previous leader last renewed its lease; None
    if not known. expressions: the engine that evaluates export expressions. record_key:
    returns the key that authenticates the operator's records and hashes values of
    Secrets; raises ConditionError `RecordKeyUnreadable`.
    exported: versions of the exported objects.
    """

    clock: Clock
    client: KubeClient
    catalogue: Catalogue
    objects: ServedKinds
    connections: ConnectionResolver
    extensions: Extensions
    recorder: EventRecorder
    namespace_annotations: NamespaceReader
    namespace: str
    default_policy: Policy
    build: str
    record_key: Callable[[], RecordKey]
    sync_mode: SyncMode
    undeclared: Undeclared
    foreign_tags: ForeignTags
    ignore_fields: str
    count_replaced: Callable[[GroupKind], None]
    force_put_seconds: float | None
    count_sync: Callable[[SyncCause, bool], None]
    count_confirmation: Callable[[Confirmed], None]
    predecessor_renewed: Callable[[], datetime | None]
    expressions: Callable[[], Expressions]
    is_credential: Callable[[ObjectKey], bool]
    why_secrets_unchecked: Callable[[KindVersion, JsonObject], str]
    is_granted: Callable[[GroupKind, str, str], bool]
    objects_with_arm_id: Callable[[str], Iterable[tuple[KindVersion, JsonObject]]]
    wake_children: Callable[[ObjectReference], None]
    protected_below: Callable[[str, str], Sequence[ObjectReference]]
    children_of: Callable[[ObjectReference], Sequence[ObjectReference]]
    objects_of: Callable[[GroupKind], Iterable[tuple[KindVersion, JsonObject]]]
    waiting: Waiting
    export_loop: Callable[[ObjectReference], Sequence[ObjectReference]]
    leads_to: Callable[[ObjectReference, ObjectReference], bool]
    wait_for_references: bool
    collection_reads: CollectionReads | None
    exported: ExportedObjects = attrs.field(factory=ExportedObjects)
    owner_reads: OwnerReads = attrs.field(
        default=attrs.Factory(lambda self: OwnerReads(self.clock), takes_self=True)
    )
    parent_writes: ParentWrites = attrs.field(factory=ParentWrites)
    claims_under_way: ClaimsUnderWay = attrs.field(factory=ClaimsUnderWay)

    def note_write(self, arm_id: str) -> None:
        """Record a write of a resource: lists and owner reads that began before are no
        longer used for it (Q8).
        """
        self.owner_reads.wrote(arm_id)
        if self.collection_reads is not None:
            self.collection_reads.wrote(arm_id)

    def forget(self, kind: "KindRuntime", key: ObjectKey) -> None:
        """Drop the memory of an object that is gone or released."""
        kind.memories.forget(key)
        self.waiting.forget(ObjectReference(kind.version.group_kind, key))


@attrs.frozen
class KindRuntime:
    """One kind as the cluster stores it, and the dependencies that its reconciles
    share.

    version: version at which the kind is served; the version of an object is its
    author's (`PatchHelper.version`). selections: selections of objects that the cache
    watches. unreadable: objects that the cache could not read. recorder: recorder of
    the kind's events.
    """

    version: KindVersion
    resource: ApiResource
    cache: Informer
    requeue_backoff: RequeueBackoff
    in_flight_reads: InFlightReads
    form: StorageCodec
    memories: ObjectMemories
    selections: Sequence[Selection]
    unreadable: Callable[[], Mapping[ObjectKey, Unreadable]]
    recorder: NamedRecorder
