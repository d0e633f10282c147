"""Decide which entry of Entra belongs to an object, and how to proceed. Pure. An entry
is a group, an application or a service principal.

Each decision takes facts and returns one step; a step may be a question whose answer
adds a fact:

    recorded id -> the object's mark -> the display name or appId -> create an entry

An object's id is in an annotation, which every editor of the object can write. The
entry with that id belongs to the object only if the status, which only the operator
writes, has the id, if the entry has the object's mark, or if adoption would find it by
its name.
"""

from enum import Enum, auto

import attrs

from asoreconcile.azure.arm.condition_error import ConditionError, unusable
from asoreconcile.azure.entra.desired import (
    DesiredObject,
    mark_of,
    marks_in,
)
from asoreconcile.azure.entra.kinds import kind_of
from asoreconcile.azure.graph.client import OBJECT_ID
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

# How long readers of Entra may not see what was made: minutes at the most.
VISIBLE_SECONDS = 300.0
# How soon it is looked for again meanwhile.
LOOK_SECONDS = 5.0
AMBIGUOUS = "AmbiguousGroup"
_SHOWN = 5


class Unread(Enum):
    """The value of a fact that has not been read yet."""

    UNREAD = auto()


UNREAD = Unread.UNREAD


@attrs.frozen
class Facts:
    """The facts about the entry of an object.

    claimed: the id in the annotation, or "".
    seen: the id in the status.
    mark: the mark of an entry that was created for the object.
    by_id, by_mark: the entries with these; None if Graph has none.
    alike: all entries that the search for an entry to adopt has found.
    tried_seconds: time since the last attempt to create one; None if there was none.
    """

    desired: DesiredObject
    claimed: str
    seen: str
    mark: str
    by_id: JsonObject | Unread | None = UNREAD
    by_mark: JsonObject | Unread | None = UNREAD
    alike: tuple[JsonObject, ...] | Unread = UNREAD
    tried_seconds: float | None = None

    @property
    def is_fresh(self) -> bool:
        """Return whether a new entry may exist that reads do not show yet."""
        return self.tried_seconds is not None and self.tried_seconds < VISIBLE_SECONDS


class Ask(Enum):
    """A question to Graph."""

    BY_ID = auto()
    BY_MARK = auto()
    BY_SEARCH = auto()


@attrs.frozen
class Manage:
    """The entry belongs to the object."""

    entry: JsonObject


@attrs.frozen
class Create:
    """There is no entry: create one with the object's mark."""


@attrs.frozen
class Wait:
    """The entry was created and is not visible yet: check again."""


@attrs.frozen
class Refuse:
    """A person has to decide."""

    error: ConditionError


@attrs.frozen
class DeleteEntry:
    """The entry belongs to the object and is deleted."""

    entry_id: str


@attrs.frozen
class Leave:
    """Only the object is deleted, not the entry. why: a sentence for the event."""

    why: str


class Gone(Enum):
    """The entry no longer exists."""

    GONE = auto()


EntraStep = Ask | Manage | Create | Wait | Refuse
DeleteStep = Ask | DeleteEntry | Leave | Wait | Refuse | Gone


def decide(facts: Facts) -> EntraStep:
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
        return Wait() if facts.claimed else _creation(facts.desired)
    if not facts.desired.adopts:
        return _creation(facts.desired)
    if facts.alike is UNREAD:
        return Ask.BY_SEARCH
    return _chosen(facts, facts.alike)


def decide_delete(facts: Facts) -> DeleteStep:
    """Return the next step for an object that is being deleted."""
    left = f"the {facts.desired.noun} {facts.claimed} is left in Entra"
    if facts.desired.is_only_read:
        return Leave(f"{left}: {_ONLY_READ}") if facts.claimed else Gone.GONE
    if facts.claimed:
        if problem := _no_id(facts):
            return Refuse(problem)
        if facts.by_id is UNREAD:
            return Ask.BY_ID
        if facts.by_id is not None:
            if foreign := _foreign_mark(facts):
                return Leave(
                    f"{left}: its mark is {foreign!r}, so the operator made it for "
                    "another object, perhaps of another cluster"
                )
            if is_own(facts):
                return DeleteEntry(str(facts.by_id["id"]))
            return Leave(f"{left}: {_UNPROVEN}")
    if facts.by_mark is UNREAD:
        return Ask.BY_MARK
    if facts.by_mark is not None:
        return DeleteEntry(str(facts.by_mark["id"]))
    return Wait() if facts.is_fresh else Gone.GONE


