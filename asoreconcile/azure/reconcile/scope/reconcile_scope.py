"""The context of one reconcile: the object, its kind, and what all kinds share.

`SharedDependencies` is shared by all kinds, `KindRuntime` by all reconciles of one
kind; `ReconcileScope` belongs to one reconcile.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from functools import cached_property
from typing import Any, Literal, Protocol, cast

import attrs

from asoreconcile.azure.arm import ids
from asoreconcile.azure.arm.client import ArmClient
from asoreconcile.azure.arm.collection_reads import CollectionReads
from asoreconcile.azure.arm.condition_error import ConditionError
from asoreconcile.azure.arm.credentials import CredentialError
from asoreconcile.azure.catalogue.kinds import Catalogue, KindVersion
from asoreconcile.azure.catalogue.reserved import SETTINGS_SECRET
from asoreconcile.azure.catalogue.storage_codec import SingleVersionCodec, StorageCodec
from asoreconcile.azure.expressions.api import Expressions, shared
from asoreconcile.azure.graph.client import GraphClient
from asoreconcile.azure.middleware.chain import Extensions
from asoreconcile.azure.middleware.context import ArmAccess, ReconcileContext
from asoreconcile.azure.reconcile.model.annotations import (
    CLAIM,
    EXISTENCE,
    LATEST_RECONCILED_GENERATION,
    OWN_CREDENTIAL,
    PACE,
)
from asoreconcile.azure.reconcile.model.claim_record import (
    ClaimRecord,
    Standing,
    claim_of,
)
from asoreconcile.azure.reconcile.model.decisions import SyncCause
from asoreconcile.azure.reconcile.model.existence import UNDECIDED
from asoreconcile.azure.reconcile.model.object_reference import ObjectReference
from asoreconcile.azure.reconcile.model.owner import Objects, Owner, resolve_owner
from asoreconcile.azure.reconcile.model.pace import (
    Closed,
    closed_at,
    period_of,
    unhandled_request,
)
from asoreconcile.azure.reconcile.model.policy import Policy, policy_of
from asoreconcile.azure.reconcile.model.record_key import RecordKey
from asoreconcile.azure.reconcile.model.sync_mode import (
    SyncMode,
    Undeclared,
    sync_mode_of,
)
from asoreconcile.azure.reconcile.scope.extension_operations import AnnotationLroStore
from asoreconcile.azure.reconcile.scope.owner_reads import OwnerReads
from asoreconcile.azure.reconcile.scope.patch_helper import PatchHelper, WriteCache
from asoreconcile.azure.reconcile.scope.references import ReferenceResolver
from asoreconcile.azure.reconcile.state.claims_under_way import ClaimsUnderWay
from asoreconcile.azure.reconcile.state.memory import ObjectMemories, ObjectMemory
from asoreconcile.azure.reconcile.state.parent_writes import ParentWrites
from asoreconcile.azure.reconcile.state.read_set import (
    InFlightReads,
    ReadSet,
    TrackingReader,
)
from asoreconcile.azure.reconcile.state.requeue_backoff import RequeueBackoff
from asoreconcile.azure.reconcile.state.sync_metrics import Confirmed
from asoreconcile.azure.reconcile.state.waiting import Waiting
from asoreconcile.base.clock import Clock
from asoreconcile.base.log import Logger
from asoreconcile.base.objects import GroupKind, JsonObject, ObjectKey, is_deleting
from asoreconcile.cache.unreadable import Unreadable
from asoreconcile.kube.client import KubeClient
from asoreconcile.kube.resources import ApiResource


def no_graph() -> GraphClient:
    """The `graph` of a connection that reaches ARM only."""
    raise CredentialError("this connection has no way to Microsoft Graph")


@attrs.frozen
class Connection:
    """The connection to ARM for one object: a client, and the origin of its credential.

    source: `namespace/name` of the Secret that the credential came from.
    content: a hash of that Secret's data; "" for the operator's settings.
    tenant_id, client_id: of the credential; "" if only the machine knows it.
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
        """The principal that writes: a PUT by another one is another PUT."""
        parts = (self.tenant_id, self.client_id, self.subscription_id)
        tenant, client, subscription = (part.lower() for part in parts)
        return tenant, client, subscription

    def require_subscription_of(self, arm_id: str) -> None:
        """Raises ConditionError `SubscriptionMismatch` (Error) for another
        subscription: R8.6.

        To a credential of another subscription Azure answers that the resource does not
        exist. That must not be mistaken for its deletion.
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
        """Raises ConditionError `CredentialError` when there is none."""


class Recorder(Protocol):
    """Writes events without blocking (`kube.events.EventRecorder`)."""

    def event(
        self,
        obj: JsonObject,
        type: Literal["Normal", "Warning"],  # noqa: A002 - the field's name
        reason: str,
        message: str,
    ) -> None:
        """Queue an event about the object. reason: one CamelCase word. Never blocks."""


class NamingRecorder(Recorder, Protocol):
    """A recorder from which others are derived (`kube.events.EventRecorder`)."""

    def named(self, source: str) -> Recorder:
        """The same recorder, for the events of one controller."""


class ServedKinds(Objects, Protocol):
    """The Azure objects in the cluster, and the version each kind is served at."""

    def served(self, group_kind: GroupKind) -> KindVersion | None:
        """The version that an installed kind is served at."""


class NamespaceReader(Protocol):
    """Annotations of Namespaces (`controllers.namespace_annotations`)."""

    def __call__(self, namespace: str) -> Mapping[str, str]:
        """Return the annotations from the cache. Raises RetryError, ConditionError."""

    def live(self, namespace: str, *, since: float) -> Mapping[str, str]:
        """Return the annotations as a read shows them that began at `since` or later.
        Raises ConditionError.
        """


@attrs.frozen
class SharedDependencies:
    """The dependencies that all kinds share.

    namespace_annotations: namespace name -> its annotations. namespace:
    the operator's own, which it writes on its objects. is_credential: whether some
    object names a Secret as its credential. objects_with_arm_id: an ARM id -> the
    objects that may represent it, each with its version: those claimed for it, and
    unclaimed ones with its name. Raises RetryError while some are not listed yet.
    wake_children: queues a reconcile of every object below an object.
    protected_below: an ARM id and an object's uid -> the protected objects whose
    resources are below the id, or that the object owns; raises as objects_with_arm_id.
    objects_of: a kind -> its objects, each with its version; raises as
    `objects_with_arm_id`.
    waiting: objects that wait for another one of the same id. claims_under_way: ids
    that objects are claiming. export_loop: of `DependencyIndex`. collection_reads: None
    reads each resource by a GET of its own. force_put_seconds: after so long, a
    resource of which Azure does not show every value gets a PUT even without drift;
    None is never. count_sync: called at each sync that reads first, with its result and
    whether it PUTs. count_confirmation: called at each read that a PUT or DELETE waits
    for. predecessor_renewed: when the previous leader last renewed its lease, None if
    not known. expressions: the engine that evaluates export expressions. record_key:
    returns the key that authenticates the operator's records and hashes values of
    Secrets; raises ConditionError `RecordKeyUnreadable`.
    """

    clock: Clock
    client: KubeClient
    catalogue: Catalogue
    objects: ServedKinds
    connections: ConnectionResolver
    extensions: Extensions
    recorder: NamingRecorder
    namespace_annotations: NamespaceReader
    namespace: str
    default_policy: Policy
    build: str
    record_key: Callable[[], RecordKey]
    sync_mode: SyncMode = SyncMode.PUT
    undeclared: Undeclared = Undeclared.PUT
    force_put_seconds: float | None = None
    count_sync: Callable[[SyncCause, bool], None] = lambda _cause, _is_put: None
    count_confirmation: Callable[[Confirmed], None] = lambda _of: None
    predecessor_renewed: Callable[[], datetime | None] = lambda: None
    expressions: Callable[[], Expressions] = shared
    is_credential: Callable[[ObjectKey], bool] = lambda _: False
    owner_reads: OwnerReads = attrs.field(
        default=attrs.Factory(lambda self: OwnerReads(self.clock), takes_self=True)
    )
    parent_writes: ParentWrites = attrs.field(factory=ParentWrites)
    objects_with_arm_id: Callable[[str], Iterable[tuple[KindVersion, JsonObject]]] = (
        lambda _: ()
    )
    wake_children: Callable[[ObjectReference], None] = lambda _: None
    protected_below: Callable[[str, str], Sequence[ObjectReference]] = (
        lambda _arm_id, _uid: ()
    )
    objects_of: Callable[[GroupKind], Iterable[tuple[KindVersion, JsonObject]]] = (
        lambda _: ()
    )
    waiting: Waiting = attrs.field(factory=Waiting)
    export_loop: Callable[[ObjectReference], Sequence[ObjectReference]] = lambda _: ()
    claims_under_way: ClaimsUnderWay = attrs.field(factory=ClaimsUnderWay)
    collection_reads: CollectionReads | None = None

    def forget(self, kind: "KindRuntime", key: ObjectKey) -> None:
        """Drop the memory of an object that is gone or released."""
        kind.memories.forget(key)
        self.waiting.forget(ObjectReference(kind.version.group_kind, key))


@attrs.frozen
class KindRuntime:
    """One kind as the cluster stores it, and what its reconciles share.

    version: the one that the kind is served at; the version of an object is its
    author's (`ReconcileScope.version`).
    unreadable: the objects that the cache could not read.
    recorder: None records events as the operator.
    """

    version: KindVersion
    resource: ApiResource
    cache: WriteCache
    requeue_backoff: RequeueBackoff
    in_flight_reads: InFlightReads
    form: StorageCodec = attrs.field(
        default=attrs.Factory(
            lambda self: SingleVersionCodec(self.version), takes_self=True
        )
    )
    memories: ObjectMemories = attrs.field(factory=ObjectMemories)
    unreadable: Callable[[], Mapping[ObjectKey, Unreadable]] = dict
    recorder: Recorder | None = None

    @property
    def group_kind(self) -> GroupKind:
        """The kind without its version."""
        return self.version.group_kind


@attrs.define(slots=False, eq=False)
class ReconcileScope:
    """One reconcile of one object. Not for sharing between threads.

    The scope holds the parts that the steps of a reconcile work with; a step passes on
    the parts that a function needs. patcher: the object's working copy, for every write
    of the object. memory: the process's memory of the object. objects: other Azure
    objects; reads of them are recorded. began: when the reconcile began, in
    `Clock.monotonic` seconds.
    is_checked: whether extensions have permitted the writes of this reconcile (kinds
    without ARM). A part that takes a request or a credential is made by
    the first step that needs it (D18).
    """

    operator: SharedDependencies
    kind: KindRuntime
    patcher: PatchHelper
    log: Logger
    # Kept here, not looked up again: memory that is dropped during the reconcile stays
    # dropped.
    memory: ObjectMemory
    objects: TrackingReader
    began: float
    _read_set: ReadSet
    is_checked: bool = attrs.field(default=False, init=False)
    # The last record that was verified, with its text.
    _verified: tuple[str | None, ClaimRecord | None] = (None, None)

    @cached_property
    def namespace_annotations(self) -> Mapping[str, str]:
        """The Namespace's annotations that the object inherits, read once a reconcile.
        Raises RetryError while the Namespace is not cached yet.
        """
        return self.operator.namespace_annotations(self.patcher.key.namespace)

    @cached_property
    def sync_period_seconds(self) -> float | None:
        """The object's own sync period, or its Namespace's or kind's; None is never."""
        default = self.kind.requeue_backoff.sync_period_seconds
        own, inherited = self.patcher.annotations, self.namespace_annotations
        return period_of(own, inherited, default) if self.has_pace else default

    @cached_property
    def has_pace(self) -> bool:
        """Whether an annotation sets a pace for the object or its Namespace."""
        own, inherited = self.patcher.annotations, self.namespace_annotations
        return not (PACE.isdisjoint(own) and PACE.isdisjoint(inherited))

    @cached_property
    def is_undecided(self) -> bool:
        """Whether the object has still to decide about a resource that may be there."""
        return self.patcher.annotations.get(EXISTENCE) == UNDECIDED

    @cached_property
    def closed(self) -> Closed | None:
        """The reason why nothing may be changed in Azure now; None if it may."""
        if not self.has_pace:
            return None
        own, inherited = self.patcher.annotations, self.namespace_annotations
        return closed_at(self.operator.clock.now(), own, inherited)

    @cached_property
    def asked(self) -> str:
        """The value of `reconcile-at` that this reconcile handles, or ""."""
        return unhandled_request(self.patcher.annotations) if self.has_pace else ""

    @cached_property
    def may_write(self) -> bool:
        """Whether the policy allows a PUT; false if it has an unknown value.

        Raises RetryError, ConditionError if the Namespace is not known.
        """
        policy = policy_of(
            self.patcher.annotations,
            self.namespace_annotations,
            self.operator.default_policy,
        )
        return policy is not None and policy.writes

    @property
    def claim(self) -> ClaimRecord | None:
        """The recorded claim. Raises ConditionError `RecordKeyUnreadable`."""
        text = self.patcher.annotations.get(CLAIM)
        if text != self._verified[0]:
            found = claim_of(self.patcher.obj, self.operator.record_key)
            self._verified = text, found
        return self._verified[1]

    @property
    def manages_nothing(self) -> bool:
        """True if Azure has accepted no PUT of the object, and every PUT was answered.

        Raises as `claim`.
        """
        claim = self.claim
        if claim is None or claim.standing is Standing.ACCEPTED:
            return False
        return claim.standing is Standing.NONE or self.memory.knows_answers

    @property
    def may_move(self) -> bool:
        """True if the spec may name another resource than the claimed one: the object
        manages nothing, and was not only claimed a moment ago.
        """
        put = self.patcher.annotations.get(LATEST_RECONCILED_GENERATION)
        if self.claim is None or self.claim.standing is Standing.ACCEPTED:
            return False
        is_new = self.claim.standing is Standing.OPEN and not self.memory.was_put
        is_unchanged = is_new and put == str(self.patcher.generation)
        return self.manages_nothing and not is_unchanged

    @cached_property
    def connection(self) -> Connection:
        """The connection to ARM. Raises ConditionError: no credential, or one that does
        not fit the claimed id.
        """
        # Taken before the read: a change during it must not count as already used.
        self.memory.content = ""
        connection = self._found()
        self.memory.content = connection.content
        try:
            connection.require_subscription_of(self.patcher.arm_id)
        except ConditionError:
            # An id without a resource may be corrected, and with it the subscription.
            if not self.manages_nothing:
                raise
        # A deletion may use another Secret in place of the one that is gone.
        if not is_deleting(self.patcher.obj):
            self.patcher.annotate({OWN_CREDENTIAL: self._own_secret(connection)})
        return connection

    def remember_credential(self) -> None:
        """Keep the connection for a later deletion, if there is one now."""
        with suppress(ConditionError):
            self._found()

    def _found(self) -> Connection:
        """The connection of the object's credential. For a deleted object whose Secret
        is gone, as with a deleted Namespace, the one that was used last.
        """
        obj, memory = self.patcher.obj, self.memory
        try:
            found = self.operator.connections.for_object(obj)
        except CredentialError as error:
            kept = memory.connection if is_deleting(obj) and error.is_gone else None
            if not isinstance(kept, Connection):
                raise
            found = kept
        memory.connection = found
        return found

    def _own_secret(self, connection: Connection) -> str | None:
        """The name of a connection's Secret in the object's namespace, else None."""
        namespace, _, name = connection.source.partition("/")
        is_own = namespace == self.patcher.key.namespace and name != SETTINGS_SECRET
        return name if is_own else None

    @cached_property
    def references(self) -> ReferenceResolver:
        """Resolves what the object names, in its own namespace only; reads are
        recorded.
        """
        return ReferenceResolver(
            self.patcher.key.namespace,
            client=self.operator.client,
            objects=self.objects,
            read_set=self._read_set,
            is_credential=self.operator.is_credential,
        )

    @cached_property
    def operations(self) -> AnnotationLroStore:
        """Stores tokens of operations with the object, and marks them."""
        return AnnotationLroStore(self.patcher, self.operator.record_key)

    @cached_property
    def context(self) -> ReconcileContext:
        """The context for this reconcile's extensions; they share its raw GET."""
        is_arm = self.patcher.version.is_arm
        return ReconcileContext(
            version=self.patcher.version,
            # Users of databases need no credential of Azure, unless an extension asks.
            arm=self.connection.client if is_arm else _arm_on_use(self),
            arm_id=self.patcher.arm_id if is_arm else "",
            subscription_id=self.connection.subscription_id if is_arm else "",
            objects=_View(self.patcher.version, self.objects),
            log=self.log,
            clock=self.operator.clock,
            operations=self.operations,
            polls=self.memory.sub_polls,
            event=self.event,
            only_reports=self.sync_mode is SyncMode.REPORT,
        )

    @cached_property
    def sync_mode(self) -> SyncMode:
        """The mode in force for this object's syncs. Raises as
        `namespace_annotations`.
        """
        notes, inherited = self.patcher.annotations, self.namespace_annotations
        return sync_mode_of(notes, inherited, self.operator.sync_mode)

    def owner(self) -> Owner | None:
        """The owner as the cluster has it now. Raises ConditionError."""
        patcher = self.patcher
        owner = resolve_owner(patcher.version, patcher.obj, self.objects)
        if owner is None or owner.group_kind is None:
            return owner
        served = self.operator.objects.served(owner.group_kind)
        return attrs.evolve(owner, kept_as=served.kept_as) if served else owner

    def wake_children(self) -> None:
        """Queue a reconcile of every object below this one. Never blocks."""
        group_kind = self.patcher.version.group_kind
        self.operator.wake_children(ObjectReference(group_kind, self.patcher.key))

    def event(
        self, type_: Literal["Normal", "Warning"], reason: str, message: str
    ) -> None:
        """Record an event at the object, in its controller's name. Never blocks."""
        recorder = self.kind.recorder or self.operator.recorder
        recorder.event(self.patcher.obj, type_, reason, message)


def _arm_on_use(scope: ReconcileScope) -> ArmAccess:
    """Return ARM for the extensions of a kind without ARM: it signs in when used."""
    return cast("ArmAccess", _ArmOnUse(scope))


@attrs.frozen
class _ArmOnUse:
    _scope: ReconcileScope

    def __getattr__(self, name: str) -> Any:
        return getattr(self._scope.connection.client, name)


@attrs.frozen
class _View:
    """The cluster as extensions see it: cached objects, and this object's owner."""

    version: KindVersion
    objects: Objects

    def get(self, group_kind: GroupKind, key: ObjectKey) -> JsonObject | None:
        return self.objects.get(group_kind, key)

    def owner_of(self, obj: JsonObject) -> JsonObject | None:
        owner = resolve_owner(self.version, obj, self.objects)
        return None if owner is None else owner.obj
