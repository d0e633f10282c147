"""Collect the facts about an object's group from the object and from Graph."""

from contextlib import suppress
from datetime import datetime

import attrs

from asoreconcile.azure.entra.decisions import Ask, Facts
from asoreconcile.azure.entra.desired import desired_group, unique_name_of
from asoreconcile.azure.graph.client import GraphClient
from asoreconcile.azure.reconcile.model.annotations import OWN_PREFIX, RESOURCE_ID
from asoreconcile.base.objects import JsonObject, annotations, spec, status, uid_of

CREATION = OWN_PREFIX + "entra-creation"  # when a group was last tried to be made


def facts_of(obj: JsonObject, *, now: datetime) -> Facts:
    """Return the facts in the object. Pure. Raises ConditionError for an
    invalid spec.
    """
    notes = annotations(obj)
    tried = None
    with suppress(ValueError):
        then = datetime.fromisoformat(notes.get(CREATION, ""))
        tried = (now - then).total_seconds()
    return Facts(
        desired=desired_group(spec(obj)),
        claimed=notes.get(RESOURCE_ID, ""),
        seen=str(status(obj).get("entraID") or ""),
        mark=unique_name_of(uid_of(obj)),
        tried_seconds=tried,
    )


def asked(graph: GraphClient, facts: Facts, question: Ask) -> Facts:
    """Return the facts with the answer. Blocking; raises the client's errors."""
    match question:
        case Ask.BY_ID:
            return attrs.evolve(facts, by_id=graph.group(facts.claimed))
        case Ask.BY_MARK:
            return attrs.evolve(facts, by_mark=graph.group_named(facts.mark))
        case Ask.BY_NAME:
            alike = graph.groups_shown_as(facts.desired.display_name)
            return attrs.evolve(facts, shown_alike=tuple(alike))
