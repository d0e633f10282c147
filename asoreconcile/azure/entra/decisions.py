"""Decide which group belongs to an object, and how to proceed. Pure.

Each decision takes facts and returns one step; a step may be a question whose answer
adds a fact:

    recorded id -> the object's mark -> the display name -> create a group

An object's id is in an annotation, which every editor of the object can write. A group
with that id belongs to the object only if the status, which only the operator writes,
has the id, if the group has the object's mark, or if adoption would find it by its
name.
"""

import re
from enum import Enum, auto

import attrs

from asoreconcile.azure.arm.condition_error import ConditionError
from asoreconcile.azure.entra.desired import (
    MARK_PREFIX,
    DesiredGroup,
    unique_name_of,
)
from asoreconcile.azure.reconcile.model.annotations import (
    EXISTENCE,
    FINALIZER,
    RESOURCE_ID,
)
from asoreconcile.azure.reconcile.model.existence import (
    CREATED_HERE,
    UNDECIDED,
)
from asoreconcile.base.objects import JsonObject, annotations, finalizers, uid_of

# How long readers of Entra may not see a group that was made: minutes at the most.
VISIBLE_SECONDS = 300.0
# How soon it is looked for again meanwhile.
LOOK_SECONDS = 5.0
AMBIGUOUS = "AmbiguousGroup"
_SHOWN = 5
_ID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")


class Unread(Enum):
    """The value of a fact that has not been read yet."""

    UNREAD = auto()


UNREAD = Unread.UNREAD


@attrs.frozen
class Facts:
    """The facts about an object's group.

    claimed: the id in the annotation, or "".
    seen: the id in the status.
    mark: the `uniqueName` of a group created for the object.
    by_id, by_mark: the groups with these; None if Graph has none.
    shown_alike: all groups with the display name.
    tried_seconds: time since the last attempt to create one; None if there was none.
    """

    desired: DesiredGroup
    claimed: str
    seen: str
    mark: str
    by_id: JsonObject | Unread | None = UNREAD
    by_mark: JsonObject | Unread | None = UNREAD
    shown_alike: tuple[JsonObject, ...] | Unread = UNREAD
    tried_seconds: float | None = None

    @property
    def is_fresh(self) -> bool:
        """Return whether a new group may exist that reads do not show yet."""
        return self.tried_seconds is not None and self.tried_seconds < VISIBLE_SECONDS


class Ask(Enum):
    """A question to Graph."""

    BY_ID = auto()
    BY_MARK = auto()
    BY_NAME = auto()


@attrs.frozen
class Manage:
    """The group belongs to the object."""

    group: JsonObject


@attrs.frozen
class Create:
    """There is no group: create one with the object's mark."""


@attrs.frozen
class Wait:
    """The group was created and is not visible yet: check again."""


@attrs.frozen
class Refuse:
    """A person has to decide."""

    error: ConditionError


@attrs.frozen
class DeleteGroup:
    """The group belongs to the object and is deleted."""

    group_id: str


@attrs.frozen
class Leave:
    """Only the object is deleted, not the group. why: for the event."""

    why: str


class Gone(Enum):
    """The group no longer exists."""

    GONE = auto()


GroupStep = Ask | Manage | Create | Wait | Refuse
DeleteStep = Ask | DeleteGroup | Leave | Wait | Refuse | Gone


def decide(facts: Facts) -> GroupStep:
    """Return the next step for an object that is not being deleted."""
    if facts.claimed:
        if problem := _no_id(facts):
            return Refuse(problem)
        if facts.by_id is UNREAD:
            return Ask.BY_ID
        if facts.by_id is not None:
            return Manage(facts.by_id) if is_own(facts) else Refuse(_foreign(facts))
    # The noted id may be gone, or was never noted: the process died after the creation.
    if facts.by_mark is UNREAD:
        return Ask.BY_MARK
    if facts.by_mark is not None:
        return Manage(facts.by_mark)
    if facts.is_fresh:
        # Made again by its mark it stays one; found by name it could be another's.
        return Wait() if facts.claimed else Create()
    if not facts.desired.adopts:
        return Create()
    if facts.shown_alike is UNREAD:
        return Ask.BY_NAME
    return _chosen(facts, facts.shown_alike)


