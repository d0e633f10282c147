"""Collect the facts about an object's entry, from the object and from Graph."""

from datetime import datetime

import attrs

from asoreconcile.azure.arm.condition_error import ConditionError, unusable
from asoreconcile.azure.entra.decisions import VISIBLE_SECONDS, Ask, Facts
from asoreconcile.azure.entra.desired import DesiredObject, mark_of
from asoreconcile.azure.entra.kinds import desired_of
from asoreconcile.azure.graph.client import GraphClient
from asoreconcile.azure.reconcile.model.annotations import OWN_PREFIX, RESOURCE_ID
from asoreconcile.base.objects import JsonObject, annotations, status, uid_of

_MOST_SHOWN = 40
CREATION = OWN_PREFIX + "entra-creation"  # when one was last tried to be made


def facts_of(obj: JsonObject, *, now: datetime) -> Facts:
    """Return the facts in the object. Pure.

    Raises ConditionError for an invalid spec, and for an annotation that does not hold
    a time of the past.
    """
    notes = annotations(obj)
    return Facts(
        desired=desired_of(obj),
        claimed=notes.get(RESOURCE_ID, ""),
        seen=str(status(obj).get("entraID") or ""),
        mark=mark_of(uid_of(obj)),
        tried_seconds=_seconds_since(notes.get(CREATION, ""), now),
    )


def _seconds_since(noted: str, now: datetime) -> float | None:
    """Return the time since a noted one; None if none is noted. Raises
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


def asked(graph: GraphClient, facts: Facts, question: Ask) -> Facts:
    """Return the facts with the answer. Blocking; raises the client's errors."""
    of = facts.desired.of
    match question:
        case Ask.BY_ID:
            return attrs.evolve(facts, by_id=graph.one(of, facts.claimed))
        case Ask.BY_MARK:
            return attrs.evolve(facts, by_mark=marked(graph, facts.desired, facts.mark))
        case Ask.BY_SEARCH:
            return attrs.evolve(
                facts, alike=tuple(graph.found(of, *facts.desired.search))
            )


def marked(graph: GraphClient, desired: DesiredObject, mark: str) -> JsonObject | None:
    """Return the entry with a mark, or None. Blocking; raises the client's errors."""
    if desired.of.has_unique_names:
        return graph.keyed(desired.of, "uniqueName", mark)
    return next(iter(graph.found(desired.of, "tags", mark)), None)
