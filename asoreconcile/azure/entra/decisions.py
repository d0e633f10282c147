"""Decide which entry of Entra belongs to an object. An entry is a group, an application
or a service principal.

Graph is asked for the recorded id first, then for the object's mark, then for the
display name or appId; if it has no such entry, one is created.

An object's id is in an annotation, which every editor of the object can write. The
entry with that id belongs to the object only if the status, which only the operator
writes, has the id, if the entry has the object's mark, or if adoption would find it by
its name.
"""

from collections.abc import Callable
from datetime import datetime

import attrs

from asoreconcile.azure.arm.condition_error import ConditionError, unusable
from asoreconcile.azure.entra.desired import DesiredObject, mark_of, marks_in
from asoreconcile.azure.entra.kinds import desired_of, kind_of
from asoreconcile.azure.graph.client import OBJECT_ID, GraphClient
from asoreconcile.azure.reconcile.model.annotation_bounds import annotations
from asoreconcile.azure.reconcile.model.annotations import (
    EXISTENCE,
    FINALIZER,
    OWN_PREFIX,
    RESOURCE_ID,
)
from asoreconcile.azure.reconcile.model.existence import CREATED_HERE, UNDECIDED
from asoreconcile.base.errors import RetryError
from asoreconcile.base.objects import JsonObject, finalizers, status, uid_of

CREATION = OWN_PREFIX + "entra-creation"  # the time of the last attempt to create one
# How long readers of Entra may not see what was made: minutes at the most.
VISIBLE_SECONDS = 300.0
# How soon it is looked for again meanwhile.
LOOK_SECONDS = 5.0
AMBIGUOUS = "AmbiguousGroup"
_SHOWN = 5
_MOST_SHOWN = 40


@attrs.frozen
class Facts:
    """The facts in an object about its entry.

    claimed: the id in the annotation, or "".
    seen: the id in the status.
    mark: the mark of an entry that was created for the object; "" if there is no
    object yet.
    tried_seconds: time since the last attempt to create one; None if there was none.
    """

    desired: DesiredObject
    claimed: str
    seen: str
    mark: str
    tried_seconds: float | None = None

    @property
    def is_fresh(self) -> bool:
        """Return whether a new entry may exist that reads do not show yet."""
        return self.tried_seconds is not None and self.tried_seconds < VISIBLE_SECONDS


def facts_of(obj: JsonObject, *, now: datetime) -> Facts:
    """Return the facts in the object. Pure.

    Raises ConditionError for an invalid spec, and for an annotation that does not hold
    a time of the past.
    """
    own, uid = annotations(obj), uid_of(obj)
    return Facts(
        desired=desired_of(obj),
        claimed=own.get(RESOURCE_ID, ""),
        seen=str(status(obj).get("entraID") or ""),
        mark=mark_of(uid) if uid else "",
        tried_seconds=_seconds_since(own.get(CREATION, ""), now),
    )


def _seconds_since(noted: str, now: datetime) -> float | None:
    """Return the time since a noted one; None if no time is noted. Raises
    ConditionError.
    """
    if not noted:
        return None
    try:
        then = datetime.fromisoformat(noted)
    except ValueError:
        raise _bad_time(noted, "which is no time") from None
    if then.tzinfo is None:
        raise _bad_time(noted, "a time without a zone")
    seconds = (now - then).total_seconds()
    # Clocks of two machines may differ a little.
    if seconds < -VISIBLE_SECONDS:
        raise _bad_time(noted, "a time in the future")
    return seconds


def _bad_time(noted: str, problem: str) -> ConditionError:
    return unusable(
        f"annotation {CREATION} is {noted[:_MOST_SHOWN]!r}, {problem}: the operator "
        "writes times such as 2026-01-31T12:00:00Z there; remove the annotation"
    )


def entry_of(facts: Facts, graph: Callable[[], GraphClient]) -> JsonObject | None:
    """Return the entry that belongs to an object; None if one is to be created.

    graph: returns the client, made on first use. Blocking. Raises the client's errors,
    ConditionError if a person has to decide, and RetryError if the entry was created
    and is not visible yet.
    """
    desired = facts.desired
    if entry := _recorded(facts, graph):
        if not is_own(facts, entry):
            raise _foreign(facts)
        return entry
    # The noted id may be gone, or was never noted: the process died after the creation.
    if facts.mark and (entry := marked(graph(), desired, facts.mark)):
        return entry
    if facts.is_fresh and facts.claimed:
        raise not_seen()
    # Made again by its mark it stays one; found by name it could be another's.
    if desired.adopts and not facts.is_fresh:
        alike = list(graph().found(desired.of, *desired.search))
        if alike:
            return _chosen(desired, alike)
    _require_creatable(desired)
    return None


