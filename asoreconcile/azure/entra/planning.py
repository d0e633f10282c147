"""Compute the changes that a reconcile would make to a group, for `asoctl plan`."""

from collections.abc import Callable, Iterator

import attrs

from asoreconcile.azure.entra.decisions import (
    Ask,
    Create,
    Manage,
    Refuse,
    decide,
    must_decide,
)
from asoreconcile.azure.entra.desired import changes_of, desired_group, require_possible
from asoreconcile.azure.entra.links import link_changes, object_ids
from asoreconcile.azure.entra.questions import asked, facts_of
from asoreconcile.azure.entra.rendering import ConfigMapReader, described_group
from asoreconcile.azure.graph.client import GraphClient, GroupLink
from asoreconcile.azure.reconcile.model.existence import (
    listed,
    stated_policy,
)
from asoreconcile.azure.reconcile.model.if_exists import (
    IF_EXISTS,
    IfExists,
    require_adoptable,
)
from asoreconcile.azure.reconcile.planning.planned_change import (
    FieldChange,
    PlannedChange,
)
from asoreconcile.base.clock import Clock
from asoreconcile.base.objects import JsonObject, annotations, spec, uid_of

_LINKS: tuple[GroupLink, ...] = ("owners", "members")


@attrs.frozen
class GroupPlanner:
    """Plans for SecurityGroups. graph: returns the client to read with, made on first
    use.
    """

    graph: Callable[[], GraphClient]
    clock: Clock

    def __call__(
        self, plan: PlannedChange, obj: JsonObject, inputs: ConfigMapReader
    ) -> PlannedChange:
        """Return the plan with the changes. Blocking: a few reads.

        Raises the client's errors, and ConditionError for an invalid spec.
        """
        facts = facts_of(obj, now=self.clock.now())
        if not uid_of(obj):
            facts = attrs.evolve(facts, by_mark=None)  # no object yet, and so no group
        while isinstance(step := decide(facts), Ask):
            facts = asked(self.graph(), facts, step)
        match step:
            case Refuse(error):
                raise error
            case Create():
                body = described_group(obj, inputs)["body"]
                return attrs.evolve(
                    plan, action="create", why="Entra does not have it", sent=body
                )
            case Manage(group):
                return self._compared(plan, obj, inputs, group)
        return attrs.evolve(plan, why="the group was made and is not to be seen yet")

    def _compared(
        self,
        plan: PlannedChange,
        obj: JsonObject,
        inputs: ConfigMapReader,
        group: JsonObject,
    ) -> PlannedChange:
        desired, group_id = desired_group(spec(obj)), str(group["id"])
        require_possible(desired, group)
        changes = [
            FieldChange(name, "Entra has another value", value, group.get(name))
            for name, value in changes_of(desired, group).items()
        ]
        for link in _LINKS:
            ids = object_ids(spec(obj), link, inputs.config_map)
            if ids is not None:
                changes += _links(link, ids, self.graph().linked(group_id, link))
        plan = attrs.evolve(plan, arm_id=group_id, changes=tuple(changes), found=group)
        choice = stated_policy(annotations(obj), {}) or IfExists.ADOPT
        differs = listed(sorted({one.path for one in changes}))
        if must_decide(obj, group) and not require_adoptable(
            choice, f"the group {group_id}", differs=differs
        ):
            why = f"{IF_EXISTS} is observe, and the group was there before"
            return attrs.evolve(plan, action="no change", why=why)
        if changes:
            return attrs.evolve(plan, action="update")
        return attrs.evolve(plan, action="no change", why="Entra has all of it")


def _links(
    link: GroupLink, desired: tuple[str, ...], present: list[str]
) -> Iterator[FieldChange]:
    found = link_changes(desired, present, most=len(desired) + len(present))
    for id_ in found.added:
        yield FieldChange(link, "the group lacks it", want=id_)
    for id_ in found.removed:
        rule = "the group has it and the manifest does not"
        yield FieldChange(link, rule, have=id_)
