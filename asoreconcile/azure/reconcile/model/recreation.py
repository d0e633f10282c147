"""The state of a resource that is deleted in order to be made again. Pure.

An annotation records the state. It has a mark made with the operator's key and is bound
to the object's uid, its Azure id and the generation of its spec, so that each
generation leads to one deletion at most. Rule: OW-6.
"""

from collections.abc import Callable, Mapping
from enum import Enum

import attrs

from asoreconcile.azure.reconcile.model.annotation_bounds import annotations
from asoreconcile.azure.reconcile.model.annotation_row import Annotation, Whose, choice
from asoreconcile.azure.reconcile.model.annotations import (
    ON_IMMUTABLE,
    RECREATION,
    RESOURCE_ID,
)
from asoreconcile.azure.reconcile.model.record_key import RecordKey
from asoreconcile.base.objects import JsonObject, uid_of

RECREATES = "RecreatesResource"
"""The reason of the event about a resource that is deleted and made again."""


class OnImmutable(Enum):
    """The values of the annotation `asoreconcile/on-immutable` of an object."""

    KEEP = "keep"  # the condition names the field
    RECREATE = "recreate"  # the resource is deleted and made again


ON_IMMUTABLE_ROW: Annotation[OnImmutable] = Annotation(
    ON_IMMUTABLE,
    says="what happens if Azure does not let a field be changed: `recreate` deletes "
    "the resource and makes it again, `keep` names the field in the condition",
    values="`keep` or `recreate`",
    section="#what-azure-does-not-let-change",
    effect="no resource is made again",
    parse=choice(OnImmutable),
    whose=Whose.OBJECT,
    if_wrong=OnImmutable.KEEP,
    default=OnImmutable.KEEP,
    is_arm_only=True,
)


class Stage(Enum):
    """The stage of a recreation."""

    DELETING = "deleting"  # a DELETE may be sent, or was
    DELETED = "deleted"  # the resource was gone: the next PUT makes it again


@attrs.frozen
class Recreation:
    """A recorded recreation. generation: generation of the spec."""

    stage: Stage
    generation: int

    def dumps(self, uid: str, arm_id: str, key: RecordKey) -> str:
        """Return the annotation's value. uid, arm_id: ids of the object."""
        mark = key.sign(_parts(uid, arm_id, self))
        return f"{self.stage.value} {self.generation} {mark}"


def is_asked_for(own: Mapping[str, str]) -> bool:
    """Return whether the object's annotations permit that its resource is deleted and
    made again.
    """
    choice_made = ON_IMMUTABLE_ROW.value(own, {}, OnImmutable.KEEP)
    return choice_made is OnImmutable.RECREATE


def says_deleting(own: Mapping[str, str]) -> bool:
    """Return whether annotations state that a recreation runs; their mark is not
    checked.
    """
    return own.get(RECREATION, "").startswith(f"{Stage.DELETING.value} ")


def recreation_of(obj: JsonObject, key: Callable[[], RecordKey]) -> Recreation | None:
    """Return the recorded recreation of an object; None if this operator has recorded
    none.

    key: function that returns the key; called only if there is a record to verify. Its
    exceptions are raised.
    """
    own = annotations(obj)
    match (own.get(RECREATION) or "").split(" "):
        case [stage, generation, mark] if stage in _STAGES and generation.isdecimal():
            record = Recreation(Stage(stage), int(generation))
            parts = _parts(uid_of(obj), own.get(RESOURCE_ID) or "", record)
            return record if key().verify(parts, mark) else None
    return None


_STAGES = frozenset(stage.value for stage in Stage)


def _parts(uid: str, arm_id: str, record: Recreation) -> tuple[str, ...]:
    return "recreation", uid, arm_id, str(record.generation), record.stage.value
