"""The decisions of a reconcile as values: pure functions make them, others act.

A decision is a value if it has alternatives: the first step of a reconcile (`plan`),
whether a sync PUTs (`drift`), and the reaction to a poll. `apply` applies its effects;
`carry_out` also does its next step.
"""

from collections.abc import Mapping
from enum import Enum, auto
from typing import Literal

import attrs

from asoreconcile.azure.arm.condition_error import ConditionError
from asoreconcile.azure.arm.errors import ArmError
from asoreconcile.azure.arm.outcomes import PollState, ReadResource, Restart
from asoreconcile.azure.reconcile.model.drift_baseline import (
    AcceptedPut,
    DriftBaseline,
    RepairAttempts,
)
from asoreconcile.base.objects import JsonObject

# Practically no delay: the next reconcile runs at once, but the queue may serve other
# objects in between.
AT_ONCE_SECONDS = 0.001
# Higher than objects that wait for their first reconcile: started work is finished
# before more is started. Otherwise, of many objects applied at once, none would
# progress until all are claimed.
IN_PROGRESS_PRIORITY = 1
# The delay before a lost operation is started again: Azure may lose the next one too.
LOST_SECONDS = 5.0

SyncCause = Literal[
    "unchanged",  # nothing differs
    "resumed",  # nothing was read: another process synced it within the period
    "moving",  # the resource is in transition
    "changed",  # a Secret, ConfigMap or reference is another than at the last PUT
    "gone",  # Azure does not have the resource
    "drift",  # a declared value differs
    "undeclared",  # a value changed that the spec does not declare
    "confirm",  # Azure accepted a value but reports another
    "forced",  # the last PUT is too long ago
    "failed",  # Azure says that the resource's last operation failed or was canceled
    "braked",  # a PUT is due, but too many have followed a success
    "unrecorded",  # no PUT is recorded, and Azure does not show every declared value
]
AnnotationPatch = Mapping[str, str | None]  # annotations; None removes one


# Effects: changes of metadata, status, events, logs and memory. They read nothing.


@attrs.frozen
class SetMetadata:
    """Annotations and labels to write with the next write of metadata."""

    annotations: AnnotationPatch
    labels: Mapping[str, str] = attrs.field(factory=dict)


@attrs.frozen
class PatchMetadata:
    """Set metadata like SetMetadata, but store it before the next step."""

    annotations: AnnotationPatch
    labels: Mapping[str, str] = attrs.field(factory=dict)


@attrs.frozen
class SetDrifted:
    """The Drifted condition of the status that is written at the end; without a message
    the condition is absent.
    """

    message: str = ""


@attrs.frozen
class SetObservedGeneration:
    """The observedGeneration of the conditions that follow."""

    generation: int


@attrs.frozen
class EmitEvent:
    """Record an event at the object, without waiting for the write."""

    type: Literal["Normal", "Warning"]
    reason: str
    message: str


@attrs.frozen
class Log:
    """A line for the operator's log. reason: why."""

    level: Literal["info", "warning"]
    message: str
    reason: str = ""


@attrs.frozen
class CountSync:
    """Count a sync in the metrics. is_put: whether it sends a PUT."""

    cause: SyncCause
    is_put: bool = False


class Keep(Enum):
    """A decision to change nothing."""

    KEEP = auto()


@attrs.frozen
class UpdateMemory:
    """Changes of the object's memory (`memory.ObjectMemory`).

    failed_operation_generation: the generation whose operation failed; counted.
    """

    accepted: AcceptedPut | Keep | None = Keep.KEEP
    poll: PollState | Keep = Keep.KEEP
    failed_operation_generation: int | Keep = Keep.KEEP
    repair_attempts: RepairAttempts | Keep = Keep.KEEP


Effect = (
    SetMetadata
    | PatchMetadata
    | SetDrifted
    | SetObservedGeneration
    | EmitEvent
    | Log
    | CountSync
    | UpdateMemory
)


# The next step: a request, or a step that makes one.


@attrs.frozen
class Put:
    """A PUT. record: to be written if Azure accepts it. withdrawn: the annotation to be
    written if not; "" leaves the record of the last PUT.
    """

    arm_id: str
    body: JsonObject = attrs.field(repr=False)
    record: DriftBaseline
    withdrawn: str = ""


class ReadAfter(Enum):
    """The step that comes before the read of a resource."""

    NOTHING = auto()  # the policy is skip
    PUT = auto()
    OPERATION = auto()  # of a PUT; its token is removed after the resource was read


@attrs.frozen
class Read:
    """Read the resource into the status, check it, and export its values.

    body: if it has just been read. listed_at: when the list was begun that has shown
    the stored status, in `Clock.monotonic` seconds; None without a list.
    """

    after: ReadAfter
    body: JsonObject | None = attrs.field(default=None, repr=False)
    listed_at: float | None = None


@attrs.frozen
class RemoveFinalizer:
    """Remove our finalizer, if the object has it: Kubernetes may then delete the
    object.
    """


# Endings.


@attrs.frozen
class Succeeded:
    """The resource matches the spec: Ready becomes True, the next reconcile is the
    resync.

    resync_seconds: until then, None for never; by default the sync period.
    """

    resync_seconds: float | Keep | None = Keep.KEEP


@attrs.frozen
class Requeue:
    """Requeue after a delay: something is in progress. Ready stays as it was set.

    priority: of that reconcile; None keeps this reconcile's.
    """

    after_seconds: float = AT_ONCE_SECONDS
    priority: int | None = None


@attrs.frozen
class Stop:
    """Nothing is left to do: the object is not ours, or gone."""


@attrs.frozen
class Fail:
    """Ready shows the error; the error's class decides when to retry."""

    error: ConditionError


@attrs.frozen
class Refused:
    """Fail because of a refusal by Azure that is not classified yet (R4.4)."""

    error: ArmError
    action: Literal["CreateOrUpdate", "Delete", "Monitor"]


@attrs.frozen
class OperationLost:
    """Fail because of an operation that left no trace (L16)."""

    operation: Restart


ReconcileOutcome = Succeeded | Requeue | Stop
Ending = ReconcileOutcome | Fail | Refused | OperationLost


# ReadResource: read the resource instead of its operation's monitor (L16).
Next = Put | ReadResource | Read | RemoveFinalizer | Ending


@attrs.frozen
class Decision:
    """Effects in their order, and the next step."""

    effects: tuple[Effect, ...]
    then: Next
