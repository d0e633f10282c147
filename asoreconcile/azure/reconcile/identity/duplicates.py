"""Two objects with one Azure id: the older one manages it, the younger one waits.

Otherwise both would overwrite each other, and the deletion of one would delete the
other's resource. The younger one sends nothing while the older one exists, and takes
over when that is deleted or released. An object that only reads (policy `skip`) may
share an id. Ids follow from the objects' specs, so unclaimed objects count, too.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Protocol

import attrs

from asoreconcile.azure.arm import ids
from asoreconcile.azure.arm.condition_error import ConditionError
from asoreconcile.azure.catalogue.kinds import KindVersion
from asoreconcile.azure.reconcile.identity.identity import id_of
from asoreconcile.azure.reconcile.model.annotations import RECONCILE_POLICY, RESOURCE_ID
from asoreconcile.azure.reconcile.model.object_reference import ObjectReference
from asoreconcile.azure.reconcile.model.owner import Objects
from asoreconcile.azure.reconcile.model.policy import Policy, policy_of
from asoreconcile.azure.reconcile.scope.reconcile_scope import ConnectionResolver
from asoreconcile.azure.reconcile.state.waiting import Waiting
from asoreconcile.base.objects import (
    JsonObject,
    annotations,
    key_of,
    metadata,
    status,
    uid_of,
)

REASON = "AlreadyManaged"

Age = tuple[str, str]
"""Smaller is older."""


@attrs.frozen
class Rival:
    """Another object that writes. arm_id: the id of its resource, "" if unknown."""

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


class Neighbours(Protocol):
    """The parts of the operator that find other objects with one Azure id."""

    @property
    def objects(self) -> Objects:
        """The Azure objects in the cluster."""

    @property
    def connections(self) -> ConnectionResolver:
        """The credentials of objects."""

    @property
    def waiting(self) -> Waiting:
        """The objects that wait for an older one."""

    @property
    def default_policy(self) -> Policy:
        """The reconcile policy of objects without an annotation."""

    @property
    def namespace_annotations(self) -> Callable[[str], Mapping[str, str]]:
        """Finds what an object inherits from its Namespace."""

    @property
    def objects_with_arm_id(
        self,
    ) -> Callable[[str], Iterable[tuple[KindVersion, JsonObject]]]:
        """The objects that may represent an id, each with its version."""


def require_sole(
    neighbours: Neighbours, version: KindVersion, obj: JsonObject, arm_id: str
) -> None:
    """Raises ConditionError `AlreadyManaged` while an older object manages the id.

    Raises RetryError while objects are not listed yet that may be it.
    """
    older = holder(neighbours, version, obj, arm_id)
    if older is not None:
        raise already_managed(arm_id, older)


def holder(
    neighbours: Neighbours, version: KindVersion, obj: JsonObject, arm_id: str
) -> ObjectReference | None:
    """The oldest object that manages an id and is older than this one, if any.

    The object is woken when that changes. Raises RetryError as `require_sole`.
    """
    me = ObjectReference(version.group_kind, key_of(obj))
    found = _oldest(neighbours, obj, arm_id)
    if found is not None:
        # It may have gone before the waiting object was recorded: look once more.
        neighbours.waiting.note(me, found)
        found = _oldest(neighbours, obj, arm_id)
    # Also if none was found before: an earlier reconcile may have waited.
    if found is None:
        neighbours.waiting.forget(me)
    return found


def _oldest(
    neighbours: Neighbours, obj: JsonObject, arm_id: str
) -> ObjectReference | None:
    mine = age_of(obj)
    rivals = [
        Rival(
            ObjectReference(version.group_kind, key_of(other)),
            age_of(other),
            id_of(
                version,
                other,
                objects=neighbours.objects,
                connections=neighbours.connections,
            )
            if version.is_arm
            else id_outside_arm(other),
        )
        for version, other in neighbours.objects_with_arm_id(arm_id)
        # An id needs the owner and the credential, and raises while they are not
        # listed: only the ids of objects that could win are asked for.
        if age_of(other) < mine and _writes(neighbours, other)
    ]
    return oldest_of(arm_id, mine, rivals)


def _writes(neighbours: Neighbours, obj: JsonObject) -> bool:
    policy = policy_of(
        annotations(obj),
        neighbours.namespace_annotations(key_of(obj).namespace),
        neighbours.default_policy,
    )
    # An unreadable policy gives nothing away.
    return policy is None or policy.writes
