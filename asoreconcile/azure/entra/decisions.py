"""Which group is an object's, and what is to be done about that. Pure.

A conversation: facts in, one step out; what the step brings are further facts.

    the id that is noted -> the mark of the object -> the display name -> make one

An object's id is in an annotation, which whoever edits the object may write: a group
of it is the object's only where the status says so, which the operator alone writes,
where the group bears the object's mark, or where adoption would find it by its name.
"""

import re
from enum import Enum, auto

import attrs

from asoreconcile.azure.arm.condition_error import ConditionError
from asoreconcile.azure.entra.wanted import WantedGroup
from asoreconcile.azure.reconcile.model.annotations import RESOURCE_ID
from asoreconcile.base.objects import JsonObject

# How long readers of Entra may not see a group that was made: minutes at the most.
VISIBLE_SECONDS = 300.0
# How soon it is looked for again meanwhile.
LOOK_SECONDS = 5.0
AMBIGUOUS = "AmbiguousGroup"
_SHOWN = 5
_ID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")


class Unread(Enum):
    """Not asked for yet."""

    UNREAD = auto()


UNREAD = Unread.UNREAD


@attrs.frozen
class Facts:
    """What is known of an object's group.

    claimed: the id that the annotation has, or "". seen: the one that the status has.
    mark: the `uniqueName` of a group made for the object.
    by_id, by_mark: the groups of these; None where Graph says that there is none.
    shown_alike: all groups of the display name.
    tried_seconds: since the last try to make one; None where none is noted.
    """

    wanted: WantedGroup
    claimed: str
    seen: str
    mark: str
    by_id: JsonObject | Unread | None = UNREAD
    by_mark: JsonObject | Unread | None = UNREAD
    shown_alike: tuple[JsonObject, ...] | Unread = UNREAD
    tried_seconds: float | None = None

    @property
    def is_fresh(self) -> bool:
        """Whether a group may be there that readers do not see yet."""
        return self.tried_seconds is not None and self.tried_seconds < VISIBLE_SECONDS


class Ask(Enum):
    """A question to Graph."""

    BY_ID = auto()
    BY_MARK = auto()
    BY_NAME = auto()


@attrs.frozen
class Manage:
    """The group is the object's."""

    group: JsonObject


@attrs.frozen
class Create:
    """There is none: make one, of the object's mark."""


@attrs.frozen
class Wait:
    """It was made, and is not to be seen yet: look again."""


@attrs.frozen
class Refuse:
    """A person has to decide."""

    error: ConditionError


@attrs.frozen
class DeleteGroup:
    """It is the object's, and goes."""

    group_id: str


@attrs.frozen
class Leave:
    """The object goes alone. why: for the event."""

    why: str


class Gone(Enum):
    """Nothing is left."""

    GONE = auto()


GroupStep = Ask | Manage | Create | Wait | Refuse
DeleteStep = Ask | DeleteGroup | Leave | Wait | Refuse | Gone


def decide(facts: Facts) -> GroupStep:
    """What to do for an object that is there."""
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
    if not facts.wanted.adopts:
        return Create()
    if facts.shown_alike is UNREAD:
        return Ask.BY_NAME
    return _chosen(facts, facts.shown_alike)


def decide_delete(facts: Facts) -> DeleteStep:
    """What to do for an object that is going."""
    if facts.claimed:
        if problem := _no_id(facts):
            return Refuse(problem)
        if facts.by_id is UNREAD:
            return Ask.BY_ID
        if facts.by_id is not None:
            if is_own(facts):
                return DeleteGroup(str(facts.by_id["id"]))
            return Leave(f"the group {facts.claimed} is left in Entra: {_UNPROVEN}")
    if facts.by_mark is UNREAD:
        return Ask.BY_MARK
    if facts.by_mark is not None:
        return DeleteGroup(str(facts.by_mark["id"]))
    return Wait() if facts.is_fresh else Gone.GONE


def is_another_tenant(noted: str, tenant: str) -> bool:
    """Whether two tenants differ for sure: a domain's name may stand for either."""
    both_ids = _ID.fullmatch(noted) and _ID.fullmatch(tenant)
    return bool(both_ids) and noted.lower() != tenant.lower()


def is_own(facts: Facts) -> bool:
    """Whether the group of the noted id is this object's."""
    group = facts.by_id
    if not isinstance(group, dict):
        return False
    name = str(group.get("displayName") or "")
    return (
        facts.seen.lower() == facts.claimed.lower()
        or group.get("uniqueName") == facts.mark
        or (
            facts.wanted.adopts
            and name.casefold() == facts.wanted.display_name.casefold()
        )
    )


def _chosen(facts: Facts, alike: tuple[JsonObject, ...]) -> GroupStep:
    """Of several of one name the one of the nickname, if that is one."""
    if not alike:
        return Create()
    wanted = facts.wanted.mail_nickname.casefold()
    named = [g for g in alike if str(g.get("mailNickname")).casefold() == wanted]
    found = list(alike) if len(alike) == 1 else named
    if len(found) == 1:
        return Manage(found[0])
    shown = ", ".join(str(group["id"]) for group in alike[:_SHOWN])
    more = f" and {len(alike) - _SHOWN} more" if len(alike) > _SHOWN else ""
    return Refuse(
        ConditionError(
            f"Entra has {len(alike)} groups called {facts.wanted.display_name!r} "
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
    """The id becomes a part of paths: it must not bring parts of its own."""
    if _ID.fullmatch(facts.claimed):
        return None
    return ConditionError(
        f"annotation {RESOURCE_ID} is {facts.claimed!r}, which is no id of a group: "
        "correct it, or remove it, and it is written anew",
        reason="Failed",
        severity="Error",
    )
