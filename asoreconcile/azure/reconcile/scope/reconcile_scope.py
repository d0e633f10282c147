"""`ReconcileScope`: the objects, clients and facts that one reconcile of one object
uses.
"""

from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import datetime
from typing import Any, Literal, cast

import attrs

from asoreconcile.azure.arm.condition_error import ConditionError, unusable
from asoreconcile.azure.arm.credentials import CredentialError
from asoreconcile.azure.catalogue.ignored_fields import IgnoredFieldError
from asoreconcile.azure.catalogue.kinds import KindVersion
from asoreconcile.azure.catalogue.reserved import SETTINGS_SECRET
from asoreconcile.azure.middleware.context import (
    ArmAccess,
    ReconcileContext,
    ResourceRead,
)
from asoreconcile.azure.middleware.extension_points import GET
from asoreconcile.azure.middleware.requests import GetRequest
from asoreconcile.azure.reconcile.model.annotations import (
    EXISTENCE,
    LATEST_RECONCILED_GENERATION,
    OWN_CREDENTIAL,
)
from asoreconcile.azure.reconcile.model.claim_record import (
    ClaimRecord,
    PutAnswers,
    claim_of,
)
from asoreconcile.azure.reconcile.model.existence import UNDECIDED, stated_policy
from asoreconcile.azure.reconcile.model.instructions import LOGINS_AS_VALUES_ROW
from asoreconcile.azure.reconcile.model.merge_rules import (
    AUTOSCALE_SETTING,
    autoscaled_by,
    merge_rules,
)
from asoreconcile.azure.reconcile.model.merged_body import MergeRules
from asoreconcile.azure.reconcile.model.owner import Objects, Owner, resolve_owner
from asoreconcile.azure.reconcile.model.pace import (
    ASKED_SECONDS,
    PACE,
    Closed,
    closed_at,
    period_of,
    unhandled_request,
)
from asoreconcile.azure.reconcile.model.policy import Policy, policy_of
from asoreconcile.azure.reconcile.model.standing import (
    Act,
    Permit,
    Standing,
    may,
    standing_of,
)
from asoreconcile.azure.reconcile.model.switches import is_on
from asoreconcile.azure.reconcile.model.sync_mode import SyncMode, sync_mode_of
from asoreconcile.azure.reconcile.scope.arm_errors import ErrorConditions
from asoreconcile.azure.reconcile.scope.extension_operations import AnnotationLroStore
from asoreconcile.azure.reconcile.scope.patch_helper import PatchHelper
from asoreconcile.azure.reconcile.scope.references import ReferenceResolver
from asoreconcile.azure.reconcile.scope.shared_dependencies import (
    Connection,
    KindRuntime,
    SharedDependencies,
)
from asoreconcile.azure.reconcile.state.memory import ObjectMemory
from asoreconcile.azure.reconcile.state.read_set import ReadSet, TrackingReader
from asoreconcile.base.lazy import computed_once
from asoreconcile.base.log import Logger
from asoreconcile.base.objects import GroupKind, JsonObject, ObjectKey, is_deleting


