"""The decisions of a reconcile as values: pure functions make them, others act.

Only the decision whether a sync PUTs (`drift`) is a value, because its alternatives are
compared and tested; other decisions are plain calls. `sync.effects` applies the effects
of such a decision.
"""

from collections.abc import Mapping
from enum import Enum, auto
from typing import Literal

import attrs

from asoreconcile.azure.arm.condition_error import ConditionError
from asoreconcile.azure.catalogue.type_facts import MovingValue
from asoreconcile.azure.reconcile.model.drift_baseline import (
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

SyncCause = Literal[
    "unchanged",  # nothing differs
    "resumed",  # nothing was read: another process synced it within the period
    "moving",  # the resource is in transition
    "asked",  # a value of reconcile-at has lifted a pause
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


# Effects: changes of metadata, status, events, logs and memory. They read nothing.


@attrs.frozen
class SetMetadata:
    """Annotations to write with the next write of metadata; None removes one."""

    annotations: Mapping[str, str | None]


@attrs.frozen
class SetDrifted:
    """Set the Drifted condition of the status that is written at the end; without a
    message the condition is removed.
    """

    message: str = ""


@attrs.frozen
class EmitEvent:
    """Record an event at the object, without waiting for the write."""

    type: Literal["Normal", "Warning"]
    reason: str
    message: str


@attrs.frozen
class Log:
    """Write a line to the operator's log. reason: the reason shown in the line."""

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
    """A change of the object's memory (`memory.ObjectMemory`)."""

    repair_attempts: RepairAttempts


Effect = SetMetadata | SetDrifted | EmitEvent | Log | CountSync | UpdateMemory


# The next step.


@attrs.frozen
class Put:
    """A PUT to send.

    record: the record to write if Azure accepts the PUT. withdrawn: the annotation to
    write if Azure does not accept it; "" keeps the record of the last PUT. held: values
    that are sent as Azure has them (`guarded_values`).
    """

    arm_id: str
    body: JsonObject = attrs.field(repr=False)
    record: DriftBaseline
    withdrawn: str = ""
    held: tuple[MovingValue, ...] = ()


@attrs.frozen
class Read:
    """A decision to write the resource that was read to the status, check it, and
    export its values.

    listed_at: start of the list that has shown the resource, in `Clock.monotonic`
    seconds; None if no list was used.
    """

    body: JsonObject | None = attrs.field(default=None, repr=False)
    listed_at: float | None = None


@attrs.frozen
class Fail:
    """A decision to show an error in Ready; the error's class decides when to retry."""

    error: ConditionError


@attrs.frozen
class Decision:
    """The decision of a sync: effects in their order, and the next step."""

    effects: tuple[Effect, ...]
    then: Put | Read | Fail


# The end of a reconcile.


class ReadAfter(Enum):
    """The step that came before the read of a resource."""

    NOTHING = auto()  # the policy is skip
    PUT = auto()
    OPERATION = auto()  # of a PUT; its token is removed after the resource was read


@attrs.frozen
class Succeeded:
    """The resource matches the spec: Ready becomes True, the next reconcile is the
    resync.

    resync_seconds: seconds until the resync, None for never; by default the sync
    period.
    """

    resync_seconds: float | Keep | None = Keep.KEEP


@attrs.frozen
class Requeue:
    """Requeue after a delay: something is in progress. Ready stays as it was set.

    priority: queue priority of that reconcile; None keeps the priority of this one.
    """

    after_seconds: float = AT_ONCE_SECONDS
    priority: int | None = None


@attrs.frozen
class Stop:
    """The end of a reconcile with nothing left to do: the object is another operator's,
    or gone.
    """


ReconcileOutcome = Succeeded | Requeue | Stop