def decide_delete(facts: Facts) -> DeleteStep:
    """Return the next step for an object that is being deleted."""
    if facts.claimed:
        if problem := _no_id(facts):
            return Refuse(problem)
        if facts.by_id is UNREAD:
            return Ask.BY_ID
        if facts.by_id is not None:
            if foreign := foreign_mark(facts.by_id, facts.mark):
                return Leave(
                    f"the group {facts.claimed} is left in Entra: its uniqueName is "
                    f"{foreign!r}, so the operator made it for another object, perhaps "
                    "of another cluster"
                )
            if is_own(facts):
                return DeleteGroup(str(facts.by_id["id"]))
            return Leave(f"the group {facts.claimed} is left in Entra: {_UNPROVEN}")
    if facts.by_mark is UNREAD:
        return Ask.BY_MARK
    if facts.by_mark is not None:
        return DeleteGroup(str(facts.by_mark["id"]))
    return Wait() if facts.is_fresh else Gone.GONE


def is_another_tenant(noted: str, tenant: str) -> bool:
    """Return whether two tenants certainly differ; a domain's name may mean either."""
    both_ids = _ID.fullmatch(noted) and _ID.fullmatch(tenant)
    return bool(both_ids) and noted.lower() != tenant.lower()


def foreign_mark(group: JsonObject, mark: str) -> str:
    """Return the mark if the group was made for another object, else "".

    mark: the `uniqueName` of a group that was made for this object.
    """
    found = str(group.get("uniqueName") or "")
    is_foreign = found.lower().startswith(MARK_PREFIX) and found.lower() != mark.lower()
    return found if is_foreign else ""


def is_own(facts: Facts) -> bool:
    """Return whether the group with the recorded id belongs to this object."""
    group = facts.by_id
    if not isinstance(group, dict):
        return False
    name = str(group.get("displayName") or "")
    return (
        facts.seen.lower() == facts.claimed.lower()
        or group.get("uniqueName") == facts.mark
        or (
            facts.desired.adopts
            and name.casefold() == facts.desired.display_name.casefold()
        )
    )


def must_decide(obj: JsonObject, group: JsonObject) -> bool:
    """Return whether the object has still to decide about a group that Entra has: one
    without the object's mark. Rule: OW-3.
    """
    state = annotations(obj).get(EXISTENCE)
    is_new = state is None and FINALIZER not in finalizers(obj)
    is_open = is_new or state in {UNDECIDED, CREATED_HERE}
    return is_open and group.get("uniqueName") != unique_name_of(uid_of(obj))


def _chosen(facts: Facts, alike: tuple[JsonObject, ...]) -> GroupStep:
    """Choose among several groups of one name the one with the nickname, if there is
    one.
    """
    if not alike:
        return Create()
    desired = facts.desired.mail_nickname.casefold()
    named = [g for g in alike if str(g.get("mailNickname")).casefold() == desired]
    found = list(alike) if len(alike) == 1 else named
    if len(found) == 1:
        return Manage(found[0])
    shown = ", ".join(str(group["id"]) for group in alike[:_SHOWN])
    more = f" and {len(alike) - _SHOWN} more" if len(alike) > _SHOWN else ""
    return Refuse(
        ConditionError(
            f"Entra has {len(alike)} groups called {facts.desired.display_name!r} "
            f"({shown}{more}): write the id of the one to adopt into annotation "
            f"{RESOURCE_ID}, or set spec.operatorSpec.creationMode to AlwaysCreate for "
            "another one",
            reason=AMBIGUOUS,
        )
    )


_UNPROVEN = (
    f"annotation {RESOURCE_ID} names it, but it bears neither this object's mark nor "
    "its display name, and no status of the operator's says it"
)


def _foreign(facts: Facts) -> ConditionError:
    return ConditionError(
        f"nothing is written to the group {facts.claimed}: {_UNPROVEN}. Correct the "
        "annotation, or make spec.displayName the group's and spec.operatorSpec."
        "creationMode AdoptOrCreate to adopt it",
        reason="Failed",
        severity="Error",
    )


def _no_id(facts: Facts) -> ConditionError | None:
    """Return an error if the recorded id is not a GUID: it becomes part of URL
    paths.
    """
    if _ID.fullmatch(facts.claimed):
        return None
    return ConditionError(
        f"annotation {RESOURCE_ID} is {facts.claimed!r}, which is no id of a group: "
        "correct it, or remove it: the operator then writes it again",
        reason="Failed",
        severity="Error",
    )
