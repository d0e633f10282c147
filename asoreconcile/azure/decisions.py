"""What a reconcile does, as values: decided by pure functions, done by `execute`.

A reconcile is a conversation. An action is done, which talks to Azure or to the
cluster; what is known then are facts; a pure function makes of them the next Decision:

    facts -> decide -> Decision(effects, then) -> execute -> facts -> ... -> an ending

`plan` makes the first one; `begin`, `operation_polls`, `success`, `delete` the others.
"""

from collections.abc import Mapping
from enum import Enum, auto
from typing import Literal

import attrs

from asoreconcile.arm.condition_error import ConditionError
from asoreconcile.arm.errors import ArmError
from asoreconcile.arm.outcomes import PollState, ReadResource, Restart
from asoreconcile.azure.conditions import ReadyCondition
from asoreconcile.azure.put_ledger import PutRecord
from asoreconcile.azure.repair_attempts import RepairAttempts
from asoreconcile.objects import JsonObject

# Long enough to be a delay, too short to be one: the next reconcile runs at once, and
# the queue may serve others in between.
AT_ONCE_SECONDS = 0.001
# Above what waits for its first reconcile: what is started is finished before more is
# started, or many objects applied at once would all be late by the time of marking them
# all.
IN_PROGRESS_PRIORITY = 1
# Before a lost operation is begun again: Azure may lose the next one too.
LOST_SECONDS = 5.0

SyncCause = Literal[
    "unchanged",  # nothing differs
    "resumed",  # nothing was read: another process has looked within the period
    "moving",  # the resource is in transition
    "changed",  # a Secret, ConfigMap or reference is another than at the last PUT
    "gone",  # Azure does not have the resource
    "drift",  # a declared value differs
    "undeclared",  # a value was changed that nobody declared
    "confirm",  # Azure accepted a value and has another
    "forced",  # the last PUT is too long ago
]
AnnotationPatch = Mapping[str, str | None]  # annotations; None removes one


# Effects: what is kept and told. None of them asks anything.


@attrs.frozen
class SetMetadata:
    """Annotations and labels to write with the next write of metadata."""

    annotations: AnnotationPatch
    labels: Mapping[str, str] = attrs.field(factory=dict)


@attrs.frozen
class PatchMetadata:
    """As SetMetadata, and durable before anything else is done."""

    annotations: AnnotationPatch
    labels: Mapping[str, str] = attrs.field(factory=dict)


@attrs.frozen
class PatchSharedMetadata:
    """Metadata that others write too (finalizers, ownerReferences), and what goes with
    it: written at once, and only over the version that was read.
    """

    metadata: JsonObject


@attrs.frozen
class RecordOwnWrite:
    """The object is as our own write of this moment left it (`recent_writes`)."""


@attrs.frozen
class SetReady:
    """A Ready condition for the status that is written at the end.

    reason_aware: it may take the place of one of lower rank (R3.3).
    """

    ready: ReadyCondition
    reason_aware: bool = False


@attrs.frozen
class SetDrifted:
    """The Drifted condition of the status that is written at the end; without message
    there is none.
    """

    message: str = ""


@attrs.frozen
class AppendToMessages:
    """A sentence that every condition of this reconcile ends in, or ""."""

    text: str


@attrs.frozen
class RestoreReady:
    """Ready stays as it was read, whatever was shown before."""


@attrs.frozen
class PatchStatus:
    """A merge patch for the status, from an extension."""

    patch: JsonObject


@attrs.frozen
class SetObservedGeneration:
    """The conditions from here on speak of this generation of the spec."""

    generation: int


@attrs.frozen
class EmitEvent:
    """Record an event at the object; nothing waits for it to be written."""

    type: Literal["Normal", "Warning"]
    reason: str
    message: str


@attrs.frozen
class EmitUnreadableEvent:
    """A Warning event with the words of a monitor that refuses to speak (L16)."""

    refusal: ArmError


@attrs.frozen
class Log:
    """A line for the operator's log; reason: why. arm_id: of which resource."""

    level: Literal["info", "warning"]
    message: str
    reason: str = ""
    arm_id: str = ""


@attrs.frozen
class CountSync:
    """A sync that was decided, for the metrics. is_put: whether it PUTs."""

    cause: SyncCause
    is_put: bool = False


class Keep(Enum):
    """No change."""

    KEEP = auto()


