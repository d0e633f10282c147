"""The requests that the phases of a reconcile get: frozen, so that each change makes
another one.
"""

from collections.abc import Mapping, Sequence

import attrs

from asoreconcile.azure.arm.errors import ArmError
from asoreconcile.azure.reconcile.identity.identity import ResourceIdentity, identify
from asoreconcile.azure.reconcile.model.decisions import Effect, Put, ReadAfter
from asoreconcile.azure.reconcile.model.drift_baseline import DriftBaseline, last_put_of
from asoreconcile.azure.reconcile.model.foreign_values import ReplacedValues
from asoreconcile.azure.reconcile.model.merged_body import MergedBody
from asoreconcile.azure.reconcile.model.owner import Owner
from asoreconcile.azure.reconcile.model.sync_mode import SyncMode
from asoreconcile.azure.reconcile.scope.reconcile_scope import ReconcileScope
from asoreconcile.azure.reconcile.state.parent_writes import ParentRead
from asoreconcile.azure.reconcile.sync.desired import Desired, RenderedSpec
from asoreconcile.azure.reconcile.sync.put_record import (
    has_other_inputs,
    is_recorded,
    reads_first,
    ready_of_last_put,
    seconds_since_put,
)
from asoreconcile.azure.reconcile.sync.rendering import bodies_of, rendered_again
from asoreconcile.base.lazy import computed_once
from asoreconcile.base.objects import JsonObject


@attrs.frozen
class WriteRequest:
    """A request to change something outside the cluster, before it is sent.

    inherited: live annotations of the Namespace. is_delete: whether it is a DELETE.
    """

    scope: ReconcileScope
    inherited: Mapping[str, str]
    is_delete: bool


@attrs.frozen(slots=False, eq=False)
class Intent:
    """A reconcile on its way to a PUT, before it is decided whether one is sent.

    reading: record of the reads that the body rests on. mode: sync mode in force.
    last_put: record of the last accepted PUT. ready: result of `ready_of_last_put`.
    owner: the owner, once the claim was checked. is_checked: whether the checks of
    extensions have run. is_first: whether this process looks at the object for the
    first time.
    """

    scope: ReconcileScope
    reading: ParentRead
    mode: SyncMode
    last_put: DriftBaseline | None
    ready: JsonObject | None
    owner: Owner | None = None
    is_checked: bool = False
    is_first: bool = False

    @classmethod
    def of(cls, scope: ReconcileScope, reading: ParentRead) -> "Intent":
        """Return the first request of a reconcile."""
        patcher = scope.patcher
        last_put = last_put_of(patcher.annotations)
        ready = ready_of_last_put(patcher)
        return cls(scope, reading, scope.sync_mode, last_put, ready)

    @property
    def is_ready(self) -> bool:
        """Return whether the last PUT of this generation has left the object Ready."""
        return (self.ready or {}).get("status") == "True"

    @computed_once
    def is_sync(self) -> bool:
        """True if the resource is read before it is decided to PUT.

        An object that has only observed has sent no PUT, whatever its Ready says.
        """
        scope = self.scope
        if scope.memory.accepted is not None or scope.must_ask or scope.is_undecided:
            return False
        return reads_first(scope.patcher, self.mode, self.ready, self.last_put)

    @computed_once
    def identity(self) -> ResourceIdentity:
        """The resource that the spec names. Raises as `identify`."""
        return identify(self.scope, self.owner)

    @computed_once
    def rendered(self) -> RenderedSpec:
        """The body that the spec makes, rendered at the first use; reads Secrets.
        Raises ConditionError.
        """
        return bodies_of(self.scope).render(self.identity, self.last_put)

    @property
    def recalled(self) -> DriftBaseline | None:
        """The record from which policies continue, in the first reconcile of an object
        by this process; else None.
        """
        return self.last_put if self.is_first else None

    @property
    def record_age(self) -> float:
        """Seconds since the recorded PUT; 0.0 if not known."""
        now = self.scope.operator.clock.now()
        return seconds_since_put(self.last_put, now) or 0.0

    @property
    def is_recorded(self) -> bool:
        """Return whether a PUT of the present body is recorded as accepted."""
        return is_recorded(self.scope.patcher, self.rendered, self.last_put)


@attrs.frozen(eq=False)
class DecidedPut:
    """A PUT that was decided, before it is sent.

    intent: the request that led to it. desired: the body that the object declares. put:
    the body to send, and its record. effects: changes that the sync's decision makes
    once the PUT is permitted. merged: the merge with the values of other writers, if
    there was one. replaced: other writers' values that the PUT replaces.
    """

    intent: Intent
    desired: Desired
    put: Put
    effects: Sequence[Effect] = ()
    merged: MergedBody | None = None
    replaced: ReplacedValues = attrs.field(factory=ReplacedValues)

    @property
    def scope(self) -> ReconcileScope:
        """Return the scope of the reconcile."""
        return self.intent.scope


@attrs.frozen(slots=False, eq=False)
class SettleRequest:
    """The end of a reconcile: the resource is read, checked and exported.

    after: the step before the read. body: the resource, if it has just been read. sent:
    the PUT, if this reconcile sent it. listed_at: start of the list that showed the
    resource, in `Clock.monotonic` seconds; None if no list was used. is_put_again:
    whether another PUT follows at once.
    """

    scope: ReconcileScope
    after: ReadAfter
    body: JsonObject | None = attrs.field(default=None, repr=False)
    sent: Desired | None = None
    listed_at: float | None = None
    is_put_again: bool = False

    @computed_once
    def is_of_put(self) -> bool:
        """True if the read shows the result of an accepted PUT."""
        accepted = self.scope.memory.accepted
        return accepted is not None or self.after is ReadAfter.OPERATION

    @computed_once
    def rendered(self) -> RenderedSpec | None:
        """The body of the PUT before extensions; None if it is not known, or if there
        was no PUT.
        """
        if self.sent is not None:
            return self.sent.rendered
        return rendered_again(self.scope) if self.is_of_put else None

    @computed_once
    def is_outdated(self) -> bool:
        """True if the inputs have changed during the operation of the PUT."""
        if self.after is not ReadAfter.OPERATION:
            return False
        return has_other_inputs(self.scope.patcher, self.rendered)


@attrs.frozen(eq=False)
class RefusedRequest:
    """A PUT that Azure has refused.

    rendered: its body before extensions. desired: the body; None if another reconcile
    sent it. is_immediate: whether the answer to the PUT itself was the refusal, and not
    the end of its operation.
    """

    scope: ReconcileScope
    error: ArmError
    rendered: RenderedSpec
    desired: Desired | None = None
    is_immediate: bool = False


@attrs.frozen
class DeleteIntent:
    """A reconcile on its way to a DELETE of the object's resource."""

    scope: ReconcileScope


@attrs.frozen
class LeftAlone:
    """The end of a deletion without a DELETE: the object is released. why: a sentence
    that names the resource and the reason.
    """

    why: str