def entry_to_delete(facts: Facts, graph: GraphClient) -> tuple[str, str]:
    """Return the id of the entry to delete, and a sentence for the event if an entry is
    left. Both are "" if it no longer exists. Blocking; raises as `entry_of`.
    """
    left = f"the {facts.desired.noun} {facts.claimed} is left in Entra"
    if facts.desired.is_only_read:
        return "", f"{left}: {_ONLY_READ}" if facts.claimed else ""
    if entry := _recorded(facts, lambda: graph):
        if foreign := _foreign_mark(facts, entry):
            return "", (
                f"{left}: its mark is {foreign!r}, so the operator made it for "
                "another object, perhaps of another cluster"
            )
        if is_own(facts, entry):
            return str(entry["id"]), ""
        return "", f"{left}: {_UNPROVEN}"
    if entry := marked(graph, facts.desired, facts.mark):
        return str(entry["id"]), ""
    if facts.is_fresh:
        raise not_seen()
    return "", ""


def not_seen() -> RetryError:
    """Return the error for an entry that readers of Entra do not see yet."""
    text = "the entry was made, and Entra does not show it yet"
    return RetryError(text, after_seconds=LOOK_SECONDS)


def marked(graph: GraphClient, desired: DesiredObject, mark: str) -> JsonObject | None:
    """Return the entry with a mark, or None. Blocking; raises the client's errors."""
    if desired.of.has_unique_names:
        return graph.keyed(desired.of, "uniqueName", mark)
    return next(iter(graph.found(desired.of, "tags", mark)), None)


def _recorded(facts: Facts, graph: Callable[[], GraphClient]) -> JsonObject | None:
    """Return the entry with the recorded id; None without such an id or entry."""
    if not facts.claimed:
        return None
    # The id becomes part of URL paths.
    if not OBJECT_ID.fullmatch(facts.claimed):
        raise unusable(
            f"annotation {RESOURCE_ID} is {facts.claimed!r}, which is no id of a "
            f"{facts.desired.noun}: correct it, or remove it: the operator then writes "
            "it again"
        )
    return graph().one(facts.desired.of, facts.claimed)


def is_another_tenant(noted: str, tenant: str) -> bool:
    """Return whether two tenants certainly differ; a domain's name may mean either."""
    both_ids = OBJECT_ID.fullmatch(noted) and OBJECT_ID.fullmatch(tenant)
    return bool(both_ids) and noted.lower() != tenant.lower()


def is_own(facts: Facts, entry: JsonObject) -> bool:
    """Return whether the entry with the recorded id belongs to this object."""
    desired = facts.desired
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


def _foreign_mark(facts: Facts, entry: JsonObject) -> str:
    """Return the mark if the entry was made for another object, else ""."""
    found = marks_in(facts.desired.of, entry)
    if facts.mark.lower() in map(str.lower, found):
        return ""
    return found[0] if found else ""


def _require_creatable(desired: DesiredObject) -> None:
    """Raise ConditionError if the spec does not allow or suffice to create an entry."""
    if not desired.is_only_read and not desired.lacks:
        return
    name, value = desired.search
    why = _ONLY_READ
    if not desired.is_only_read:
        why = f"without spec.{desired.lacks} none can be created"
    text = f"Entra has no {desired.noun} whose {name} is {value!r}, and {why}"
    raise ConditionError(text, reason="AzureResourceNotFound")


def _chosen(desired: DesiredObject, alike: list[JsonObject]) -> JsonObject:
    """Return the one entry of several with the searched name: the only one, or the only
    one with the nickname. Raises ConditionError.
    """
    nickname = desired.nickname.casefold()
    named = [e for e in alike if str(e.get("mailNickname")).casefold() == nickname]
    found = alike if len(alike) == 1 else named
    if len(found) == 1:
        return found[0]
    shown = ", ".join(str(entry["id"]) for entry in alike[:_SHOWN])
    more = f" and {len(alike) - _SHOWN} more" if len(alike) > _SHOWN else ""
    raise ConditionError(
        f"Entra has {len(alike)} {desired.noun}s called {desired.search[1]!r} "
        f"({shown}{more}): write the id of the one to adopt into annotation "
        f"{RESOURCE_ID}, or set spec.operatorSpec.creationMode to AlwaysCreate for "
        "another one",
        reason=AMBIGUOUS,
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