@attrs.frozen
class UpdateMemory:
    """Changes of the object's memory (`memory.ObjectMemory`).

    failed_operation_generation: one more operation on the spec of this generation
    failed.
    """

    accepted: PutRecord | Keep | None = Keep.KEEP
    poll: PollState | Keep = Keep.KEEP
    precondition_failures: int | Keep = Keep.KEEP
    failed_operation_generation: int | Keep = Keep.KEEP
    repair_attempts: RepairAttempts | Keep = Keep.KEEP
    credential: str | Keep = Keep.KEEP
    unknown_values: frozenset[str] | Keep = Keep.KEEP


Effect = (
    SetMetadata
    | PatchMetadata
    | PatchSharedMetadata
    | RecordOwnWrite
    | SetReady
    | SetDrifted
    | AppendToMessages
    | RestoreReady
    | PatchStatus
    | SetObservedGeneration
    | EmitEvent
    | EmitUnreadableEvent
    | Log
    | CountSync
    | UpdateMemory
)


# Actions: each asks Azure, the cluster or the extensions, once.


@attrs.frozen
class SetOperatorNamespace:
    """Write whose the object is (R1.3). claim: with its claim, where it can be made."""

    claim: bool


@attrs.frozen
class Claim:
    """Write that it is ours, and which resource it stands for (R1.4)."""


@attrs.frozen
class RestoreId:
    """Write which resource, when that was removed after the claim (D10)."""


@attrs.frozen
class PreparePut:
    """Ask the checks whether the PUT may go out, and make its body."""


@attrs.frozen
class Put:
    """PUT. digest: of the request, as `put_ledger` makes it."""

    arm_id: str
    body: JsonObject = attrs.field(repr=False)
    digest: bytes = attrs.field(repr=False)
    notes: Mapping[str, str] = attrs.field(factory=dict)


@attrs.frozen
class Poll:
    """Ask for the recorded operation, unless it is too early."""


@attrs.frozen
class InferFromResource:
    """Read the resource in place of the monitor of its operation (L16)."""

    undecided: ReadResource


class Follows(Enum):
    """What the reading of a resource follows."""

    NOTHING = auto()  # the policy is skip
    PUT = auto()
    OPERATION = auto()  # of a PUT; its token goes once the resource was read


@attrs.frozen
class Read:
    """Read the resource into the status. body: if it has just been read."""

    follows: Follows
    body: JsonObject | None = attrs.field(default=None, repr=False)


@attrs.frozen
class PostCheck:
    """Have the extensions look at the resource, and see what a PUT mended."""

    follows: Follows


@attrs.frozen
class WriteExports:
    """Write the Secrets and ConfigMaps that are made from the resource."""

    follows: Follows


@attrs.frozen
class PrepareDelete:
    """Find out whether the resource is this object's to delete."""


@attrs.frozen
class Delete:
    """Ask Azure to delete the resource; an answer that it is gone already is a
    success.
    """


@attrs.frozen
class CheckAbsent:
    """Find out whether a resource is there that Azure cannot delete alone (R5.9)."""


@attrs.frozen
class RemoveFinalizer:
    """Remove our finalizer, if it is there: Kubernetes may end the object."""


Action = (
    SetOperatorNamespace
    | Claim
    | RestoreId
    | PreparePut
    | Put
    | Poll
    | InferFromResource
    | Read
    | PostCheck
    | WriteExports
    | PrepareDelete
    | Delete
    | CheckAbsent
    | RemoveFinalizer
)


# Endings.


@attrs.frozen
class Succeeded:
    """The object is as wanted: Ready becomes True, the next look is the resync.

    resync_seconds: until that, None for never; without it the period decides.
    """

    resync_seconds: float | Keep | None = Keep.KEEP


@attrs.frozen
class Requeue:
    """Something is under way: look again after a delay. Ready stays as it was shown.

    priority: of that look; None keeps the one this reconcile was queued with.
    """

    after_seconds: float = AT_ONCE_SECONDS
    priority: int | None = None


@attrs.frozen
class Stop:
    """Nothing is left to do: the object is not ours, or gone."""


@attrs.frozen
class Fail:
    """Ready says what is wrong; the error's class says when to try again."""

    error: ConditionError


@attrs.frozen
class Refused:
    """As Fail, for a refusal of Azure's that is still to be classified (R4.4)."""

    error: ArmError
    action: Literal["CreateOrUpdate", "Delete", "Monitor"]


@attrs.frozen
class OperationLost:
    """As Fail, for an operation of which nothing is left (L16)."""

    operation: Restart


ReconcileOutcome = Succeeded | Requeue | Stop
Ending = ReconcileOutcome | Fail | Refused | OperationLost


@attrs.frozen
class Decision:
    """Effects in their order, and after them an action or the end."""

    effects: tuple[Effect, ...]
    then: Action | Ending