def is_another_tenant(noted: str, tenant: str) -> bool:
    """Return whether two tenants certainly differ; a domain's name may mean either."""
    both_ids = OBJECT_ID.fullmatch(noted) and OBJECT_ID.fullmatch(tenant)
    return bool(both_ids) and noted.lower() != tenant.lower()


def is_own(facts: Facts) -> bool:
    """Return whether the entry with the recorded id belongs to this object."""
    entry, desired = facts.by_id, facts.desired
    if not isinstance(entry, dict):
        return False
    name, value = desired.search
    return (
        facts.seen.lower() == facts.claimed.lower()
        or facts.mark in marks_in(desired.of, entry)
        or (
            desired.adopts and str(entry.get(name) or "").casefold() == value.casefold()
        )
    )


def must_decide(obj: JsonObject, entry: JsonObject) -> bool:
    """Return whether the object has still to decide about an entry: one without the
    object's mark. Rule: OW-3.
    """
    state = annotations(obj).get(EXISTENCE)
    is_new = state is None and FINALIZER not in finalizers(obj)
    is_open = is_new or state in {UNDECIDED, CREATED_HERE}
    return is_open and not is_marked(obj, entry)


def is_marked(obj: JsonObject, entry: JsonObject) -> bool:
    """Return whether the entry has the object's mark."""
    return mark_of(uid_of(obj)) in marks_in(kind_of(obj).collection, entry)


def _foreign_mark(facts: Facts) -> str:
    """Return the mark if the entry was made for another object, else ""."""
    found = marks_in(facts.desired.of, facts.by_id or {})  # type: ignore[arg-type]
    mine = facts.mark.lower()
    if mine in map(str.lower, found):
        return ""
    return found[0] if found else ""


def _creation(desired: DesiredObject) -> Create | Refuse:
    """Return the step if Entra has no such entry."""
    if not desired.is_only_read and not desired.lacks:
        return Create()
    name, value = desired.search
    why = _ONLY_READ
    if not desired.is_only_read:
        why = f"without spec.{desired.lacks} none can be created"
    text = f"Entra has no {desired.noun} whose {name} is {value!r}, and {why}"
    return Refuse(ConditionError(text, reason="AzureResourceNotFound"))


def _chosen(facts: Facts, alike: tuple[JsonObject, ...]) -> EntraStep:
    """Return the decision about several entries of one name: the entry with the
    nickname is chosen, if there is one.
    """
    desired = facts.desired
    if not alike:
        return _creation(desired)
    nickname = desired.nickname.casefold()
    named = [e for e in alike if str(e.get("mailNickname")).casefold() == nickname]
    found = list(alike) if len(alike) == 1 else named
    if len(found) == 1:
        return Manage(found[0])
    shown = ", ".join(str(entry["id"]) for entry in alike[:_SHOWN])
    more = f" and {len(alike) - _SHOWN} more" if len(alike) > _SHOWN else ""
    return Refuse(
        ConditionError(
            f"Entra has {len(alike)} {desired.noun}s called {desired.search[1]!r} "
            f"({shown}{more}): write the id of the one to adopt into annotation "
            f"{RESOURCE_ID}, or set spec.operatorSpec.creationMode to AlwaysCreate for "
            "another one",
            reason=AMBIGUOUS,
        )
    )


_UNPROVEN = (
    f"annotation {RESOURCE_ID} names it, but it bears neither this object's mark nor "
    "the name in its spec, and the status does not name it either"
)
_ONLY_READ = "creationMode AdoptOnly only reads"


def _foreign(facts: Facts) -> ConditionError:
    noun, name = facts.desired.noun, facts.desired.search[0]
    return unusable(
        f"nothing is written to the {noun} {facts.claimed}: {_UNPROVEN}. Correct the "
        f"annotation, or make spec.{name} the {noun}'s and spec.operatorSpec."
        "creationMode AdoptOrCreate to adopt it"
    )


def _no_id(facts: Facts) -> ConditionError | None:
    """Return an error if the recorded id is not a GUID: it becomes part of URL
    paths.
    """
    if OBJECT_ID.fullmatch(facts.claimed):
        return None
    return unusable(
        f"annotation {RESOURCE_ID} is {facts.claimed!r}, which is no id of a "
        f"{facts.desired.noun}: correct it, or remove it: the operator then writes it "
        "again"
    )
