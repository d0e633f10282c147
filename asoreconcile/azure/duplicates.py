"""Two objects with one Azure id: the older one manages it, the younger one waits.

Both would write it by turns, and the end of one would delete the other's resource. The
younger one sends nothing while the older one is there; when that goes or lets go, it
takes over. An object that only reads (policy `skip`) may share an id. Ids are made from
what the objects state, so those count that are not claimed yet. Pure;
`duplicate_reads` finds the objects.
"""

from collections.abc import Iterable

import attrs

from asoreconcile.arm import ids
from asoreconcile.arm.condition_error import ConditionError
from asoreconcile.azure.annotations import RECONCILE_POLICY, RESOURCE_ID
from asoreconcile.azure.object_reference import ObjectReference
from asoreconcile.objects import JsonObject, annotations, metadata, status, uid_of

REASON = "AlreadyManaged"

Age = tuple[str, str]
"""Smaller is older."""


@attrs.frozen
class Rival:
    """Another object that writes. arm_id: what it stands for, "" if that is unknown."""

    node: ObjectReference
    age: Age
    arm_id: str


def age_of(obj: JsonObject) -> Age:
    """By the time of creation; no two objects are of one age."""
    # The server states whole seconds: of two that were applied together the uid
    # decides, for both of them alike.
    return str(metadata(obj).get("creationTimestamp") or ""), uid_of(obj)


def oldest_of(arm_id: str, age: Age, rivals: Iterable[Rival]) -> ObjectReference | None:
    """The oldest of those that stand for an id and are older than `age`, if any."""
    older = [
        one
        for one in rivals
        if one.age < age and one.arm_id and ids.same(one.arm_id, arm_id)
    ]
    return min(older, key=lambda one: one.age).node if older else None


def id_outside_arm(obj: JsonObject) -> str:
    """The id of an object without ARM that is claimed for one: what the annotation and
    the status say alike, as anybody may write the annotation.
    """
    claimed = annotations(obj).get(RESOURCE_ID, "")
    return claimed if claimed == status(obj).get("entraID") else ""


def already_managed(arm_id: str, older: ObjectReference) -> ConditionError:
    """What the younger object shows."""
    return ConditionError(
        f"{arm_id} is managed by {older.group_kind.kind} {older.key}, which is older: "
        "nothing is sent to Azure for this object. Delete one of the two, or set "
        f"{RECONCILE_POLICY} to skip on the one that is only to read it",
        reason=REASON,
    )