@attrs.define(slots=False, eq=False)
class ReconcileScope:
    """One reconcile of one object. Not for sharing between threads.

    The scope holds the parts that the steps of a reconcile work with; a step passes on
    the parts that a function needs. patcher: the object's working copy, for every write
    of the object. memory: the process's memory of the object. objects: other Azure
    objects; reads of them are recorded. began: start of the reconcile, in
    `Clock.monotonic` seconds.
    is_checked: whether extensions have permitted the writes of this reconcile (kinds
    without ARM). is_attempted: whether a PUT of the resource was sent. permit: function
    of that name in `ReconcileContext`. A part that costs a request or needs a
    credential is made when a step first uses it (D18).
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
    permit: Callable[[], None] = attrs.field(default=lambda: None, init=False)
    is_attempted: bool = attrs.field(default=False, init=False)

    @computed_once
    def namespace_annotations(self) -> Mapping[str, str]:
        """The Namespace's annotations that the object inherits, read once a reconcile.
        Raises RetryError while the Namespace is not cached yet.
        """
        return self.operator.namespace_annotations(self.patcher.key.namespace)

    @computed_once
    def sync_period_seconds(self) -> float | None:
        """The sync period: the object's, its Namespace's or its kind's; None if there
        are no syncs.
        """
        default = self.kind.requeue_backoff.sync_period_seconds
        own, inherited = self.patcher.annotations, self.namespace_annotations
        return period_of(own, inherited, default) if self.has_pace else default

    @computed_once
    def has_pace(self) -> bool:
        """True if an annotation of the object or its Namespace sets a sync period, a
        pause or windows.
        """
        own, inherited = self.patcher.annotations, self.namespace_annotations
        return not (PACE.isdisjoint(own) and PACE.isdisjoint(inherited))

    @computed_once
    def is_undecided(self) -> bool:
        """True if the object has not decided yet about a resource that may exist
        already.
        """
        return self.patcher.annotations.get(EXISTENCE) == UNDECIDED

    @computed_once
    def closed(self) -> Closed | None:
        """The reason why nothing may be changed in Azure now; None if it may."""
        if not self.has_pace:
            return None
        own, inherited = self.patcher.annotations, self.namespace_annotations
        now, is_asked = self.operator.clock.now(), bool(self.asked)
        return closed_at(now, own, inherited, is_asked=is_asked)

    @property
    def opens(self) -> datetime | None:
        """The time at which the next maintenance window opens; None if something may be
        changed now, or no window opens.
        """
        return None if self.closed is None else self.closed.until

    @computed_once
    def asked(self) -> str:
        """The value of the annotation `reconcile-at` that this reconcile attempts, or
        "".
        """
        return "" if self.asked_wait_seconds else self._request

    @computed_once
    def asked_wait_seconds(self) -> float:
        """The seconds until the present value of `reconcile-at` may be attempted; 0.0
        if there is none, or at once.

        Once a value has lifted a wait, the next one does so a minute later.
        """
        lifted = self.memory.lifted_at
        if not self._request or lifted is None:
            return 0.0
        return max(lifted + ASKED_SECONDS - self.began, 0.0)

    @computed_once
    def _request(self) -> str:
        # Without the Namespace, which may be what cannot be read.
        own = self.patcher.annotations
        return "" if PACE.isdisjoint(own) else unhandled_request(own)

    @computed_once
    def policy(self) -> Policy | None:
        """The reconcile policy; None if it has an unknown value.

        Raises RetryError, ConditionError if the Namespace is not known.
        """
        own, inherited = self.patcher.annotations, self.namespace_annotations
        return policy_of(own, inherited, self.operator.default_policy)

    @computed_once
    def may_write(self) -> bool:
        """True if the policy allows a PUT; False if its value is unknown. Raises as
        `policy`.
        """
        return self.policy is not None and self.policy.writes

    @computed_once
    def claim(self) -> ClaimRecord | None:
        """The recorded claim, with the changes that this reconcile has made
        (`recorded_claim`). Raises ConditionError `RecordKeyUnreadable`.
        """
        return claim_of(self.patcher.obj, self.operator.record_key)

    @property
    def standing(self) -> Standing:
        """The right of the object to the resource with its id. Raises as `claim`."""
        patcher = self.patcher
        return standing_of(
            patcher.obj,
            patcher.arm_id or (self.claim.arm_id if self.claim else ""),
            self.claim,
            knows_answers=self.memory.knows_answers,
        )

    @property
    def must_ask(self) -> bool:
        """True if `if-exists` has to be asked before the object is PUT over a resource
        that exists. Raises as `claim`.
        """
        own, inherited = self.patcher.annotations, self.namespace_annotations
        if stated_policy(own, inherited) is None:
            return False
        if self.claim is not None and self.claim.facts.was_given:
            return False  # its manager has agreed
        return may(self.standing, Act.PUT_OVER) is not Permit.YES

    @property
    def manages_nothing(self) -> bool:
        """True if Azure has accepted no PUT of the object, and every PUT was answered.

        Raises as `claim`.
        """
        claim = self.claim
        if claim is None or claim.answers is PutAnswers.ACCEPTED:
            return False
        return claim.answers is PutAnswers.NONE or self.memory.knows_answers

    @computed_once
    def may_move(self) -> bool:
        """True if the spec may name another resource than the claimed one.

        It may if the object manages nothing, unless the claim was made a moment ago.
        """
        manages_nothing, claim = self.manages_nothing, self.claim
        if claim is None or not manages_nothing:
            return False
        put = self.patcher.annotations.get(LATEST_RECONCILED_GENERATION)
        is_new = claim.answers is PutAnswers.OPEN and not self.memory.was_put
        return not is_new or put != str(self.patcher.generation)

    @computed_once
    def connection(self) -> Connection:
        """The connection to ARM.

        Raises ConditionError if the object has no credential, or one of another
        subscription than the claimed id.
        """
        # Taken before the read: a change during it must not count as already used.
        self.memory.content = ""
        connection = self._found()
        self.memory.content = connection.content
        own = self._own_secret(connection)
        try:
            connection.require_subscription_of(self.patcher.arm_id)
        except ConditionError:
            # An id without a resource may be corrected, and with it the subscription.
            if not self.manages_nothing:
                raise
        # A deletion may use another Secret in place of the one that is gone.
        is_noted = own == self.patcher.annotations.get(OWN_CREDENTIAL)
        if not is_noted and not is_deleting(self.patcher.obj):
            self.patcher.annotate({OWN_CREDENTIAL: own})
        return connection

    def remember_credential(self) -> None:
        """Keep the connection for a later deletion, if there is one now."""
        with suppress(ConditionError):
            self._found()

    def _found(self) -> Connection:
        """Return the connection of the object's credential.

        For a deleted object whose Secret is gone, as after the deletion of a Namespace,
        return the connection that was used last.
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
        """Return the name of a connection's Secret if it is in the object's namespace,
        else None.
        """
        namespace, _, name = connection.source.partition("/")
        is_own = namespace == self.patcher.key.namespace and name != SETTINGS_SECRET
        return name if is_own else None

    @computed_once
    def references(self) -> ReferenceResolver:
        """The resolver of the spec's references, in the object's namespace only; its
        reads are recorded.
        """
        return ReferenceResolver(
            self.patcher.key.namespace,
            client=self.operator.client,
            objects=self.objects,
            read_set=self._read_set,
            is_credential=self.operator.is_credential,
            may_read_logins=lambda: is_on(
                self.namespace_annotations, LOGINS_AS_VALUES_ROW
            ),
        )

    @computed_once
    def errors(self) -> ErrorConditions:
        """Makes conditions of the failures of ARM."""
        return ErrorConditions(
            self.patcher,
            self.references,
            self.log,
            self.operator.extensions,
            lambda: self.connection.client,
        )

    @computed_once
    def operations(self) -> AnnotationLroStore:
        """The store that keeps tokens of operations in the object's annotations, with
        their marks.
        """
        return AnnotationLroStore(self.patcher, self.operator.record_key)

    @computed_once
    def context(self) -> ReconcileContext:
        """The context of this reconcile's extensions, which share one GET of the
        resource.
        """
        is_arm = self.patcher.version.is_arm
        return ReconcileContext(
            version=self.patcher.version,
            # Users of databases need no credential of Azure, unless an extension asks.
            arm=self.connection.client
            if is_arm
            else cast("ArmAccess", _ArmOnUse(self)),
            arm_id=self.patcher.arm_id if is_arm else "",
            subscription_id=self.connection.subscription_id if is_arm else "",
            objects=_View(self.patcher.version, self.objects),
            log=self.log,
            clock=self.operator.clock,
            operations=self.operations,
            polls=self.memory.sub_polls,
            event=self.event,
            only_reports=self.sync_mode is SyncMode.REPORT,
            permit=self.permit,
            get=self._get_through_extensions(),
        )

    def _get_through_extensions(
        self,
    ) -> Callable[[ReconcileContext], ResourceRead] | None:
        extensions, kind = self.operator.extensions, self.patcher.version.group_kind
        if not extensions.has(GET, kind):
            return None
        chain, obj = extensions.chain(GET, kind), self.patcher.obj
        return lambda context: chain(GetRequest(context, obj))

    @computed_once
    def sync_mode(self) -> SyncMode:
        """The mode in force for this object's syncs. Raises as
        `namespace_annotations`.
        """
        own, inherited = self.patcher.annotations, self.namespace_annotations
        return sync_mode_of(own, inherited, self.operator.sync_mode)

    def merge_rules(self) -> MergeRules:
        """Return the rules of the object's merged body.

        Raises ConditionError `Failed` for ignored fields that cannot be read or that
        the kind does not have. Raises RetryError while
        the autoscale settings are not listed yet.
        """
        patcher, operator = self.patcher, self.operator
        version, key, arm_id = patcher.version, patcher.key, patcher.arm_id
        settings = (setting for _, setting in operator.objects_of(AUTOSCALE_SETTING))
        try:
            return merge_rules(
                version,
                patcher.annotations,
                self.namespace_annotations,
                foreign_tags=operator.foreign_tags,
                ignore_fields=operator.ignore_fields,
                autoscaled=autoscaled_by(version, key, arm_id, settings),
                owner_of=lambda: self.context.objects.owner_of(patcher.obj),
            )
        except IgnoredFieldError as error:
            raise unusable(str(error)) from None

    def owner(self) -> Owner | None:
        """Return the owner as it is in the cluster now. Raises ConditionError."""
        patcher = self.patcher
        owner = resolve_owner(patcher.version, patcher.obj, self.objects)
        if owner is None or owner.group_kind is None:
            return owner
        served = self.operator.objects.served(owner.group_kind)
        return attrs.evolve(owner, kept_as=served.kept_as) if served else owner

    def wake_children(self) -> None:
        """Queue a reconcile of every object whose owner is this one, directly or not.
        Never blocks.
        """
        self.operator.wake_children(self.patcher.node)

    def event(
        self, type_: Literal["Normal", "Warning"], reason: str, message: str
    ) -> None:
        """Record an event about the object, with its controller as the source. Never
        blocks.
        """
        self.kind.recorder.event(self.patcher.obj, type_, reason, message)


@attrs.frozen
class _ArmOnUse:
    """The ARM client for extensions of a kind without ARM; it signs in at its first
    use.
    """

    _scope: ReconcileScope

    def __getattr__(self, name: str) -> Any:
        return getattr(self._scope.connection.client, name)


@attrs.frozen
class _View:
    """The view of the cluster for extensions: cached objects, and this object's
    owner.
    """

    version: KindVersion
    objects: Objects

    def get(self, group_kind: GroupKind, key: ObjectKey) -> JsonObject | None:
        return self.objects.get(group_kind, key)

    def owner_of(self, obj: JsonObject) -> JsonObject | None:
        owner = resolve_owner(self.version, obj, self.objects)
        return None if owner is None else owner.obj
