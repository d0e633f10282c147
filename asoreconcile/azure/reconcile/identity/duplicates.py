"""Two objects with one Azure id: the older one manages it, the younger one waits.

Otherwise both would overwrite each other, and the deletion of one would delete the
other's resource. The younger one sends nothing while the older one exists, and takes
over when that is deleted or released. An object that only reads (policy `skip`) may
share an id. Ids follow from the objects' specs, so unclaimed objects count, too. Pure;
`duplicate_reads` finds the objects.
"""

from collections.abc import Iterable

import attrs

from asoreconcile.azure.arm import ids
from asoreconcile.azure.arm.condition_error import ConditionError
from asoreconcile.azure.reconcile.model.annotations import RECONCILE_POLICY, RESOURCE_ID
from asoreconcile.azure.reconcile.model.object_reference import ObjectReference
from asoreconcile.base.objects import JsonObject, annotations, metadata, status, uid_of

REASON = "AlreadyManaged"

Age = tuple[str, str]
"""Smaller is older."""


@attrs.frozen
class Rival:
    """Another object that writes. arm_id: of its resource, "" if that is unknown."""

    node: ObjectReference
    age: Age
    arm_id: str


def age_of(obj: JsonObject) -> Age:
    """A sort key by creation time; no two objects have the same age."""
    # The server gives whole seconds: between two objects of the same second the uid
    # decides, and both decide alike.
    return str(metadata(obj).get("creationTimestamp") or ""), uid_of(obj)


def oldest_of(arm_id: str, age: Age, rivals: Iterable[Rival]) -> ObjectReference | None:
    """The oldest rival with this id that is older than `age`, if any."""
    older = [
        one
        for one in rivals
        if one.age < age and one.arm_id and ids.same(one.arm_id, arm_id)
    ]
    return min(older, key=lambda one: one.age).node if older else None


def id_outside_arm(obj: JsonObject) -> str:
    """The id that an object of a kind without ARM has claimed: the annotation must
    equal the status, as anybody may write the annotation.
    """
    claimed = annotations(obj).get(RESOURCE_ID, "")
    return claimed if claimed == status(obj).get("entraID") else ""


def already_managed(arm_id: str, older: ObjectReference) -> ConditionError:
    """The condition of the younger object."""
    return ConditionError(
        f"{arm_id} is managed by {older.group_kind.kind} {older.key}, which is older: "
        "nothing is sent to Azure for this object. Delete one of the two, or set "
        f"{RECONCILE_POLICY} to skip on the one that is only to read it",
        reason=REASON,
    )
